// Batches with devices that do as they are told: what goes wrong first.
#include "batch/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/file.hpp"
#include "batch/journal.hpp"
#include "support/system.hpp"

namespace backplane::batch {
namespace {

namespace fs = std::filesystem;

class Batches : public testing::Test {
protected:
    Batches() {
        fs::create_directory(folder_ / "in");
        fs::create_directory(folder_ / "out");
        options_.folder = folder_ / "out";
        options_.tell = [this](const News& news) { told_.push_back(news); };
        options_.note = [this](const std::string& note) { notes_.push_back(note); };
    }
    ~Batches() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    std::vector<Task> files(size_t count) const {
        std::vector<Task> tasks;
        for (size_t i = 0; i < count; ++i) {
            const std::string name = "f" + std::to_string(i);
            std::ofstream(folder_ / "in" / name) << "content of " << name;
            tasks.push_back({(folder_ / "in" / name).string(), folder_ / "out" / name, static_cast<double>(i + 1)});
        }
        return tasks;
    }

    using Act = std::function<void(const Task&, const std::atomic<uint32_t>&)>;
    // Writes its input's content twice, unless `act` throws.
    Station station(const std::string& device, Act act = {}) {
        class Doubling : public OneByOne {
        public:
            Doubling(Batches& test, std::string device, Act act)
                : test_(test), device_(std::move(device)), act_(std::move(act)) {}
            base::Json run(const Task& task, const std::atomic<uint32_t>& cancel,
                           const std::function<void(double)>& progress) override {
                if (act_) act_(task, cancel);
                if (cancel != 0) throw Error(Code::cancelled, "cancelled");
                progress(0.5);
                std::ifstream in(task.name);
                const std::string text{std::istreambuf_iterator<char>(in), {}};
                if (text.empty()) throw Error(Code::not_found, task.name + " is empty or not there");
                std::ofstream(task.target) << text << text;
                const std::lock_guard lock(test_.mutex_);
                ++test_.done_[fs::path(task.name).filename().string()];
                return {{"file", task.name}, {"long", std::string(100, 'x')}};
            }

        private:
            Batches& test_;
            std::string device_;
            Act act_;
        };
        return {device, [this, device, act] { return std::make_unique<Doubling>(*this, device, act); }};
    }

    void expect_all_right(const std::vector<Task>& tasks) const {
        for (const Task& task : tasks) {
            std::ifstream in(task.target);
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            const std::string once = "content of " + task.target.filename().string();
            EXPECT_EQ(text, once + once) << task.target;
        }
    }

