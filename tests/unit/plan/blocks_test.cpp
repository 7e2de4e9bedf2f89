// Memory that values between stages take turns with, and submits that are under way side by side.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "unit/plan/on_mock.hpp"

namespace backplane::plan {
namespace {

using mock::Arguments;
using mock::at;
using test::Door;
using test::in;
using test::out;

constexpr size_t kCount = 4096;

// v0 = x, v1 = v0 + 1, v2 = v1 + 2, ...; every third stage reads the value before the last, too, and adds it.
struct Chain {
    Plan plan;
    std::vector<std::vector<uint32_t>> reads;  // by stage: values

    explicit Chain(uint32_t stages, uint32_t ports) {
        for (uint32_t p = 0; p < ports; ++p) plan.ports.push_back(std::string(1, static_cast<char>('a' + p)));
        plan.values.push_back({"x", Kind::input, kCount * 4});
        for (uint32_t s = 0; s < stages; ++s) {
            plan.values.push_back({"v", s + 1 == stages ? Kind::output : Kind::boundary, kCount * 4});
            std::vector<uint32_t> read{s};
            if (s % 3 == 2) read.push_back(s - 1);
            Stage stage{"s" + std::to_string(s), {s % ports}, {}};
            for (uint32_t p = 0; p < ports; ++p)
                if (p != s % ports) stage.ports.push_back(p);
            for (uint32_t i = 0; i < read.size(); ++i) stage.uses.push_back({i, read[i], false});
            stage.uses.push_back({static_cast<uint32_t>(read.size()), s + 1, true});
            plan.stages.push_back(std::move(stage));
            reads.push_back(std::move(read));
        }
    }
    [[nodiscard]] std::shared_ptr<const Program> program(uint32_t stage, const std::shared_ptr<Port>& port,
                                                         mock::Device& device) const {
        std::vector<uint32_t> tensors(plan.stages[stage].uses.size());
        for (uint32_t i = 0; i < tensors.size(); ++i) tensors[i] = i;
        const auto last = static_cast<uint32_t>(tensors.size() - 1);
        return test::program_on(port, device, {.tensors = tensors, .microseconds = 100}, [=](const Arguments& a) {
            for (size_t i = 0; i < kCount; ++i) {
                float sum = at<float>(a, 0)[i] + static_cast<float>(stage);
                if (last == 2) sum += at<float>(a, 1)[i];
                at<float>(a, last)[i] = sum;
            }
        });
    }
    [[nodiscard]] float expected(float x) const {
        std::vector<float> value{x};
        for (size_t s = 0; s < reads.size(); ++s)
            value.push_back(value[s] + static_cast<float>(s) + (reads[s].size() == 2 ? value[s - 1] : 0));
        return value.back();
    }
};

TEST(Blocks, ValuesBetweenStagesTakeTurnsWithAsMuchMemoryAsIsNeededAtATime) {
    const Chain chain(30, 1);
    const Plan::Blocks blocks = chain.plan.blocks(0);
    EXPECT_EQ(blocks.bytes, std::vector<uint64_t>(3, kCount * 4)) << "a value is read two stages on at most";
    const std::vector<uint32_t> last = chain.plan.last_reads();
    for (uint32_t v = 1; v < 30; ++v) {
        ASSERT_NE(blocks.of[v], Plan::kNoBlock);
        for (uint32_t later = v + 1; later < 30; ++later)  // value v is made by stage v - 1
            EXPECT_TRUE(later - 1 > last[v] || blocks.of[v] != blocks.of[later]) << v << " and " << later;
    }
    EXPECT_EQ(blocks.of[0], Plan::kNoBlock) << "an input is the caller's";
    EXPECT_EQ(blocks.of[30], Plan::kNoBlock) << "and so is an output";
    EXPECT_EQ(chain.plan.frame_bytes(0), 5 * kCount * 4);
}

TEST(Blocks, OfValuesOfSeveralSizesTheSmallestThatIsLargeEnoughIsTaken) {
    Plan plan;
    plan.ports = {"a"};
    const std::vector<uint64_t> bytes{100, 1000, 90, 2000, 10};
    for (const uint64_t n : bytes) plan.values.push_back({"v", Kind::boundary, n});
    plan.values.push_back({"carried", Kind::boundary, 7});
    plan.values.push_back({"s", Kind::state, 7});
    plan.carried = {{6, 5}};
    plan.stages = {{"s0", {0}, {{0, 0, true}, {1, 1, true}}},  // 100 and 1000
                   {"s1", {0}, {{0, 0, false}, {1, 1, false}, {2, 5, true}}},
                   {"s2", {0}, {{0, 2, true}}},                  // 90: in that of 100
                   {"s3", {0}, {{0, 2, false}, {1, 3, true}}},   // 2000: that of 1000 grows
                   {"s4", {0}, {{0, 3, false}, {1, 4, true}}}};  // 10: in that of 100 again
    const Plan::Blocks blocks = plan.blocks(0);
    EXPECT_EQ(blocks.bytes, (std::vector<uint64_t>{100, 2000}));
    EXPECT_EQ(blocks.of, (std::vector<uint32_t>{0, 1, 0, 1, 0, Plan::kNoBlock, Plan::kNoBlock}));
    EXPECT_EQ(plan.frame_bytes(0), 2107U) << "what a state becomes keeps its memory";
}

TEST(Blocks, NoMoreIsHeldThanThePlanSaysAndTheResultIsRight) {
    mock::Device device({.copy_queues = 2});
    const auto port = test::port_on(device);
    const Chain chain(30, 1);
    {
        Executor executor(
            chain.plan, {port}, [&](uint32_t s, uint32_t) { return chain.program(s, port, device); }, {}, "chain");
        for (int round = 0; round < 3; ++round) {
            const std::vector<float> x(kCount, static_cast<float>(round));
            std::vector<float> y(kCount);
            const Given given[] = {{0, in(x), {}}};
            const Wanted wanted[] = {{30, out(y), {}}};
            executor.run(given, wanted);
            EXPECT_EQ(y.front(), chain.expected(x[0]));
            EXPECT_EQ(y.back(), chain.expected(x[0]));
        }
    }
    EXPECT_LE(device.peak, chain.plan.bytes_on(0));
    EXPECT_EQ(device.violations, 0U);
}

class LostWithBlocks : public testing::TestWithParam<int> {};  // the second device is lost after so many runs

TEST_P(LostWithBlocks, WhatWasOverwrittenIsMadeAgain) {
    mock::Device first({.name = "a", .copy_queues = 1}), second({.name = "b", .copy_queues = 1});
    second.lose_after_runs = GetParam();
    const std::vector<std::shared_ptr<Port>> ports{test::port_on(first), test::port_on(second)};
    const std::vector<mock::Device*> devices{&first, &second};
    const Chain chain(14, 2);
    EXPECT_LE(chain.plan.blocks(0).bytes.size(), 5U);
    {
        Executor executor(
            chain.plan, ports, [&](uint32_t s, uint32_t p) { return chain.program(s, ports[p], *devices[p]); }, {}, "chain");
        const std::vector<float> x(kCount, 1.0F);
        std::vector<std::vector<float>> y(4, std::vector<float>(kCount));
        std::vector<Event> events;
        const Given given[] = {{0, in(x), {}}};
        for (auto& one : y) {
            const Wanted wanted[] = {{14, out(one), {}}};
            events.push_back(executor.submit(given, wanted));
        }
        for (const Event& event : events) event.wait();
        for (const auto& one : y) EXPECT_EQ(one, std::vector<float>(kCount, chain.expected(1)));
        EXPECT_EQ(executor.notes().empty(), GetParam() < 0);
    }
    EXPECT_EQ(first.violations + second.violations, 0U);
}
INSTANTIATE_TEST_SUITE_P(After, LostWithBlocks, testing::Range(-1, 12),
                         [](const auto& p) { return p.param < 0 ? std::string("Never") : std::to_string(p.param); });

Plan two_stages(bool with_state) {
    Plan plan;
    plan.ports = {"a", "b"};
    plan.values = {{"x", Kind::input, 4}, {"v", Kind::boundary, 4}, {"y", Kind::output, 4}, {"s", Kind::state, 4}};
    plan.stages = {{"s0", {0}, {{0, 0, false}, {1, 1, true}}}, {"s1", {1}, {{0, 1, false}, {1, 2, true}}}};
    if (with_state) plan.stages[0].uses.push_back({2, 3, true});
    plan.frames = 3;
    if (!with_state) plan.values.pop_back();
    return plan;
}

TEST(SideBySide, TheFirstDeviceBeginsTheNextSubmitWhileTheSecondIsAtTheOneBefore) {
    mock::Device a({.name = "a"}), b({.name = "b"});
    const std::vector<std::shared_ptr<Port>> ports{test::port_on(a), test::port_on(b)};
    Door second_began;
    std::atomic<int> began{0};
    std::atomic<bool> passed{true};
    Executor executor(
        two_stages(false), ports,
        [&](uint32_t stage, uint32_t) {
            if (stage == 0)
                return test::program_on(ports[0], a, {.tensors = {0, 1}}, [&](const Arguments& t) {
                    if (++began == 2) second_began.open();
                    *at<float>(t, 1) = *at<float>(t, 0) + 1;
                });
            return test::program_on(ports[1], b, {.tensors = {0, 1}}, [&](const Arguments& t) {
                passed = second_began.pass() && passed;  // the first of them is at work until the second submit is on `a`
                *at<float>(t, 1) = *at<float>(t, 0) * 10;
            });
        },
        {}, "cut");
    const std::vector<float> x{1}, more{2};
    std::vector<float> y(1), z(1);
    const Given given[] = {{0, in(x), {}}}, next[] = {{0, in(more), {}}};
    const Wanted wanted[] = {{2, out(y), {}}}, also[] = {{2, out(z), {}}};
    const Event first = executor.submit(given, wanted), second = executor.submit(next, also);
    first.wait();
    second.wait();
    EXPECT_TRUE(passed) << "the second submit waited for the whole of the first";
    EXPECT_EQ(y[0], 20.0F);
    EXPECT_EQ(z[0], 30.0F);
}

class Branches : public testing::TestWithParam<bool> {};  // the first device computes in the host's memory
INSTANTIATE_TEST_SUITE_P(OfTheHost, Branches, testing::Bool());

TEST_P(Branches, ThatDoNotNeedEachOtherAreAtWorkAtATime) {
    mock::Device a({.name = "a", .unified = GetParam()}), b({.name = "b"});
    const std::vector<std::shared_ptr<Port>> ports{test::port_on(a), test::port_on(b)};
    Plan plan;
    plan.ports = {"a", "b"};
    plan.values = {{"x", Kind::input, 4}, {"y", Kind::output, 4}, {"z", Kind::output, 4}};
    plan.stages = {{"s0", {0}, {{0, 0, false}, {1, 1, true}}}, {"s1", {1}, {{0, 0, false}, {1, 2, true}}}};
    Door at_a, at_b;
    std::atomic<bool> passed{true};
    Executor executor(
        plan, ports,
        [&](uint32_t stage, uint32_t) {
            Door& mine = stage == 0 ? at_a : at_b;
            Door& other = stage == 0 ? at_b : at_a;
            return test::program_on(ports[stage], stage == 0 ? a : b, {.tensors = {0, 1}}, [&](const Arguments& t) {
                mine.open();
                passed = other.pass() && passed;
                *at<float>(t, 1) = *at<float>(t, 0) + 1;
            });
        },
        {}, "branches");
    const std::vector<float> x{1};
    std::vector<float> y(1), z(1);
    const Given given[] = {{0, in(x), {}}};
    const Wanted wanted[] = {{1, out(y), {}}, {2, out(z), {}}};
    executor.run(given, wanted);
    EXPECT_TRUE(passed) << "one stage waited for the other";
    EXPECT_EQ(y[0] + z[0], 4.0F);
}

TEST(SideBySide, ASubmitThatReadsTheStateOfTheOneBeforeWaitsForIt) {
    mock::Device a({.name = "a"}), b({.name = "b"});
    const std::vector<std::shared_ptr<Port>> ports{test::port_on(a), test::port_on(b)};
    std::atomic<int> first_stage{0}, second_stage{0};
    std::atomic<bool> in_turn{true};
    Executor executor(
        two_stages(true), ports,
        [&](uint32_t stage, uint32_t) {
            if (stage == 0)
                return test::program_on(ports[0], a, {.tensors = {0, 1, 2}}, [&](const Arguments& t) {
                    in_turn = in_turn && first_stage++ == second_stage;
                    *at<float>(t, 1) = *at<float>(t, 2) += *at<float>(t, 0);
                });
            return test::program_on(ports[1], b, {.tensors = {0, 1}, .microseconds = 2000}, [&](const Arguments& t) {
                *at<float>(t, 1) = *at<float>(t, 0);
                ++second_stage;
            });
        },
        {}, "sum");
    const std::vector<float> x{1};
    std::vector<std::vector<float>> y(5, std::vector<float>(1));
    std::vector<Event> events;
    const Given given[] = {{0, in(x), {}}};
    for (auto& one : y) {
        const Wanted wanted[] = {{2, out(one), {}}};
        events.push_back(executor.submit(given, wanted));
    }
    for (const Event& event : events) event.wait();
    for (size_t k = 0; k < y.size(); ++k) EXPECT_EQ(y[k][0], static_cast<float>(k + 1));
    EXPECT_TRUE(in_turn) << "what is kept of the state after a run is of that run";
}

}  // namespace
}  // namespace backplane::plan
