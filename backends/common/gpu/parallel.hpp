// Several threads for a moment.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "common/host.hpp"

namespace backplane::gpu {

// body(i) for each i in [0, n): each on a thread of its own, the host's where it lends them, or one after another where there are none to be
// had. Returns when all have ended, and throws then what the first of them by number threw.
inline void in_parallel(const backend::Host& host, uint32_t n, const std::function<void(uint32_t)>& body) {
    std::vector<std::exception_ptr> errors(n);
    const auto run = [&](uint32_t i) {
        try {
            body(i);
        } catch (...) {
            errors[i] = std::current_exception();
        }
    };
    if (n > 1 && host.has_parallel()) {
        host.parallel(n, run);
    } else {
        std::vector<std::thread> others;
        uint32_t mine = 0;  // the first of those that this thread does
        try {
            for (; mine + 1 < n; ++mine) others.emplace_back(run, mine);
        } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): with as many threads as there may be
        }
        for (; mine < n; ++mine) run(mine);
        for (std::thread& other : others) other.join();
    }
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

}  // namespace backplane::gpu
