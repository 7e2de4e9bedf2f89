// Who does what, by arithmetic alone: devices here are speeds, and time is a number.
#include "batch/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace backplane::batch {
namespace {

using Next = Schedule::Choice::Kind;

struct Simulated {
    double seconds = 0;           // until all is done
    std::vector<size_t> done_by;  // of each task the device
    std::vector<size_t> started;  // tasks in the order in which they were begun
    size_t handed_over = 0;
};

// Devices of these speeds, each after so long a start; what a device is to give up it gives up at once.
class Simulation {
public:
    Simulation(std::vector<double> work, std::vector<double> speeds, Schedule::Order order, bool tells_progress = true)
        : work_(std::move(work)),
          speeds_(std::move(speeds)),
          schedule_(work_, speeds_.size(), order),
          tells_(tells_progress) {
        result_.done_by.assign(work_.size(), speeds_.size());
        running_.assign(speeds_.size(), kNone);
        since_.assign(speeds_.size(), 0);
    }

    Simulated run() {
        for (int step = 0; !schedule_.all_done(); ++step) {
            if (step > 200000) {
                ADD_FAILURE() << "it never ends";
                break;
            }
            ask();
            advance();
        }
        result_.seconds = now_;
        return result_;
    }

private:
    static constexpr size_t kNone = std::numeric_limits<size_t>::max();

    void ask() {
        for (bool again = true; again;) {
            again = false;
            for (size_t d = 0; d < speeds_.size(); ++d) {
                if (running_[d] != kNone) continue;
                const Schedule::Choice c = schedule_.next(d, now_);
                if (c.kind == Next::take) {
                    running_[d] = c.task;
                    since_[d] = now_;
                    result_.started.push_back(c.task);
                } else if (c.kind == Next::take_over) {
                    EXPECT_EQ(running_[c.from], c.task);
                    schedule_.give_back(c.from, c.task, now_, false);
                    running_[c.from] = kNone;
                    ++result_.handed_over;
                    again = true;
                }
            }
        }
    }

    [[nodiscard]] double time_of(size_t d) const { return work_[running_[d]] > 0 ? work_[running_[d]] / speeds_[d] : 0; }

    // To the next end, or a tenth of a second.
    void advance() {
        double next = now_ + 0.1;
        for (size_t d = 0; d < speeds_.size(); ++d)
            if (running_[d] != kNone) next = std::min(next, since_[d] + time_of(d));
        now_ = std::max(next, now_);
        for (size_t d = 0; d < speeds_.size(); ++d) {
            if (running_[d] == kNone) continue;
            const double took = time_of(d);
            if (now_ >= since_[d] + took) {
                EXPECT_EQ(result_.done_by[running_[d]], speeds_.size()) << "twice";
                result_.done_by[running_[d]] = d;
                schedule_.finished(d, running_[d], now_);
                running_[d] = kNone;
            } else if (tells_) {
                schedule_.progressed(d, (now_ - since_[d]) / took, now_);
            }
        }
    }

    std::vector<double> work_, speeds_;
    Schedule schedule_;
    bool tells_;
    Simulated result_;
    std::vector<size_t> running_;
    std::vector<double> since_;
    double now_ = 0;
};

Simulated simulate(std::vector<double> work, std::vector<double> speeds, bool tells = true,
                   Schedule::Order order = Schedule::Order::longest_first) {
    return Simulation(std::move(work), std::move(speeds), order, tells).run();
}

TEST(Schedule, NothingToDoIsDone) {
    EXPECT_TRUE(Schedule({}, 2, Schedule::Order::longest_first).all_done());
    EXPECT_EQ(simulate({0, 0, 0}, {1, 1}).started.size(), 3U) << "files whose length nobody knows";
    EXPECT_EQ(simulate({-5, std::numeric_limits<double>::quiet_NaN(), 1}, {1}).started.size(), 3U);
}

TEST(Schedule, ALongFileThatASlowDeviceBeganGoesToTheFastOne) {
    // Two files of an hour, one device fifty times as fast: alone it takes 144 s.
    const Simulated s = simulate({3600, 3600}, {50, 1});
    EXPECT_EQ(s.done_by, (std::vector<size_t>{0, 0}));
    EXPECT_LT(s.seconds, 150);
    // Where no device says how far it is, that takes as long to find out as half as much again as the fast one needs.
    EXPECT_LT(simulate({3600, 3600}, {50, 1}, false).seconds, 72 + 108 + 1);
    // And where the one that is thought to be the best is not.
    EXPECT_LT(simulate({3600, 3600}, {1, 50}).seconds, 150);
}

TEST(Schedule, OneFileGoesToTheFirstDevice) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(simulate({10}, {1, 1, 1}).done_by, std::vector<size_t>{0});
    Schedule s({10}, 3, Schedule::Order::longest_first);
    EXPECT_EQ(s.next(2, 0).kind, Next::nothing) << "whichever asks first";
    EXPECT_EQ(s.next(0, 0).kind, Next::take);
}

