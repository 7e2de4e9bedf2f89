// Steps of a recording without a barrier between them, which a device may overlap.
#pragma once

#include <algorithm>
#include <cstddef>

namespace backplane::gpu {

// So many side by side are worth a second branch or queue: one starts while another ends.
inline constexpr ptrdiff_t kManySteps = 8;

// body(first, end) for each stretch of steps of which only the first may be behind a barrier (Step::behind).
template <typename Steps, typename Body>
void side_by_side(const Steps& steps, const Body& body) {
    for (auto first = steps.begin(), end = first; first != steps.end(); first = end) {
        end = std::find_if(first + 1, steps.end(), [](const auto& step) { return step.behind; });
        body(first, end);
    }
}

}  // namespace backplane::gpu
