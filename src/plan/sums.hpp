// Sums over several devices as one call of their module, where it has a library for them (backplane/sums.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/port.hpp"

struct bp_sums;

namespace backplane::plan {

class Summing {
public:
    struct Part {  // of a device
        Port* port = nullptr;
        Storage* from = nullptr;
        uint64_t from_offset = 0;
        Storage* to = nullptr;
        uint64_t to_offset = 0;
    };
    // From how many bytes on these add up so; none: they do not. `why`: what is wrong, where something is; that no library is there is nothing wrong.
    static std::optional<uint64_t> from_bytes(std::span<const std::shared_ptr<Port>> ports, std::string& why);
    // `to` of each part is the sum of all `from`, of so many bytes of f32 or f16, a BP_* dtype. Submits, and returns the point of each; throws Error with
    // the library's words, and then nothing was submitted.
    static std::vector<Point> sum(std::span<const Part> parts, uint32_t dtype, uint64_t bytes);
    // Bytes that come to each of the devices for it: of two as many as each has.
    static uint64_t crossing(uint64_t bytes, size_t devices) { return 2 * bytes * (devices - 1) / devices; }

private:
    static const bp_sums* table_of(const Port& port);
};

}  // namespace backplane::plan
