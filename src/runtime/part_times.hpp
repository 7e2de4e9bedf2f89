// When the parts of a pipeline's passes were done, and how long each was at work on one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

#include "backplane/pipeline.hpp"

namespace backplane::runtime {

using PartClock = std::chrono::steady_clock;

// Of one pass. Any thread: whoever sees first that a part is done says so. Where a part is done, those before it are, whoever comes late to see it.
class PartEnds {
public:
    explicit PartEnds(size_t parts) : ends_(parts), before_(parts) {}
    // `last`: when the part's device had last ended something.
    void ended(size_t part, std::atomic<PartClock::rep>& last) {
        const PartClock::rep now = PartClock::now().time_since_epoch().count();
        for (size_t p = 0; p <= part; ++p) {
            PartClock::rep unknown = 0;
            if (ends_[p].compare_exchange_strong(unknown, now) && p == part) before_[p] = last.exchange(now);
        }
    }
    [[nodiscard]] PartClock::time_point begun() const { return begun_; }
    [[nodiscard]] PartClock::time_point at(size_t part) const {
        return PartClock::time_point(PartClock::duration(ends_[part]));
    }
    // When its device had ended what came before it.
    [[nodiscard]] PartClock::time_point before(size_t part) const {
        return PartClock::time_point(PartClock::duration(before_[part]));
    }

private:
    const PartClock::time_point begun_ = PartClock::now();
    std::vector<std::atomic<PartClock::rep>> ends_, before_;  // 0: it is not known yet
};

// Of all passes of a pipeline. One thread at a time.
class PartTimes {
public:
    void add_part(const Device& device) { all_.push_back({device.info().id, 0, 0}); }
    // A pass that is done, and with whose parts nothing went wrong.
    void add(const PartEnds& pass) {
        for (size_t p = 0; p < all_.size(); ++p) {
            const auto end = pass.at(p), from = std::max(p == 0 ? pass.begun() : pass.at(p - 1), pass.before(p));
            if (end <= from) continue;  // finished in another order, or seen with the part behind it only
            const double took = std::chrono::duration<double>(end - from).count();
            all_[p].seconds = all_[p].passes++ == 0 ? took : std::min(all_[p].seconds, took);
        }
    }
    [[nodiscard]] const std::vector<PartTime>& all() const noexcept { return all_; }

private:
    std::vector<PartTime> all_;
};

}  // namespace backplane::runtime
