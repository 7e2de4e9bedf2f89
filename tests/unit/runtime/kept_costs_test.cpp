// What is remembered of costs, by several models, processes and whatever becomes of the files.
#include <cmath>
#include <map>
#include <thread>

#include "base/process.hpp"
#include "told_costs.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

using test::Costs;
using test::product_of;

TEST_F(Costs, WhatIsMeasuredIsRememberedForTheDeviceAlone) {
    const Context here = context();
    const Device cpu = here.choose("cpu"), reference = here.choose("reference");
    EXPECT_EQ(CostModel(here).of(cpu), nullptr);
    remember(cpu, told(1e9, 1e9));
    const CostModel costs(here);
    ASSERT_NE(costs.of(cpu), nullptr);
    EXPECT_GT(costs.of(cpu)->measured, 0);
    EXPECT_EQ(costs.of(cpu)->ops.at("product f32").points.size(), 2U);
    EXPECT_EQ(costs.of(reference), nullptr);
}

// What is kept is read once for an open device, whoever asks, and what one model finds out the others know at once.
TEST_F(Costs, WhatIsKeptOfADeviceIsReadOnceAndEachModelKnowsWhatOthersLearn) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    const Fit way = fits({cpu}, network_.graph).front();
    remember(cpu, told(1e9, 1e12));
    CostModel first(here);
    const CostModel second(here);
    const double plain = first.predict(cpu, network_.graph, way).seconds;
    first.learn(cpu, network_.graph, way, 3 * plain);
    EXPECT_NEAR(second.predict(cpu, network_.graph, way).seconds, 3 * plain, 1e-9);
    EXPECT_EQ(second.predict(cpu, network_.graph, way).runs, 1U);
    const Graph other = product_of(100);
    EXPECT_EQ(second.predict(cpu, other, fits({cpu}, other).front()).runs, 0U);
    fs::remove_all(folder_ / "costs");
    fs::remove_all(folder_ / "times");
    EXPECT_NEAR(second.predict(cpu, network_.graph, way).seconds, 3 * plain, 1e-9) << "no file is asked again";
    EXPECT_NEAR(CostModel(here).predict(cpu, network_.graph, way).seconds, 3 * plain, 1e-9);
    first.learn(cpu, network_.graph, way, 2 * plain);
    EXPECT_NEAR(second.predict(cpu, network_.graph, way).seconds, 2 * plain, 1e-9) << "of two the shorter";
    EXPECT_EQ(second.predict(cpu, network_.graph, way).runs, 2U);
    const DeviceCosts* before = second.of(cpu);
    const Context another = context();
    EXPECT_EQ(CostModel(another).of(another.choose("cpu")), nullptr) << "as another process has it: the file is gone";
    EXPECT_EQ(second.of(cpu), before);
}

TEST_F(Costs, WhatAnotherProcessLearntIsAddedToAndNotWrittenOver) {
    const Context here = context(), there = context();
    const Device cpu = here.choose("cpu"), theirs = there.choose("cpu");
    const Fit way = fits({cpu}, network_.graph).front();
    remember(cpu, told(1e9, 1e12));
    CostModel mine(here), other(there);
    const double plain = mine.predict(cpu, network_.graph, way).seconds;
    EXPECT_EQ(other.predict(theirs, network_.graph, way).runs, 0U);
    mine.learn(cpu, network_.graph, way, 2 * plain);
    EXPECT_EQ(other.predict(theirs, network_.graph, way).runs, 0U) << "it has read what there was";
    other.learn(theirs, network_.graph, way, 4 * plain);
    EXPECT_EQ(other.predict(theirs, network_.graph, way).runs, 2U);
    EXPECT_NEAR(other.predict(theirs, network_.graph, way).seconds, 2 * plain, 1e-9) << "of two the shorter";
}

