// Waiting with a limit, for interfaces that wait for ever or not at all.
#pragma once

#include <algorithm>
#include <chrono>
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

}  // namespace backplane::gpu
