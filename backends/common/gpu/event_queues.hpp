// For interfaces whose queues have events and no values: waiting with a limit, and which steps of a recording a device may overlap.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace backplane::gpu {

// Asks `reached` now and again, the less often the longer it takes, and so often that what is waited for is seen within a hundredth of its time or
// what a thread needs to wake; false: not within so many nanoseconds.
template <typename Reached>
bool ask_until(const Reached& reached, uint64_t nanoseconds) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (;;) {
        if (reached()) return true;
        const auto past = Clock::now() - start;
        if (past >= std::chrono::nanoseconds(nanoseconds)) return false;
        std::this_thread::sleep_for(
            std::clamp<Clock::duration>(past / 128, std::chrono::microseconds(2), std::chrono::microseconds(500)));
    }
}

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
