// A model streamed through a small device: what it computes, what is copied and when, the memory it takes; passes behind each other in the same memory.
#include "unit/plan/on_mock.hpp"

namespace backplane::plan {
namespace {

using mock::Arguments;
using mock::at;
using test::in;
using test::out;

TEST(Streamed, AModelOfFourTimesTheBudgetRunsAndTheBudgetIsKept) {
    constexpr size_t kWeight = size_t{1} << 20, kStages = 16, kCount = 1024, kBudget = 4 * kWeight;
    constexpr int kPasses = 2;
    mock::Device device({.copy_queues = 2, .budget = kBudget, .bytes_per_us = 20000});
    const auto port = test::port_on(device);
    std::vector<Bytes> host;
    for (size_t k = 0; k < kStages; ++k) {
        host.push_back(port->allocate_pinned(kWeight, "model"));
        std::fill_n(reinterpret_cast<float*>(host.back()->host), kWeight / 4, static_cast<float>(k));
    }
    Plan plan;
    plan.ports = {"mock"};
    plan.values.push_back({"x", Kind::input, kCount * 4});
    for (size_t k = 0; k < kStages; ++k) {
        plan.values.push_back({"w", Kind::weight, kWeight});
        plan.values.push_back({"v", k + 1 == kStages ? Kind::output : Kind::boundary, kCount * 4});
    }
    for (uint32_t k = 0; k < kStages; ++k)
        plan.stages.push_back({"s" + std::to_string(k),
                               {0},
                               {{0, k == 0 ? 0 : 2 * k, false}, {1, 1 + 2 * k, false, k >= 1}, {2, 2 + 2 * k, true}}});
    ASSERT_LE(plan.bytes_on(0), kBudget);
    EXPECT_EQ(plan.bytes_moved(), 2 * kCount * 4 + (kStages - 1) * kWeight);
    {
        Executor executor(
            plan, {port},
            [&](uint32_t, uint32_t) {
                return test::program_on(port, device, {.tensors = {0, 1, 2}, .microseconds = 50}, [](const Arguments& a) {
                    for (size_t i = 0; i < kCount; ++i)
                        at<float>(a, 2)[i] = at<float>(a, 0)[i] + at<float>(a, 1)[kWeight / 4 - 1 - i];
                });
            },
            [&](uint32_t value, uint32_t, const auto&, uint32_t) {
                const Bytes& bytes = host[(value - 1) / 2];
                return test::image_of(*port, value, {bytes->host, kWeight});
            },
            "model");
        const std::vector<float> x(kCount, 1.0F);
        for (int pass = 0; pass < kPasses; ++pass) {
            std::vector<float> y(kCount);
            const Given given[] = {{0, in(x), {}}};
            const Wanted wanted[] = {{2 * kStages, out(y), {}}};
            executor.run(given, wanted);
            EXPECT_EQ(y.front(), 121.0F);
            EXPECT_EQ(y.back(), 121.0F);
        }
    }
    EXPECT_EQ(port->moved().up, kPasses * (kCount * 4 + (kStages - 1) * kWeight) + kWeight + 2 * kWeight)
        << "what is resident once, the others once a pass, and both places for a pass that did not come";
    EXPECT_LE(device.peak, plan.bytes_on(0));
    EXPECT_EQ(device.violations, 0U);
}

// Sums of four weights each; two of them are streamed, as many stages as are wanted.
class StreamedSums {
public:
    static constexpr size_t kNumbers = size_t{1} << 14;  // copies of 64 KiB and less go with the work
    static constexpr uint32_t kWeights = 4;