TEST(Schedule, GeneratedFilesAndDevicesAreNeverFarFromTheBestThereIs) {
    std::mt19937 random(20261125);
    for (int round = 0; round < 300; ++round) {
        const size_t files = 1 + random() % 60, devices = 1 + random() % 5;
        std::vector<double> work, speeds;
        for (size_t i = 0; i < files; ++i) work.push_back(std::exp(std::uniform_real_distribution<>(0, 6)(random)));
        for (size_t i = 0; i < devices; ++i) speeds.push_back(std::exp(std::uniform_real_distribution<>(-1, 4)(random)));
        // Of few files the ones behind the first get none to show what they can: then the first had better be the best.
        if (files < 2 * devices) std::sort(speeds.rbegin(), speeds.rend());
        const Simulated s = simulate(work, speeds, round % 2 == 0);
        const double all = std::accumulate(work.begin(), work.end(), 0.0);
        const double together = std::accumulate(speeds.begin(), speeds.end(), 0.0);
        const double fastest = *std::max_element(speeds.begin(), speeds.end());
        const double longest = *std::max_element(work.begin(), work.end());
        // Not below the first two, whatever the order; what it takes to find out how fast each is comes on top.
        const double bound = std::max(all / together, longest / fastest);
        EXPECT_LE(s.seconds, 1.5 * bound + 2 * longest / fastest + 4)
            << "round " << round << ": " << files << " files, " << devices << " devices";
        for (const size_t d : s.done_by) EXPECT_LT(d, devices);
    }
}

TEST(Schedule, EqualDevicesAreEquallyLong) {
    std::vector<double> work;
    for (int i = 1; i <= 40; ++i) work.push_back(i);
    EXPECT_LT(simulate(work, {1, 1, 1, 1}).seconds, 820.0 / 4 * 1.06);
    EXPECT_EQ(simulate(work, {1}).started.front(), 39U) << "the longest first";
}

TEST(Schedule, AsGivenIsAsGiven) {
    const Simulated s = simulate({5, 1, 9, 2}, {1, 1}, true, Schedule::Order::as_given);
    EXPECT_EQ(s.started, (std::vector<size_t>{0, 1, 2, 3}));
    EXPECT_EQ(simulate({3600, 3600}, {50, 1}, true, Schedule::Order::as_given).handed_over, 0U);
}

TEST(Schedule, WhatADeviceCannotDoWaitsForAnotherAndWithoutOneIsStranded) {
    Schedule s({7, 3}, 2, Schedule::Order::longest_first);
    EXPECT_EQ(s.next(0, 0).task, 0U);
    EXPECT_EQ(s.next(1, 0).task, 1U);
    s.give_back(0, 0, 1, true);
    EXPECT_TRUE(s.stranded().empty());
    EXPECT_EQ(s.next(0, 1).kind, Next::nothing) << "it said that it cannot";
    s.finished(1, 1, 2);
    EXPECT_EQ(s.next(1, 2).task, 0U) << "slower or not, nobody else can";
    s.give_back(1, 0, 3, true);
    EXPECT_EQ(s.stranded(), std::vector<size_t>{0});
    EXPECT_TRUE(s.all_done());
}

TEST(Schedule, ARetiredDeviceGetsNothingAndWhatItWasToTakeOverIsFree) {
    Schedule s({100, 100, 1}, 2, Schedule::Order::longest_first);
    EXPECT_EQ(s.next(0, 0).task, 0U);
    EXPECT_EQ(s.next(1, 0).task, 2U);
    s.finished(1, 2, 0.01);
    EXPECT_EQ(s.next(1, 0.01).task, 1U);
    s.finished(1, 1, 1);
    const Schedule::Choice over = s.next(1, 10);
    ASSERT_EQ(over.kind, Next::take_over);
    EXPECT_EQ(over.from, 0U);
    s.retire(1);
    s.give_back(0, 0, 10, false);
    EXPECT_EQ(s.next(1, 10).kind, Next::nothing);
    EXPECT_EQ(s.next(0, 10).task, 0U);
}

TEST(Schedule, ADeviceThatTakesSeveralAtATimeLeavesTheOthersTheirs) {
    // Alone it may have all there is, in any order.
    Schedule alone({4, 3, 2, 1}, 1, Schedule::Order::longest_first);
    for (const size_t task : {0, 1, 2, 3}) EXPECT_EQ(alone.next(0, 0).task, task);
    EXPECT_EQ(alone.next(0, 0).kind, Next::nothing);
    for (const size_t task : {2, 0, 3, 1}) alone.finished(0, task, 1);
    EXPECT_TRUE(alone.all_done());
    // Beside another it has one until it is known how fast it is, and then its share.
    Schedule s(std::vector<double>(102, 1.0), 2, Schedule::Order::longest_first);
    for (const size_t d : {0, 1}) {
        EXPECT_EQ(s.next(d, 0).kind, Next::take);
        EXPECT_EQ(s.next(d, 0).kind, Next::nothing);
    }
    const size_t first = s.tasks_of(0).front(), second = s.tasks_of(1).front();
    s.finished(0, first, 1);
    s.finished(1, second, 3);  // a third as fast
    size_t slow = 0, fast = 0;
    while (s.next(1, 3).kind == Next::take) ++slow;
    while (s.next(0, 3).kind == Next::take) ++fast;
    EXPECT_NEAR(static_cast<double>(slow), 25, 2);
    EXPECT_NEAR(static_cast<double>(fast), 75, 2);
}

