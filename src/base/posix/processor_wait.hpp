// How long a process has stood in line for a processor. Linux says so; elsewhere it is never.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>

namespace backplane::base {

class ProcessorWait {
public:
    using Clock = std::chrono::steady_clock;

    explicit ProcessorWait(Clock::time_point start) : looked_(start) {}
    // Since the last call that told, or the start: of the thread that stood there longest, at most the time between. 0 where that is less than a
    // tenth of a second, whose turn is the next call's.
    [[nodiscard]] std::chrono::nanoseconds of(pid_t process);

private:
    struct Thread {
        uint64_t ran = 0, stood = 0;  // nanoseconds, since it began; a wait counts when it ends
        uint64_t slept = 0;           // how often
        bool wants_to_run = false;
    };
    Clock::time_point looked_;
    std::map<pid_t, Thread> threads_;  // as they were then
};

}  // namespace backplane::base