// Each file is written whole, so that whichever process is the last to write, what is there is what one of them learnt.
TEST_F(Costs, TwoProcessesThatLearnAtOnceLeaveWhatBothLearnt) {
    {
        const Context here = context();
        remember(here.choose("cpu"), told(1e9, 1e12));
    }
    std::vector<base::ChildOutcome> outcomes(2);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < outcomes.size(); ++i)
        threads.emplace_back([&, i] {
            outcomes[i] = base::run_child(
                BP_TEST_COST_PROGRAM,
                {folder_.string(), std::string(BP_TEST_BINARY_DIR) + "/lib/backplane", std::to_string(i), "5"},
                std::chrono::minutes(5));
        });
    for (std::thread& thread : threads) thread.join();
    for (const base::ChildOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.problem << outcome.output;
    const Context here = context();
    const Device cpu = here.choose("cpu");
    const CostModel costs(here);
    const auto known = [&](int64_t columns) {
        const Graph graph = product_of(columns);
        return costs.predict(cpu, graph, fits({cpu}, graph).front());
    };
    EXPECT_EQ(known(200).runs, 3U);
    EXPECT_NEAR(known(200).learnt, 1.5, 1e-6) << "of the first alone";
    EXPECT_EQ(known(201).runs, 3U);
    EXPECT_NEAR(known(201).learnt, 2.5, 1e-6) << "of the second";
    EXPECT_GE(known(100).runs, 1U);
    EXPECT_TRUE(std::abs(known(100).learnt - 1.5) < 1e-6 || std::abs(known(100).learnt - 2.5) < 1e-6) << known(100).learnt;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "times"))
        EXPECT_EQ(entry.path().extension(), ".entry") << entry.path() << " was left";
}

TEST_F(Costs, DamagedCostsAreAsGoodAsNoneWhateverByteIsWrong) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    remember(cpu, told(1e9, 1e9));
    const std::vector<fs::path> all = files();
    ASSERT_EQ(all.size(), 1U);
    const std::string whole = content(all[0]);
    const auto put = [&](const std::string& text) {
        std::ofstream(all[0], std::ios::binary | std::ios::trunc) << text;
        return CostModel(here).of(cpu) != nullptr;
    };
    for (size_t length = 0; length < whole.size(); length += 7) EXPECT_FALSE(put(whole.substr(0, length))) << length;
    for (size_t at = 0; at < whole.size(); ++at) {
        std::string bad = whole;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        EXPECT_FALSE(put(bad)) << at;
    }
    EXPECT_TRUE(put(whole));
}

// Times of networks that are cut off, changed or somebody's own words: predictions are what ops add up to, and the log has a line for each file.
TEST_F(Costs, DamagedTimesOfNetworksAreAsGoodAsNoneAndTheLogSaysSoOnce) {
    {
        const Context here = context();
        const Device cpu = here.choose("cpu");
        remember(cpu, told(1e9, 1e12));
        CostModel costs(here);
        for (const int64_t columns : {100, 200, 300}) {
            const Graph graph = product_of(columns);
            const Fit way = fits({cpu}, graph).front();
            costs.learn(cpu, graph, way, 2 * costs.predict(cpu, graph, way).seconds);
        }
    }
    std::map<fs::path, std::string> good;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "times"))
        good[entry.path()] = content(entry.path());
    ASSERT_EQ(good.size(), 4U) << "three networks, and what they say of others";
    const auto lines_with = [&](const std::function<std::string(const std::string&)>& damage, double learnt, size_t lines) {
        for (const auto& [path, text] : good) std::ofstream(path, std::ios::binary | std::ios::trunc) << damage(text);
        std::vector<std::string> said;
        const Context here = context(&said);
        const Device cpu = here.choose("cpu");
        const CostModel costs(here);
        for (int k = 0; k < 2; ++k)
            for (const int64_t columns : {100, 200, 300, 400}) {
                const Graph graph = product_of(columns);
                const Prediction made = costs.predict(cpu, graph, fits({cpu}, graph).front());
                EXPECT_TRUE(made.known);
                EXPECT_NEAR(made.learnt, learnt, 1e-9) << columns;
                EXPECT_EQ(made.runs + made.networks == 0, learnt == 1) << columns;
            }
        std::erase_if(said,
                      [](const std::string& line) { return line.find("what work costs on cpu:0") == std::string::npos; });
        EXPECT_EQ(said.size(), lines) << testing::PrintToString(said);
        for (const std::string& line : said) {
            EXPECT_NE(line.find(folder_.string()), std::string::npos) << line;
            EXPECT_EQ(line.find('\n'), std::string::npos) << line;
        }
    };
    lines_with([](const std::string& text) { return text; }, 2, 0);
    for (const size_t keep : {size_t{0}, size_t{1}, size_t{40}, size_t{100}})
        lines_with([&](const std::string& text) { return text.substr(0, keep); }, 1, 4);
    for (size_t at = 3; at < 200; at += 23)
        lines_with([&](std::string text) { return text[at % text.size()] ^= 1, text; }, 1, 4);
    lines_with([](const std::string& text) { return text + text; }, 1, 4);
    lines_with([](const std::string&) { return std::string(1 << 20, '['); }, 1, 4);
    lines_with([](const std::string& text) { return text; }, 2, 0);
}

