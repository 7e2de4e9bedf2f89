// The four users that the core was designed for, on a device in memory: what they compute, the bytes they move, the memory they take.
#include "unit/plan/on_mock.hpp"

namespace backplane::plan {
namespace {

using mock::Arguments;
using mock::at;
using test::in;
using test::out;

// ---- (a) a feed-forward network in tiles ----

class Tiles : public testing::TestWithParam<int> {};  // copy queues; -1: a device without BP_CAN_ASYNC

TEST_P(Tiles, OfANetworkMoveWhatIsGivenAndWantedAndNothingElse) {
    constexpr size_t kCount = size_t{1} << 16;
    constexpr int kTiles = 12;
    mock::Device device({.copy_queues = GetParam() < 0 ? 0U : static_cast<uint32_t>(GetParam()), .async = GetParam() >= 0});
    const auto port = test::port_on(device);
    Plan plan;
    plan.ports = {"mock"};
    plan.values = {{"x", Kind::input, kCount * 4}, {"w", Kind::weight, 16}, {"y", Kind::output, kCount * 4}};
    plan.stages = {{"net", {0}, {{0, 0, false}, {1, 1, false}, {2, 2, true}}, 4096}};
    plan.frames = 3;
    EXPECT_EQ(plan.bytes_on(0), 16 + 3 * 2 * kCount * 4 + 4096);
    EXPECT_EQ(plan.bytes_moved(), 2 * kCount * 4);
    const std::vector<float> w{3, 0, 0, 0};
    {
        Executor executor(
            plan, {port},
            [&](uint32_t, uint32_t) {
                return test::program_on(port, device, {.tensors = {0, 1, 2}, .microseconds = 200, .workspace = 4096},
                                        [](const Arguments& a) {
                                            for (size_t i = 0; i < kCount; ++i)
                                                at<float>(a, 2)[i] = at<float>(a, 1)[0] * at<float>(a, 0)[i];
                                        });
            },
            [&](uint32_t, uint32_t, const auto&, uint32_t) { return test::image_of(*port, 1, in(w)); }, "net");
        std::vector<std::vector<float>> x(kTiles, std::vector<float>(kCount)), y = x;
        std::vector<Event> events;
        for (int k = 0; k < kTiles; ++k) {
            std::fill(x[k].begin(), x[k].end(), static_cast<float>(k));
            const Given given[] = {{0, in(x[k]), {}}};
            const Wanted wanted[] = {{2, out(y[k]), {}}};
            events.push_back(executor.submit(given, wanted));
        }
        for (int k = 0; k < kTiles; ++k) {
            events[k].wait();
            EXPECT_TRUE(events[k].done());
            EXPECT_EQ(events[k].bytes_moved(), plan.bytes_moved());
            EXPECT_EQ(y[k].front(), 3.0F * static_cast<float>(k));
            EXPECT_EQ(y[k].back(), 3.0F * static_cast<float>(k));
        }
    }
    const Moved moved = port->moved();
    EXPECT_EQ(moved.up, kTiles * kCount * 4 + 16);
    EXPECT_EQ(moved.down, kTiles * kCount * 4);
    EXPECT_EQ(moved.inside, 0U);
    EXPECT_EQ(moved.runs, static_cast<uint64_t>(kTiles));
    EXPECT_EQ(device.up, moved.up);
    EXPECT_EQ(device.down, moved.down);
    EXPECT_EQ(device.violations, 0U);
    EXPECT_LE(device.peak, plan.bytes_on(0)) << "the plan says what is held at most";
    port->sweep();
    EXPECT_EQ(port->held(), 0U) << "and all of it came back";
}
INSTANTIATE_TEST_SUITE_P(CopyQueues, Tiles, testing::Values(-1, 0, 1, 2),
                         [](const auto& p) { return p.param < 0 ? std::string("WithoutAsync") : std::to_string(p.param); });

// ---- (b) a decoder with a cache ----

constexpr size_t kRow = 1024;  // floats of a row of the cache

TEST(Decoder, StepsOnTheCacheThatAPrefillFilledMoveOneRowEach) {
    constexpr size_t kRows = 25600, kSize = kRows * kRow * 4;
    constexpr int kPrompt = 32, kSteps = 50;
    mock::Device device({.copy_queues = 2, .budget = kSize + (size_t{8} << 20), .bytes_per_us = 1e6});
    const auto port = test::port_on(device);
    Plan prefill_plan;
    prefill_plan.ports = {"mock"};
    prefill_plan.values = {{"tokens", Kind::input, kPrompt * kRow * 4}, {"cache", Kind::state, kSize}};
    prefill_plan.stages = {{"prefill", {0}, {{0, 0, false}, {1, 1, false}, {2, 1, true}}}};
    Plan step_plan;
    step_plan.ports = {"mock"};
    step_plan.values = {{"token", Kind::input, kRow * 4},
                        {"position", Kind::input, 8},
                        {"cache", Kind::state, kSize},
                        {"logit", Kind::output, 4}};
    step_plan.stages = {{"step", {0}, {{0, 0, false}, {1, 1, false}, {2, 2, false}, {3, 2, true}, {4, 3, true}}}};
    step_plan.frames = 3;
    {
        Executor prefill(
            prefill_plan, {port},
            [&](uint32_t, uint32_t) {
                return test::program_on(port, device, {.tensors = {0, 1, 2}, .microseconds = 100}, [](const Arguments& a) {
                    EXPECT_EQ(a.at(1), a.at(2)) << "the state is written where it stands";
                    std::memcpy(a.at(2), a.at(0), kPrompt * kRow * 4);
                });
            },
            {}, "prefill");
        Executor decode(
            step_plan, {port},
            [&](uint32_t, uint32_t) {
                return test::program_on(port, device, {.tensors = {0, 1, 2, 3, 4}, .moved = kRow * 4},
                                        [](const Arguments& a) {
                                            EXPECT_EQ(a.at(2), a.at(3));
                                            const int64_t position = *at<int64_t>(a, 1);
                                            auto* cache = at<float>(a, 3);
                                            std::memcpy(cache + position * static_cast<int64_t>(kRow), a.at(0), kRow * 4);
                                            float sum = 0;
                                            for (int64_t i = 0; i <= position; ++i)
                                                sum += cache[i * static_cast<int64_t>(kRow)];
                                            at<float>(a, 4)[0] = sum;
                                        });
            },
            {}, "decode");
        const std::vector<float> prompt(kPrompt * kRow, 1.0F);
        const Given tokens[] = {{0, in(prompt), {}}};
        static_cast<void>(prefill.submit(tokens, {}));
        const Located cache = prefill.state(1);
        decode.set_state(2, cache);  // shared, not copied
        const Moved before = port->moved();
        const uint64_t inside = device.inside;
        std::vector<std::vector<float>> token(kSteps, std::vector<float>(kRow)), logit(kSteps, std::vector<float>(1));
        std::vector<std::vector<int64_t>> position(kSteps, std::vector<int64_t>(1));
        std::vector<Event> events;
        for (int k = 0; k < kSteps; ++k) {
            std::fill(token[k].begin(), token[k].end(), static_cast<float>(k));
            position[k][0] = kPrompt + k;
            const Given given[] = {{0, in(token[k]), {}}, {1, in(position[k]), {}}};
            const Wanted wanted[] = {{3, out(logit[k]), {}}};
            events.push_back(decode.submit(given, wanted));
        }
        for (const Event& event : events) event.wait();
        float sum = kPrompt;
        for (int k = 0; k < kSteps; ++k) {
            sum += static_cast<float>(k);
            EXPECT_EQ(logit[k][0], sum) << "step " << k;
        }
        const Moved moved = port->moved();
        EXPECT_EQ(moved.up - before.up, kSteps * (kRow * 4 + 8));
        EXPECT_EQ(moved.down - before.down, kSteps * 4U);
        EXPECT_EQ(device.inside - inside, kSteps * kRow * 4) << "one row a step, and no copy of the cache";
        EXPECT_EQ(decode.state(2).bytes, cache.bytes);
    }
    EXPECT_LT(device.peak, kSize + (size_t{2} << 20)) << "there is one cache";
    EXPECT_EQ(device.violations, 0U);
}

// ---- (c) a graph on two devices ----

class TwoDevices : public testing::TestWithParam<int> {};  // the second device is lost after so many runs; -1: never

TEST_P(TwoDevices, GiveTheSameWhereverTheSecondIsLost) {
    constexpr size_t kCount = size_t{1} << 14;
    mock::Device first({.name = "a", .copy_queues = 1}), second({.name = "b", .copy_queues = 1});
    second.lose_after_runs = GetParam();
    const std::vector<std::shared_ptr<Port>> ports{test::port_on(first), test::port_on(second)};
    const std::vector<mock::Device*> devices{&first, &second};
    Plan plan;
    plan.ports = {"a", "b"};
    plan.values = {{"x", Kind::input, kCount * 4},
                   {"v0", Kind::boundary, kCount * 4},
                   {"v1", Kind::boundary, kCount * 4},
                   {"v2", Kind::boundary, kCount * 4},
                   {"y", Kind::output, kCount * 4}};
    plan.stages = {{"s0", {0, 1}, {{0, 0, false}, {1, 1, true}}},
                   {"s1", {1, 0}, {{0, 1, false}, {1, 2, true}}},
                   {"s2", {1, 0}, {{0, 2, false}, {1, 3, true}}},
                   {"s3", {0, 1}, {{0, 3, false}, {1, 4, true}}}};
    EXPECT_EQ(plan.bytes_moved(), 6 * kCount * 4) << "x up, v0 down and up, v2 down and up, y down: v1 stays on the device";
    std::vector<std::string> notes;
    {
        Executor executor(
            plan, ports,
            [&](uint32_t stage, uint32_t port) {
                return test::program_on(ports[port], *devices[port], {.tensors = {0, 1}, .microseconds = 300},
                                        [stage](const Arguments& a) {
                                            for (size_t i = 0; i < kCount; ++i)
                                                at<float>(a, 1)[i] = at<float>(a, 0)[i] * 2 + static_cast<float>(stage);
                                        });
            },
            {}, "cut");
        for (int round = 0; round < 3; ++round) {
            const std::vector<float> x(kCount, 1.0F + static_cast<float>(round));
            std::vector<float> y(kCount), later(kCount);
            const Given given[] = {{0, in(x), {}}};
            const Wanted wanted[] = {{4, out(y), {}}}, once_more[] = {{4, out(later), {}}};
            const Event event = executor.submit(given, once_more);
            executor.run(given, wanted);
            event.wait();
            float expected = 1.0F + static_cast<float>(round);
            for (int s = 0; s < 4; ++s) expected = expected * 2 + static_cast<float>(s);
            EXPECT_EQ(y.front(), expected);
            EXPECT_EQ(y.back(), expected);
            EXPECT_EQ(later, y) << "submitted and run are the same";
        }
        notes = executor.notes();
    }
    if (GetParam() < 0) {
        const Moved a = ports[0]->moved(), b = ports[1]->moved();
        EXPECT_EQ(a.up + a.down + b.up + b.down, 6 * plan.bytes_moved());
        EXPECT_EQ(a.runs, 12U);
        EXPECT_TRUE(notes.empty());
    } else {
        ASSERT_FALSE(notes.empty());
        EXPECT_NE(notes[0].find("what remained was done by a"), std::string::npos) << notes[0];
    }
    EXPECT_EQ(first.violations + second.violations, 0U);
}
INSTANTIATE_TEST_SUITE_P(LostAfter, TwoDevices, testing::Values(-1, 0, 1, 2, 3),
                         [](const auto& p) { return p.param < 0 ? std::string("Never") : std::to_string(p.param); });

}  // namespace
}  // namespace backplane::plan
