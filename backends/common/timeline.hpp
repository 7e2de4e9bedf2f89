// The points of one fence: which are submitted, which are reached, and what became of each. Bookkeeping alone, for devices whose work threads
// do as for those with a driver: it takes no lock and never waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backplane/sdk.hpp"

namespace backplane::backend {

// What became of a point that is reached.
struct Outcome {
    bp_code code = BP_OK;
    std::string text;  // why, where it is not BP_OK
};

class Timeline {
public:
    // Throw Failure(BP_INVALID), `call` at its head ("run", "copy"): the value is not above the last one, or the fence counts the work of
    // another queue; the value was never submitted.
    void check_signal(const char* call, uint32_t queue, uint64_t value) const;
    void check_submitted(const char* call, uint64_t value) const;

    // The value has passed check_signal and its work is under way.
    void submit(uint32_t queue, uint64_t value);
    // Points are reached in the order in which they were submitted; a value between two of them belongs to the later one.
    void reach(uint64_t value, Outcome outcome = {});
    // Everything that is submitted and not reached ends so: the device is lost.
    void end(const Outcome& outcome) { reach(submitted_, outcome); }

    [[nodiscard]] uint64_t submitted() const { return submitted_; }
    [[nodiscard]] uint64_t reached() const { return reached_; }
    [[nodiscard]] bool reached(uint64_t value) const { return value <= reached_; }
    [[nodiscard]] Outcome outcome(uint64_t value) const;  // of a value that is reached
    // The same as fence_wait says it: throws Failure where the outcome is not BP_OK.
    void answer(uint64_t value) const;

private:
    // Failures alone are kept, neighbours of one kind together.
    struct Failed {
        uint64_t after, last;
        Outcome outcome;
    };
    static constexpr uint32_t kNoQueue = UINT32_MAX;
    uint32_t queue_ = kNoQueue;  // the first signal ties it to one
    uint64_t submitted_ = 0, reached_ = 0;
    std::vector<Failed> failed_;  // ascending
};

}  // namespace backplane::backend
