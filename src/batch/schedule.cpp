#include "batch/schedule.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace backplane::batch {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<size_t> shared_out(std::span<const double> work, std::span<const std::string> names, size_t ranks) {
    std::vector<size_t> order(work.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return work[a] != work[b] ? work[a] > work[b] : names[a] < names[b]; });
    std::vector<double> load(ranks, 0);
    std::vector<size_t> files(ranks, 0);
    std::vector<size_t> owner(work.size(), 0);
    for (const size_t task : order) {
        size_t least = 0;
        for (size_t r = 1; r < ranks; ++r)  // of files without length, as many each
            if (load[r] < load[least] || (load[r] == load[least] && files[r] < files[least])) least = r;
        owner[task] = least;
        load[least] += work[task];
        ++files[least];
    }
    return owner;
}

Schedule::Schedule(std::vector<double> work, size_t devices, Order order)
    : work_(std::move(work)), devices_(devices), waiting_(work_.size()), promised_(work_.size(), devices), order_(order) {
    std::iota(waiting_.begin(), waiting_.end(), size_t{0});
    for (double& w : work_) w = w > 0 ? w : 0;
    if (order_ == Order::longest_first)
        std::stable_sort(waiting_.begin(), waiting_.end(), [&](size_t a, size_t b) { return work_[a] > work_[b]; });
    for (Device& d : devices_) d.refused.assign(work_.size(), false);
}

double Schedule::work_of(const Device& d) const {
    double work = 0;
    for (const size_t task : d.tasks) work += work_[task];
    return work;
}

double Schedule::left_of(const Device& d, double now) const {
    const double work = work_of(d);
    return std::max(0.0, work - std::max(d.speed * std::max(0.0, now - d.since), d.fraction * work));
}

// By how far it is with what it has, which says more than how fast it was before.
double Schedule::speed_now(const Device& d, double now) const {
    return d.fraction > 0 && now > d.since ? d.fraction * work_of(d) / (now - d.since) : d.speed;
}

std::optional<size_t> Schedule::pick(size_t device, double now) const {
    const Device& me = devices_[device];
    std::vector<size_t> places;
    for (size_t i = 0; i < waiting_.size(); ++i) {
        if (promised_[waiting_[i]] == device) return i;
        if (!me.refused[waiting_[i]] && promised_[waiting_[i]] == devices_.size()) places.push_back(i);
    }
    if (places.empty()) return {};
    if (me.speed == 0) {
        // What there is no more of than of better devices without work is theirs.
        const auto better = std::count_if(devices_.begin(), devices_.begin() + static_cast<std::ptrdiff_t>(device),
                                          [](const Device& d) { return d.tasks.empty() && !d.retired; });
        if (places.size() <= static_cast<size_t>(better) || (!me.tasks.empty() && devices_.size() > 1)) return {};
        return device == 0 || order_ == Order::as_given ? places.front() : places.back();
    }
    if (order_ == Order::as_given) return places.front();
    double left = 0, others = 0, fastest = 0;
    for (const size_t task : waiting_) left += work_[task];
    for (const Device& d : devices_) {
        left += left_of(d, now);
        if (&d == &me || d.retired) continue;
        others += d.speed;
        fastest = std::max(fastest, d.speed);
    }
    if (me.speed >= fastest && (me.tasks.empty() || others == 0)) return places.front();
    // The longest that it is done with when all together are.
    const double together = left / (others + me.speed), first = left_of(me, now) / me.speed;
    for (const size_t place : places)
        if (first + work_[waiting_[place]] / me.speed <= together) return place;
    if (!me.tasks.empty()) return {};
    // Else the shortest, unless the others are done with everything sooner.
    if (work_[waiting_[places.back()]] / me.speed <= (others > 0 ? left / others : kNever)) return places.back();
    // What the others refused is left to it.
    for (const size_t place : places) {
        const auto takes = [&](const Device& d) { return &d != &me && !d.retired && !d.refused[waiting_[place]]; };
        if (std::none_of(devices_.begin(), devices_.end(), takes)) return place;
    }
    return {};
}

