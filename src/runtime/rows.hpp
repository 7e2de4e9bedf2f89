// Products of a graph over several devices that work on the same run: each has a part of the columns of a product and the matching rows of the one
// behind it, and the sums of what they make are the only bytes that cross.
//
//   x ─┬─ x W1[:, first]  ─ silu ─ h W2[first, :]  ─ p0 ─┬─ p0 + p1 ─ ... on the first device
//      └─ x W1[:, second] ─ silu ─ h W2[second, :] ─ p1 ─┴─ p0 + p1 ─ ... on the second, which goes on by itself
//
// The cut is found from the ops: behind a product whose columns are split, element-wise ops, Split, Reshape, Transpose, depthwise Conv (by channels) and
// Attention (by heads) stay split; a product over the split axis makes partial sums. What is not reached by that is done by each device that needs it,
// so nothing else crosses. Between two crossings each device has one stage, and the stages of a crossing run at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backplane/runtime.hpp"
#include "runtime/session_core.hpp"

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

struct RowGraph {
    Graph
        graph;  // outputs are made by the first device; an input of which each device reads a part alone is row_input(name, part, parts)
    std::vector<uint32_t> device_of;         // each node
    std::map<std::string, RowSlice> slices;  // weights that are parts of others, by their names
    size_t products = 0;                     // of the whole graph, that are split
    std::map<size_t, uint32_t> sums = {};    // nodes that add up what each device has a part of: the number of the sum
    // `apart_from`: sums of so many bytes and more are stages of their own, which the devices' module does as one.
    [[nodiscard]] std::vector<PlannedPart> stages(uint32_t devices, std::optional<uint64_t> apart_from = {}) const;
};

// Throws Error: unsupported for a graph with state, and where no product can be split.
RowGraph row_graph(const Graph& whole, uint32_t parts);

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