TEST(Schedule, WhatASlowDeviceHasGoesToAFreeOneAltogether) {
    Schedule s({10, 10, 10, 10, 1, 1}, 2, Schedule::Order::longest_first);
    s.set_speed(1, 100);  // it was, the last time
    for (int i = 0; i < 3; ++i) EXPECT_EQ(s.next(1, 0).kind, Next::take);
    const std::vector<size_t> all = s.tasks_of(1);
    EXPECT_EQ(s.next(0, 0).kind, Next::take);
    s.finished(0, s.tasks_of(0).front(), 0.01);
    while (s.next(0, 0.01).kind == Next::take) s.finished(0, s.tasks_of(0).front(), 0.02);
    Schedule::Choice over = s.next(0, 0.1);
    EXPECT_EQ(over.kind, Next::nothing) << "it is all but done";
    s.set_speed(1, 0.1);
    over = s.next(0, 3);
    ASSERT_EQ(over.kind, Next::take_over);
    EXPECT_EQ(over.from, 1U);
    for (const size_t task : all) s.give_back(1, task, 3, false);
    EXPECT_EQ(s.next(1, 3).kind, Next::nothing) << "they are promised";
    for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(s.next(0, 3).kind, Next::take);
    }
    EXPECT_EQ(s.tasks_of(0).size(), all.size());
}

TEST(Schedule, WhatAnotherProcessDoesIsDoneAndWhatComesLaterIsLast) {
    Schedule schedule({3, 2}, 1, Schedule::Order::longest_first);
    EXPECT_EQ(schedule.next(0, 0).task, 0U);
    schedule.drop(0, 0);
    EXPECT_TRUE(schedule.tasks_of(0).empty());
    EXPECT_EQ(schedule.next(0, 1).task, 1U);
    EXPECT_FALSE(schedule.all_done());
    schedule.finished(0, 1, 2);
    EXPECT_TRUE(schedule.all_done());
    schedule.add(9);
    EXPECT_FALSE(schedule.all_done());
    EXPECT_FALSE(schedule.none_waits());
    EXPECT_EQ(schedule.next(0, 3).task, 2U);
    schedule.finished(0, 2, 4);
    EXPECT_TRUE(schedule.all_done());
    EXPECT_DOUBLE_EQ(schedule.fraction(), 1);
}

TEST(SharedOut, RanksAreEvenAndAgreeWhateverTheOrder) {
    std::mt19937 random(7);
    for (const size_t ranks : {1, 2, 3, 4, 16, 100}) {
        std::vector<double> work;
        std::vector<std::string> names;
        for (int i = 0; i < 200; ++i) {
            work.push_back(i % 9 == 0 ? 0 : std::exp(std::uniform_real_distribution<>(0, 3)(random)));
            names.push_back("file " + std::to_string(i));
        }
        const std::vector<size_t> owner = shared_out(work, names, ranks);
        std::map<std::string, size_t> by_name;
        std::vector<double> load(ranks, 0);
        for (size_t i = 0; i < work.size(); ++i) {
            by_name[names[i]] = owner[i];
            load[owner[i]] += work[i];
        }
        const double mean = std::accumulate(load.begin(), load.end(), 0.0) / static_cast<double>(ranks);
        const double longest = *std::max_element(work.begin(), work.end());
        EXPECT_LE(*std::max_element(load.begin(), load.end()), std::max(longest, mean * (ranks <= 16 ? 1.05 : 2)) + 1e-9)
            << ranks;
        std::vector<size_t> order(work.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        std::vector<double> other_work;
        std::vector<std::string> other_names;
        for (const size_t i : order) {
            other_work.push_back(work[i]);
            other_names.push_back(names[i]);
        }
        const std::vector<size_t> other = shared_out(other_work, other_names, ranks);
        for (size_t i = 0; i < order.size(); ++i)
            EXPECT_EQ(other[i], by_name[other_names[i]]) << "another order, another rank";
    }
    const std::vector<double> nothing(9, 0.0);
    const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    const std::vector<size_t> owner = shared_out(nothing, names, 3);
    for (size_t r = 0; r < 3; ++r)
        EXPECT_EQ(std::count(owner.begin(), owner.end(), r), 3) << "files whose length nobody knows";
}

}  // namespace
}  // namespace backplane::batch
