#include "common/timeline.hpp"

#include <algorithm>
#include <utility>

namespace backplane::backend {

void Timeline::check_signal(const char* call, uint32_t queue, uint64_t value) const {
    if (value <= submitted_)
        throw sdk::Failure(BP_INVALID, std::string(call) + ": it signals the value " + std::to_string(value) +
                                           ", the fence has " + std::to_string(submitted_) + " already; values grow");
    if (queue_ != kNoQueue && queue_ != queue)
        throw sdk::Failure(BP_INVALID, std::string(call) + ": the fence counts the work of queue " + std::to_string(queue_) +
                                           ", not of queue " + std::to_string(queue) + "; use one for each queue");
}

void Timeline::check_submitted(const char* call, uint64_t value) const {
    if (value > submitted_)
        throw sdk::Failure(BP_INVALID, std::string(call) + ": it waits for the value " + std::to_string(value) +
                                           ", the last one submitted is " + std::to_string(submitted_) +
                                           "; submit the work that signals it first");
}

void Timeline::submit(uint32_t queue, uint64_t value) {
    queue_ = queue;
    submitted_ = value;
}

void Timeline::reach(uint64_t value, Outcome outcome) {
    if (value <= reached_) return;
    const uint64_t after = std::exchange(reached_, value);
    if (outcome.code == BP_OK) return;
    const bool goes_on = !failed_.empty() && failed_.back().last == after && failed_.back().outcome.code == outcome.code &&
                         failed_.back().outcome.text == outcome.text;
    if (goes_on) {
        failed_.back().last = value;
    } else {
        failed_.push_back({after, value, std::move(outcome)});
    }
}

Outcome Timeline::outcome(uint64_t value) const {
    const auto at = std::lower_bound(failed_.begin(), failed_.end(), value,
                                     [](const Failed& failed, uint64_t wanted) { return failed.last < wanted; });
    return at != failed_.end() && at->after < value ? at->outcome : Outcome{};
}

void Timeline::answer(uint64_t value) const {
    const Outcome result = outcome(value);
    if (result.code != BP_OK) throw sdk::Failure(result.code, result.text);
}

}  // namespace backplane::backend