    // `second`: a device that goes on where the first is lost.
    StreamedSums(mock::Device& device, uint32_t stages, uint64_t microseconds = 0, mock::Device* second = nullptr)
        : port(test::port_on(device)), devices_{&device}, stages_(stages) {
        std::vector<std::shared_ptr<Port>> ports{port};
        std::vector<uint32_t> on{0};
        if (second != nullptr) ports.push_back(test::port_on(*second)), devices_.push_back(second), on.push_back(1);
        for (size_t k = 0; k < stages * kWeights; ++k) weights_.emplace_back(kNumbers, static_cast<float>(k + 1));
        Plan plan;
        for (const mock::Device* one : devices_) plan.ports.push_back(one->options.name);
        plan.values.push_back({"x", Kind::input, kNumbers * 4});
        for (uint32_t s = 0; s < stages; ++s) {
            Stage stage{"s" + std::to_string(s), on, {{0, s == 0 ? 0 : s * (kWeights + 1), false}}};
            for (uint32_t k = 0; k < kWeights; ++k) {
                stage.uses.push_back({1 + k, static_cast<uint32_t>(plan.values.size()), false, k % 2 == 1});
                plan.values.push_back({"w", Kind::weight, kNumbers * 4});
            }
            stage.uses.push_back({1 + kWeights, static_cast<uint32_t>(plan.values.size()), true});
            plan.values.push_back({"v", s + 1 == stages ? Kind::output : Kind::boundary, kNumbers * 4});
            plan.stages.push_back(std::move(stage));
        }
        executor = std::make_unique<Executor>(
            plan, ports,
            [this, ports, microseconds](uint32_t stage, uint32_t at_port) {
                return test::program_on(
                    ports[at_port], *devices_[at_port], {.tensors = {0, 1, 2, 3, 4, 5}, .microseconds = microseconds},
                    [this, stage](const Arguments& a) {
                        if (test::Door* const closed = door; stage == 0 && closed != nullptr) {
                            EXPECT_TRUE(closed->pass());
                        }
                        for (size_t i = 0; i < kNumbers; ++i)
                            at<float>(a, 5)[i] = at<float>(a, 0)[i] + at<float>(a, 1)[i] + at<float>(a, 2)[i] +
                                                 at<float>(a, 3)[i] + at<float>(a, 4)[i];
                        if (stage == cancel_after) cancel = 1;
                    });
            },
            [this](uint32_t value, uint32_t, const std::shared_ptr<const Program>& program, uint32_t) {
                return test::image_of(program->port(), value, in(weights_[value - 1 - (value - 1) / (kWeights + 1)]));
            },
            "sums");
    }
    Code run(float x) {
        std::vector<float> given(kNumbers, x), got(kNumbers);
        const Given inputs[] = {{0, in(given), {}}};
        const Wanted wanted[] = {{stages_ * (kWeights + 1), out(got), {}}};
        const Code code = test::code_of([&] { executor->run(inputs, wanted, &cancel); });
        const uint32_t all = stages_ * kWeights, sum = all * (all + 1) / 2;
        if (code == Code::ok) {
            EXPECT_EQ(got, std::vector<float>(kNumbers, x + static_cast<float>(sum)));
        }
        return code;
    }

    // A run that is under way.
    struct Pass {
        std::vector<float> given, got;
        std::atomic<uint32_t> cancel{0};
        Event event;
    };
    std::unique_ptr<Pass> submit(float x) {
        auto pass = std::make_unique<Pass>();
        pass->given.assign(kNumbers, x);
        pass->got.resize(kNumbers);
        const Given inputs[] = {{0, in(pass->given), {}}};
        const Wanted wanted[] = {{stages_ * (kWeights + 1), out(pass->got), {}}};
        pass->event = executor->submit(inputs, wanted, &pass->cancel);
        return pass;
    }
    Code end(const Pass& pass) const {
        const Code code = test::code_of([&] { pass.event.wait(); });
        const uint32_t all = stages_ * kWeights, sum = all * (all + 1) / 2;
        if (code == Code::ok) {
            EXPECT_EQ(pass.got, std::vector<float>(kNumbers, pass.given[0] + static_cast<float>(sum)));
        }
        return code;
    }