    const fs::path folder_ = test::make_temporary_folder();
    Options options_;
    std::vector<News> told_;
    std::vector<std::string> notes_;
    std::mutex mutex_;
    std::map<std::string, int> done_;
};

TEST_F(Batches, AFileThatCannotBeDoneEndsNothing) {
    std::vector<Task> tasks = files(20);
    fs::remove(tasks[3].name);
    std::ofstream(tasks[7].name, std::ios::trunc);
    const Outcome o = run(tasks, {station("a"), station("b")}, options_);
    EXPECT_EQ(o.done, 18U);
    ASSERT_EQ(o.failed.size(), 2U);
    EXPECT_EQ(o.failed[0].code, Code::not_found);
    EXPECT_EQ(told_.size(), 20U);
    // Again: what is done is not done again, what failed is tried.
    std::ofstream(tasks[3].name) << "content of f3";
    std::ofstream(tasks[7].name) << "content of f7";
    const Outcome second = run(tasks, {station("a")}, options_);
    EXPECT_EQ(second.skipped, 18U);
    EXPECT_EQ(second.done, 2U);
    EXPECT_TRUE(second.failed.empty());
    expect_all_right(tasks);
}

TEST_F(Batches, MemoryThatRunsOutIsNotTheFilesFault) {
    const std::vector<Task> tasks = files(10);
    const auto large = [](const Task& task, const std::atomic<uint32_t>&) {
        if (task.work > 7) throw Error(Code::no_device_memory, "too large for a");
    };
    const Outcome o = run(tasks, {station("a", large), station("b")}, options_);
    EXPECT_EQ(o.done, 10U);
    expect_all_right(tasks);
    for (const News& news : told_) EXPECT_TRUE(news.device == "b" || tasks[news.task].work <= 7);
    // Where no device has enough, that file fails, with the device's words.
    options_.again = true;
    const Outcome alone = run(tasks, {station("a", large)}, options_);
    EXPECT_EQ(alone.done, 7U);
    ASSERT_EQ(alone.failed.size(), 3U);
    EXPECT_EQ(alone.failed[0].error, "too large for a");
    EXPECT_EQ(alone.failed[0].code, Code::no_device_memory);
    const auto no_host = [](const Task& task, const std::atomic<uint32_t>&) {
        if (task.work == 5) throw std::bad_alloc();
    };
    EXPECT_EQ(run(tasks, {station("a", no_host)}, options_).failed.size(), 1U);
}

TEST_F(Batches, ADeviceThatIsLostLeavesItsFilesToTheOthers) {
    const std::vector<Task> tasks = files(30);
    std::atomic<int> calls = 0;
    const auto lost = [&](const Task&, const std::atomic<uint32_t>&) {
        if (++calls > 3) throw Error(Code::device_lost, "it fell off the bus");
    };
    const auto later = [&](const Task&, const std::atomic<uint32_t>&) {
        while (calls <= 3) std::this_thread::yield();
    };
    const Outcome o = run(tasks, {station("a", lost), station("b", later)}, options_);
    EXPECT_EQ(o.done, 30U);
    EXPECT_TRUE(o.failed.empty());
    expect_all_right(tasks);
    ASSERT_FALSE(notes_.empty());
    EXPECT_NE(notes_[0].find("it fell off the bus"), std::string::npos);
    // The last one: everything ends, and what is done is known the next time.
    options_.again = true;
    calls = 0;
    EXPECT_THROW(run(tasks, {station("a", lost)}, options_), Error);
    options_.again = false;
    EXPECT_EQ(run(tasks, {station("a")}, options_).skipped, 30U);
}

TEST_F(Batches, ADeviceThatCannotBeOpenedIsToldOfAndWithoutAnotherThrown) {
    const std::vector<Task> tasks = files(5);
    std::atomic<bool> tried = false;
    const Station broken{"broken", [&]() -> std::unique_ptr<Worker> {
                             tried = true;
                             throw Error(Code::not_found, "no such network");
                         }};
    const auto later = [&](const Task&, const std::atomic<uint32_t>&) {
        while (!tried) std::this_thread::yield();
    };
    const Outcome o = run(tasks, {broken, station("b", later)}, options_);
    EXPECT_EQ(o.done, 5U);
    ASSERT_EQ(notes_.size(), 1U);
    EXPECT_NE(notes_[0].find("no such network"), std::string::npos);
    options_.again = true;
    try {
        run(tasks, {broken, broken}, options_);
        ADD_FAILURE() << "nobody did it";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::not_found);
        EXPECT_STREQ(error.what(), "no such network");
    }
}

TEST_F(Batches, ACancelledOneSaysSoAndGoesOnTheNextTime) {
    const std::vector<Task> tasks = files(12);
    std::atomic<uint32_t> interrupted = 0;
    options_.cancel = &interrupted;
    std::atomic<int> calls = 0, told = 0;
    options_.tell = [&](const News&) { ++told; };
    const auto hang = [&](const Task&, const std::atomic<uint32_t>& cancel) {
        if (++calls < 5) return;
        while (told < 4) std::this_thread::yield();
        interrupted = 2;
        while (cancel == 0) std::this_thread::yield();
    };
    try {
        run(tasks, {station("a", hang), station("b", hang)}, options_);
        ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::cancelled);
    }
    interrupted = 0;
    const Outcome o = run(tasks, {station("a")}, options_);
    EXPECT_EQ(o.skipped, 4U);
    EXPECT_EQ(o.done, 8U);
    expect_all_right(tasks);
    for (const auto& [name, times] : done_) EXPECT_EQ(times, 1) << name;
}

// Its target is there when everything ends: it is not done again.
TEST_F(Batches, AFileThatIsDoneWhileItAllEndsCounts) {
    const std::vector<Task> tasks = files(3);
    std::atomic<uint32_t> interrupted = 0;
    options_.cancel = &interrupted;
    class Late : public OneByOne {
    public:
        explicit Late(std::atomic<uint32_t>& interrupted) : interrupted_(interrupted) {}
        base::Json run(const Task& task, const std::atomic<uint32_t>& cancel, const std::function<void(double)>&) override {
            interrupted_ = 2;
            while (cancel == 0) std::this_thread::yield();
            std::ofstream(task.target) << "late";
            return base::Json::object();
        }

    private:
        std::atomic<uint32_t>& interrupted_;
    };
    try {
        run(tasks, {{"late", [&] { return std::make_unique<Late>(interrupted); }}}, options_);
        ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::cancelled);
    }
    interrupted = 0;
    const Outcome o = run(tasks, {station("a")}, options_);
    EXPECT_EQ(o.skipped, 1U);
    EXPECT_EQ(o.done, 2U);
}

