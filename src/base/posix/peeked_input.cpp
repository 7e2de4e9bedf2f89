#include "base/peeked_input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/posix/pipe.hpp"

namespace backplane::base {

std::string peeked_input(size_t bytes) {
    std::string there;
    if (const off_t at = ::lseek(STDIN_FILENO, 0, SEEK_CUR); at >= 0) {
        there.resize(bytes);
        const ssize_t n = ::pread(STDIN_FILENO, there.data(), bytes, at);
        there.resize(n > 0 ? static_cast<size_t>(n) : 0);
        return there;
    }
    // Who writes less than that waits this long before it is taken for all.
    constexpr int kTries = 100;
    constexpr auto kBetween = std::chrono::milliseconds(10);
    for (int k = 0; k < kTries && there.size() < bytes; ++k) {
        if (k > 0) std::this_thread::sleep_for(kBetween);
        Pipe copy;
        if (copy.error() != 0) break;
        const ssize_t n = ::tee(STDIN_FILENO, copy.writing(), bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        there = copy.drain();
    }
    return there;
}

}  // namespace backplane::base