    std::shared_ptr<Port> port;
    std::atomic<test::Door*> door{nullptr};  // before the first stage
    std::atomic<uint32_t> cancel{0};
    uint32_t cancel_after = UINT32_MAX;  // stage
    std::unique_ptr<Executor> executor;

private:
    std::vector<mock::Device*> devices_;
    uint32_t stages_;
    std::vector<std::vector<float>> weights_;
};

TEST(Streamed, AStageIsOneCopyAndThePassAfterBeginsUnderTheOneBefore) {
    constexpr uint32_t kStages = 5;
    mock::Device device({.copy_queues = 2});
    StreamedSums sums(device, kStages);
    EXPECT_EQ(sums.executor->plan().ring_bytes(0), 2 * 2 * StreamedSums::kNumbers * 4);
    EXPECT_EQ(sums.executor->plan().weight_bytes(0), kStages * 2 * StreamedSums::kNumbers * 4);
    uint64_t before = 0;
    for (int pass = 0; pass < 4; ++pass) {
        EXPECT_EQ(sums.run(static_cast<float>(pass)), Code::ok);
        sums.port->drain();
        // The input; what stays and both places of the next pass with the first one, both of the pass after with each.
        EXPECT_EQ(device.copies_up - before, 1 + kStages + (pass == 0 ? kStages * 2 + 2 : 0)) << pass;
        before = device.copies_up;
    }
    EXPECT_EQ(device.violations, 0U);
}

TEST(Streamed, WithoutPinnedMemoryWeightsAreCopiedOneByOneFromWhereTheyLie) {
    constexpr uint32_t kStages = 5;
    mock::Device device({.copy_queues = 2});
    device.no_pinned = true;
    StreamedSums sums(device, kStages);
    EXPECT_EQ(sums.run(1), Code::ok);
    sums.port->drain();
    const uint64_t before = device.copies_up;
    EXPECT_EQ(sums.run(2), Code::ok);
    sums.port->drain();
    EXPECT_EQ(device.copies_up - before, 1 + 2 * kStages);
    EXPECT_EQ(device.violations, 0U);
}

TEST(Streamed, WhatTheRingHoldsIsNotCopiedAgain) {
    mock::Device device({.copy_queues = 2});
    StreamedSums sums(device, 2);
    EXPECT_EQ(sums.run(1), Code::ok);
    const uint64_t before = sums.port->moved().up;
    for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(sums.run(static_cast<float>(pass)), Code::ok);
    EXPECT_EQ(sums.port->moved().up - before, 3 * StreamedSums::kNumbers * 4) << "the inputs alone";
}

TEST(Streamed, APassThatIsCancelledAnywhereLeavesNothingWrongInTheRing) {
    constexpr uint32_t kStages = 5;
    for (uint32_t after = 0; after < kStages; ++after) {
        mock::Device device({.copy_queues = 2});
        StreamedSums sums(device, kStages, 200);
        EXPECT_EQ(sums.run(1), Code::ok);
        sums.cancel_after = after;
        EXPECT_EQ(sums.run(2), Code::cancelled) << after;
        sums.cancel_after = UINT32_MAX;
        sums.cancel = 0;
        for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(sums.run(static_cast<float>(pass)), Code::ok) << after;
        EXPECT_EQ(device.violations, 0U);
    }
}

// ---- passes behind each other ----

TEST(StreamedPasses, TheNextIsHandedOverBeforeTheFirstBeginsAndHasItsMemory) {
    mock::Device device({.copy_queues = 2});
    StreamedSums sums(device, 5);
    EXPECT_EQ(sums.run(0), Code::ok);
    const int allocations = device.allocations;
    test::Door door;
    sums.door = &door;
    const auto first = sums.submit(1), second = sums.submit(2);
    EXPECT_FALSE(first->event.done());
    door.open();
    EXPECT_EQ(sums.end(*second), Code::ok) << "in any order";
    EXPECT_EQ(sums.end(*first), Code::ok);
    EXPECT_EQ(device.allocations, allocations);
    EXPECT_LE(device.peak, sums.executor->plan().bytes_on(0));
    EXPECT_EQ(device.violations, 0U);
}

TEST(StreamedPasses, ManyAreRightInOneFrameAndCopyNoMoreThanOneByOne) {
    constexpr uint32_t kStages = 5;
    constexpr int kPasses = 40;
    mock::Device device({.copy_queues = 2, .bytes_per_us = 2000});
    StreamedSums sums(device, kStages, 50);
    EXPECT_EQ(sums.run(0), Code::ok);
    sums.port->drain();
    const uint64_t copies = device.copies_up;
    const int allocations = device.allocations;
    std::vector<std::unique_ptr<StreamedSums::Pass>> all;
    for (int k = 0; k < kPasses; ++k) {
        all.push_back(sums.submit(static_cast<float>(k)));
        if (k % 3 == 2) {
            EXPECT_EQ(sums.end(*all[k - 1]), Code::ok);
        }
        if (k % 7 == 6) {
            EXPECT_EQ(sums.run(static_cast<float>(k)), Code::ok) << "a run behind what was submitted";
        }
    }
    for (const auto& pass : all) EXPECT_EQ(sums.end(*pass), Code::ok);
    sums.port->drain();
    constexpr int kRuns = kPasses + kPasses / 7;
    EXPECT_EQ(device.copies_up - copies, kRuns * (1 + kStages));
    EXPECT_EQ(device.allocations, allocations);
    EXPECT_EQ(device.violations, 0U);
}

TEST(StreamedPasses, OneThatIsCancelledLeavesTheOthersAsTheyAre) {
    for (const int which : {0, 1}) {
        mock::Device device({.copy_queues = 2});
        StreamedSums sums(device, 5);
        EXPECT_EQ(sums.run(0), Code::ok);
        test::Door door;
        sums.door = &door;
        const auto first = sums.submit(1), second = sums.submit(2);
        (which == 0 ? first : second)->cancel = 1;
        door.open();
        EXPECT_EQ(sums.end(*first), which == 0 ? Code::cancelled : Code::ok);
        EXPECT_EQ(sums.end(*second), which == 1 ? Code::cancelled : Code::ok);
        for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(sums.run(static_cast<float>(pass)), Code::ok);
        EXPECT_EQ(device.violations, 0U);
    }
}

TEST(StreamedPasses, WhatALostDeviceWasDoingAnotherDoesWhateverWasUnderWay) {
    constexpr int kStages = 4;
    for (int lost_after = 0; lost_after <= 3 * kStages; ++lost_after) {
        mock::Device first({.name = "a", .copy_queues = 2}), second({.name = "b", .copy_queues = 2});
        first.lose_after_runs = lost_after;
        StreamedSums sums(first, kStages, 20, &second);
        for (int round = 0; round < 3; ++round) {
            const auto one = sums.submit(1), two = sums.submit(2);
            EXPECT_EQ(sums.end(*one), Code::ok) << lost_after << ", round " << round;
            EXPECT_EQ(sums.end(*two), Code::ok) << lost_after << ", round " << round;
        }
        EXPECT_EQ(first.violations + second.violations, 0U);
    }
}

TEST(StreamedPasses, OneThatTheDeviceIsLostWithSaysSoAndSoDoesTheOther) {
    mock::Device device({.copy_queues = 2});
    StreamedSums sums(device, 4);
    EXPECT_EQ(sums.run(0), Code::ok);
    test::Door door;
    sums.door = &door;
    const auto first = sums.submit(1), second = sums.submit(2);
    device.lose();
    door.open();
    EXPECT_EQ(sums.end(*first), Code::device_lost);
    EXPECT_EQ(sums.end(*second), Code::device_lost);
}

TEST(StreamedPasses, MemoryThatGoesForOthersComesAgain) {
    mock::Device device({.copy_queues = 2});
    StreamedSums sums(device, 5);
    for (int round = 0; round < 3; ++round) {
        const auto first = sums.submit(1), second = sums.submit(2);
        sums.executor->let_go();
        EXPECT_TRUE(first->event.done());
        EXPECT_EQ(sums.end(*first), Code::ok);
        EXPECT_EQ(sums.end(*second), Code::ok);
        EXPECT_EQ(sums.port->held(), 0U);
    }
    EXPECT_EQ(device.violations, 0U);
}

}  // namespace
}  // namespace backplane::plan