TEST_F(Batches, WhatPrintingThrowsEndsItAll) {
    const std::vector<Task> tasks = files(8);
    options_.tell = [](const News&) { throw Error(Code::denied, "cannot write the output"); };
    try {
        run(tasks, {station("a"), station("b")}, options_);
        ADD_FAILURE() << "not thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::denied);
    }
}

TEST_F(Batches, AFileIsDoneAgainWhereItOrHowItIsDoneChanged) {
    const std::vector<Task> tasks = files(6);
    run(tasks, {station("a")}, options_);
    EXPECT_EQ(run(tasks, {station("a")}, options_).done, 0U);
    std::ofstream(tasks[1].name) << "content of f1, longer";
    EXPECT_EQ(run(tasks, {station("a")}, options_).done, 1U);
    fs::remove(tasks[2].target);
    EXPECT_EQ(run(tasks, {station("a")}, options_).done, 1U) << "its result is gone";
    std::ofstream(tasks[3].target) << "x";
    EXPECT_EQ(run(tasks, {station("a")}, options_).done, 1U) << "somebody else wrote there";
    options_.how = "otherwise";
    EXPECT_EQ(run(tasks, {station("a")}, options_).done, 6U);
    EXPECT_EQ(run(tasks, {station("a")}, options_).done, 0U);
    options_.again = true;
    EXPECT_EQ(run(tasks, {station("a")}, options_).done, 6U);
}

TEST_F(Batches, TheJournalIsHeldAndKeepsNoMoreThanItIsTold) {
    const std::vector<Task> tasks = files(2);
    options_.not_kept = {"long"};
    run(tasks, {station("a")}, options_);
    EXPECT_TRUE(told_[0].report.contains("long"));
    for (const auto& [key, record] : done_so_far(options_.folder)) EXPECT_FALSE(record.at("report").contains("long"));
    const Journal held(options_.folder, {}, "");
    EXPECT_THROW(run(tasks, {station("a")}, options_), Error);
}

// Ranks as threads of this process: what they know of each other is in the folder.
TEST_F(Batches, RanksShareTheFilesAndTheFirstHearsOfAll) {
    std::vector<Task> tasks = files(41);
    fs::remove(tasks[0].name);
    fs::remove(tasks[40].name);
    std::vector<std::thread> others;
    std::vector<Outcome> outcomes(4);
    const auto rank = [&](int64_t r) {
        Options o = options_;
        o.ranks = {r, 4, r, "Slurm", "job"};
        if (r != 0) o.tell = [](const News&) { ADD_FAILURE() << "rank 0 reports"; };
        outcomes[static_cast<size_t>(r)] = run(tasks, {station("d" + std::to_string(r))}, o);
    };
    for (int64_t r = 1; r < 4; ++r) others.emplace_back(rank, r);
    rank(0);
    for (std::thread& other : others) other.join();
    EXPECT_EQ(outcomes[0].files, 41U);
    EXPECT_EQ(outcomes[0].done, 39U);
    EXPECT_EQ(outcomes[0].failed.size(), 2U);
    EXPECT_EQ(told_.size(), 41U);
    std::set<int64_t> ranks;
    for (const News& news : told_) ranks.insert(news.rank);
    EXPECT_EQ(ranks.size(), 4U);
    for (const auto& [name, times] : done_) EXPECT_EQ(times, 1) << name;
    tasks.erase(tasks.begin() + 40);
    tasks.erase(tasks.begin());
    expect_all_right(tasks);
}

