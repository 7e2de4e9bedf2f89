// Weights of which each device has its part (rows.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backplane/runtime.hpp"

namespace backplane::runtime {

// Part `part` of `parts` of each of `segments`, which follow each other along an axis.
struct RowSlice {
    std::string of;  // the weight
    DType dtype = DType::f32;
    Shape shape;  // of the whole
    uint32_t axis = 0;
    std::vector<int64_t> segments;
    uint32_t part = 0, parts = 1;
};
// The bytes of a slice; `room` has them where they do not lie together in the whole.
std::span<const std::byte> bytes_of(const RowSlice& slice, std::span<const std::byte> whole, std::vector<std::byte>& room);

// Weights that have slices of others, too: one for all sessions of a Weights.
class RowWeights {
public:
    explicit RowWeights(std::shared_ptr<const WeightSource> source, const std::string& name);
    // Any thread.
    [[nodiscard]] const Weights& with(const std::map<std::string, RowSlice>& slices);

private:
    struct Held {
        std::mutex mutex;
        std::map<std::string, RowSlice, std::less<>> slices;
        std::map<std::string, std::vector<std::byte>, std::less<>> made;  // of those that do not lie together
    };
    std::shared_ptr<Held> held_;
    Weights weights_;
};

}  // namespace backplane::runtime