TEST_F(Costs, BesideCostsThatWereMeasuredAnewOldRunsSayNothing) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    const Fit way = fits({cpu}, network_.graph).front();
    remember(cpu, told(1e9, 1e12));
    CostModel(here).learn(cpu, network_.graph, way, 1);
    EXPECT_NE(CostModel(here).predict(cpu, network_.graph, way).learnt, 1);
    remember(cpu, told(2e9, 1e12));
    const Context later = context();
    EXPECT_EQ(CostModel(later).predict(later.choose("cpu"), network_.graph, way).learnt, 1);
}

TEST_F(Costs, RunsOfThreeNetworksCorrectWhatIsPredictedOfOthers) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    remember(cpu, told(1e9, 1e12));
    const auto learn = [&](int64_t columns, double times) {
        CostModel costs(here);
        const Graph graph = product_of(columns);
        const Fit way = fits({cpu}, graph).front();
        costs.learn(cpu, graph, way, times * predict(*costs.of(cpu), graph, way).seconds);
    };
    const Graph other = product_of(1000);
    const Fit way = fits({cpu}, other).front();
    const auto learnt = [&] {
        const Context there = context();  // as another process has it
        const Prediction made = CostModel(there).predict(there.choose("cpu"), other, way);
        EXPECT_NEAR(CostModel(here).predict(cpu, other, way).learnt, made.learnt, 1e-9);
        EXPECT_EQ(made.networks == 0, made.learnt == 1);
        EXPECT_EQ(made.runs, 0U);
        return made.learnt;
    };
    learn(100, 1.4), learn(200, 1.6), learn(200, 1.6);
    EXPECT_EQ(learnt(), 1) << "two networks say nothing of others";
    learn(300, 40);
    EXPECT_NEAR(learnt(), 1.6, 1e-9) << "the median: one that ran beside other work changes little";
    EXPECT_NEAR(CostModel(here).predict(cpu, product_of(100), fits({cpu}, product_of(100)).front()).learnt, 1.4, 1e-9)
        << "what ran itself is known better";
    learn(400, 50), learn(500, 50), learn(600, 50);
    EXPECT_EQ(learnt(), 2) << "no more than that";
    for (int64_t columns = 601; columns < 620; ++columns) learn(columns, 1.2);
    EXPECT_NEAR(learnt(), 1.2, 1e-9) << "those that ran last count";
    remember(cpu, told(2e9, 1e12));
    const Context there = context();
    EXPECT_EQ(CostModel(there).predict(there.choose("cpu"), other, way).learnt, 1)
        << "what was measured anew is not corrected by old runs";
}

}  // namespace
}  // namespace backplane