TEST_F(Batches, ARankThatNeverComesOrDiesIsGivenUpAndItsFilesAreNamed) {
    const std::vector<Task> tasks = files(9);
    options_.ranks = {0, 3, 0, "Slurm", "job"};
    options_.silence = 0.3;
    { const Journal died(options_.folder, {1, 3, 0, "Slurm", "job"}, "list"); }
    const Outcome o = run(tasks, {station("a")}, options_);
    EXPECT_EQ(o.done, 7U) << "its own, and all but the first of each of the others";
    EXPECT_EQ(o.left.size(), 2U);
    ASSERT_EQ(notes_.size(), 3U) << "two are silent, and one of them had another list";
    EXPECT_NE(notes_[0].find("rank 1"), std::string::npos);
    // One process does what they left.
    options_.ranks = {};
    const Outcome rest = run(tasks, {station("a")}, options_);
    EXPECT_EQ(rest.skipped, 7U);
    EXPECT_EQ(rest.done, 2U);
    expect_all_right(tasks);
}

TEST_F(Batches, RanksOfAJobWithoutANameKeepToTheirShares) {
    const std::vector<Task> tasks = files(9);
    options_.ranks = {0, 3, 0, "Kubernetes", ""};
    options_.silence = 0.1;
    const Outcome o = run(tasks, {station("a")}, options_);
    EXPECT_EQ(o.done, 3U);
    EXPECT_EQ(o.left.size(), 6U) << "nobody can tell claims of this job from those of one that was killed";
}

// Rank 0 is held up by its first file until all others are done, which rank 1 has to see to.
TEST_F(Batches, ARankThatIsSlowLosesToTheOthersWhatItHasNotBegun) {
    const std::vector<Task> tasks = files(20);
    fs::create_directory(folder_ / "out" / ".backplane-batch-claims-of-one-that-was-killed");
    const auto done_now = [this] {
        const std::lock_guard lock(mutex_);
        return done_.size();
    };
    std::atomic<bool> in_vain = false;
    const auto slow = [&](const Task&, const std::atomic<uint32_t>&) {
        for (int i = 0; done_now() < 19 && !in_vain; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (i == 3000) in_vain = true;
        }
    };
    Outcome other;
    std::thread second([&] {
        Options o = options_;
        o.ranks = {1, 2, 1, "Slurm", "job"};
        o.tell = {};
        other = run(tasks, {station("b")}, o);
    });
    options_.ranks = {0, 2, 0, "Slurm", "job"};
    const Outcome o = run(tasks, {station("a", slow)}, options_);
    second.join();
    EXPECT_FALSE(in_vain);
    EXPECT_EQ(o.done, 20U);
    EXPECT_EQ(other.done, 19U);
    EXPECT_EQ(told_.size(), 20U);
    for (const auto& [name, times] : done_) EXPECT_EQ(times, 1) << name;
    expect_all_right(tasks);
    for (const auto& entry : fs::directory_iterator(folder_ / "out"))
        EXPECT_EQ(entry.path().filename().string().find("claims"), std::string::npos) << entry.path();
}

// A job that was killed and goes on under its name: what it had claimed is done by the first rank in the end.
TEST_F(Batches, WhatWasClaimedAndNeverDoneIsDoneByTheFirstRank) {
    const std::vector<Task> tasks = files(8);
    const auto stopped = [](const Task&, const std::atomic<uint32_t>&) { throw Error(Code::device_lost, "off the bus"); };
    Options o = options_;
    o.ranks = {1, 2, 1, "Slurm", "job"};
    EXPECT_THROW(run(tasks, {station("b", stopped)}, o), Error);
    std::thread second([&] { run(tasks, {station("b")}, o); });
    options_.ranks = {0, 2, 0, "Slurm", "job"};
    const Outcome first = run(tasks, {station("a")}, options_);
    second.join();
    EXPECT_EQ(first.done, 8U);
    EXPECT_TRUE(first.left.empty());
    expect_all_right(tasks);
    for (const auto& [name, times] : done_) EXPECT_EQ(times, 1) << name;
}

TEST_F(Batches, WhatRanksThatSawOtherFilesLeftIsDoneByTheFirstAndToldOf) {
    const std::vector<Task> tasks = files(12);
    {
        Options o = options_;
        o.ranks = {1, 2, 1, "Slurm", "job"};
        run({tasks.begin(), tasks.begin() + 4}, {station("b")}, o);
    }
    told_.clear();
    options_.ranks = {0, 2, 0, "Slurm", "job"};
    const Outcome o = run(tasks, {station("a")}, options_);
    EXPECT_EQ(o.done, 12U) << "those of rank 1 are heard of";
    EXPECT_FALSE(o.left.empty()) << "rank 1 may have known of others";
    expect_all_right(tasks);
    EXPECT_NE(notes_.back().find("another list"), std::string::npos);
}

}  // namespace
}  // namespace backplane::batch