Schedule::Choice Schedule::take_over(size_t device, double now) {
    const Device& me = devices_[device];
    if (order_ == Order::as_given || me.speed == 0 || !me.tasks.empty()) return {};
    size_t best = devices_.size();
    double most = 1;  // second that it saves at least
    for (size_t i = 0; i < devices_.size(); ++i) {
        const Device& d = devices_[i];
        if (i == device || d.tasks.empty() || now <= d.since) continue;
        if (std::any_of(d.tasks.begin(), d.tasks.end(),
                        [&](size_t task) { return promised_[task] != devices_.size() || me.refused[task]; }))
            continue;
        // Where nothing is known of it, as long again as it took so far.
        const double work = work_of(d), speed = speed_now(d, now);
        const double there = speed > 0 ? std::max(0.0, work / speed - (now - d.since)) : now - d.since;
        const double here = work / me.speed;
        if (there - here > std::max(most, 0.5 * here)) {
            most = there - here;
            best = i;
        }
    }
    if (best == devices_.size()) return {};
    for (const size_t task : devices_[best].tasks) promised_[task] = device;
    return {Choice::Kind::take_over, devices_[best].tasks.front(), best};
}

Schedule::Choice Schedule::next(size_t device, double now) {
    Device& me = devices_[device];
    if (me.retired) return {};
    const auto place = pick(device, now);
    if (!place) return waiting_.empty() ? take_over(device, now) : Choice{};
    if (me.tasks.empty()) me.since = now;
    me.fraction = 0;
    const size_t task = waiting_[*place];
    me.tasks.push_back(task);
    promised_[task] = devices_.size();
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(*place));
    return {Choice::Kind::take, task, 0};
}

void Schedule::progressed(size_t device, double fraction, double now) {
    Device& d = devices_[device];
    if (d.tasks.size() != 1) return;
    d.fraction = std::clamp(fraction, 0.0, 1.0);
    // The first file says how fast it is before it is done.
    if (d.speed == 0) d.speed = speed_now(d, now);
}

void Schedule::finished(size_t device, size_t task, double now) {
    Device& d = devices_[device];
    std::erase(d.tasks, task);
    ++done_;
    done_work_ += work_[task];
    promised_[task] = devices_.size();
    // Files of a batch end together: what counts is the work of some and the time of all of them. What was is forgotten by and by: the first file
    // has in it what is done once.
    constexpr double kKept = 0.7;
    d.work_done = kKept * d.work_done + work_[task];
    d.time_taken = kKept * d.time_taken + std::max(0.0, now - d.since);
    if (d.work_done > 0 && d.time_taken > 0) d.speed = d.work_done / d.time_taken;
    d.since = now;
    d.fraction = 0;
}

void Schedule::drop(size_t device, size_t task) {
    Device& d = devices_[device];
    std::erase(d.tasks, task);
    if (d.tasks.empty()) d.fraction = 0;
    ++done_;
    done_work_ += work_[task];
    promised_[task] = devices_.size();
}

void Schedule::add(double work) {
    waiting_.push_back(work_.size());
    work_.push_back(work > 0 ? work : 0);
    promised_.push_back(devices_.size());
    for (Device& d : devices_) d.refused.push_back(false);
}

void Schedule::give_back(size_t device, size_t task, double now, bool not_here) {
    Device& d = devices_[device];
    // What it was seen to do is what it is known to do.
    d.speed = speed_now(d, now);
    std::erase(d.tasks, task);
    if (d.tasks.empty()) d.fraction = 0;
    if (not_here) d.refused[task] = true;
    const auto before = [&](size_t a, size_t b) {
        return order_ == Order::as_given || work_[a] == work_[b] ? a < b : work_[a] > work_[b];
    };
    waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), task, before), task);
}

void Schedule::retire(size_t device) {
    devices_[device].retired = true;
    std::replace(promised_.begin(), promised_.end(), device, devices_.size());
}

std::vector<size_t> Schedule::stranded() {
    std::vector<size_t> lost;
    const auto nobody = [&](size_t task) {
        return std::none_of(devices_.begin(), devices_.end(),
                            [&](const Device& d) { return !d.retired && !d.refused[task]; });
    };
    for (const size_t task : waiting_)
        if (nobody(task)) lost.push_back(task);
    for (const size_t task : lost) {
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), task));
        ++done_;
        done_work_ += work_[task];
    }
    return lost;
}

double Schedule::fraction() const noexcept {
    const double all = std::accumulate(work_.begin(), work_.end(), 0.0);
    if (all <= 0) return work_.empty() ? 1 : static_cast<double>(done_) / static_cast<double>(work_.size());
    double done = done_work_;
    for (const Device& d : devices_) done += d.fraction * work_of(d);
    return done / all;
}

double Schedule::speed(size_t device) const noexcept { return devices_[device].speed; }
void Schedule::set_speed(size_t device, double speed) noexcept { devices_[device].speed = speed; }

}  // namespace backplane::batch
