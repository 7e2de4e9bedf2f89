// Chains: element-wise ops each of which alone reads what the one before it makes. They become one dispatch, so that what they hand on is in
// no memory and a launch is paid once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/gpu/plan.hpp"

namespace backplane::gpu {

// Where the elements of an operand lie: element i of the result meets i / inner % count; count 0: i.
struct Repeats {
    uint32_t inner = 1, count = 0;
};

// An operand of a result of these dimensions that is as large, one number, or a row whose elements are each repeated (a column, a channel);
// nothing: it takes a nest of loops.
std::optional<Repeats> repeats_of(const Value& value, const std::vector<int64_t>& dim);

// Element-wise ops on f32 and f16 become post-ops of the one that the chain begins with.
void join_chains(Plan& plan);

}  // namespace backplane::gpu
