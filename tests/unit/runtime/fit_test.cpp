// What fits, said before anything is read, and whether that is what is then done.
#include "backplane/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backplane/ops.hpp"
#include "base/json.hpp"
#include "support/modules_of_the_build.hpp"
#include "turning_network.hpp"

namespace backplane {
namespace {

using base::Json;

// Dense blocks in blocks in a block, as Real-ESRGAN's: much more of what is made in one place is read in another than parts of it hold at a time.
Graph dense_network() {
    constexpr int64_t kSide = 64, kWide = 64, kMore = 32;
    Graph g;
    int weights = 0;
    const auto conv = [&](TensorId x, int64_t from, int64_t to) {
        const std::string name = "w " + std::to_string(weights++);
        return ops::conv(g, x, g.weight(name, DType::f32, {to, from, 3, 3}), g.weight(name + ".b", DType::f32, {to}),
                         {.pads = {1, 1, 1, 1}});
    };
    const TensorId first = conv(g.input("x", DType::f32, {1, 3, kSide, kSide}), 3, kWide);
    TensorId x = first;
    for (int block = 0; block < 3; ++block) {
        const TensorId begin = x;
        for (int dense = 0; dense < 3; ++dense) {
            TensorId all = x;
            int64_t wide = kWide;
            for (int k = 0; k < 4; ++k, wide += kMore)
                all = ops::concat(g, {all, ops::relu(g, conv(all, wide, kMore))}, {.axis = 1});
            x = ops::add(g, x, ops::abs(g, conv(all, wide, kWide)));
        }
        x = ops::add(g, begin, ops::abs(g, x));
    }
    g.output(conv(ops::add(g, conv(x, kWide, kWide), first), kWide, 12), "y");
    return g;
}

// Products, a gate of their halves, a mask, and a convolution along frames of channels that come last, as a Conformer's.
Graph gated_network() {
    constexpr int64_t kFrames = 32, kWide = 128, kTaps = 9;
    Graph g;
    TensorId x = g.input("x", DType::f16, {1, kFrames, kWide});
    const TensorId valid = g.input("valid", DType::f16, {1, kFrames, 1});
    for (int layer = 0; layer < 8; ++layer) {
        const std::string name = "w " + std::to_string(layer);
        const std::vector<TensorId> halves =
            ops::split(g, ops::matmul(g, x, g.weight(name + ".in", DType::f16, {kWide, 2 * kWide})),
                       {.axis = 2, .sizes = {kWide, kWide}});
        TensorId y = ops::mul(g, halves[0], ops::sigmoid(g, halves[1]));
        if (layer % 2 == 0) y = ops::mul(g, y, valid);
        y = ops::transpose(g, ops::reshape(g, y, {.shape = {1, kFrames, 1, kWide}}), {.perm = {0, 3, 1, 2}});
        y = ops::conv(g, y, g.weight(name + ".taps", DType::f16, {kWide, 1, kTaps, 1}), TensorId{},
                      {.pads = {kTaps / 2, 0, kTaps / 2, 0}, .group = kWide});
        y = ops::reshape(g, ops::transpose(g, y, {.perm = {0, 2, 3, 1}}), {.shape = {1, kFrames, kWide}});
        x = ops::add(g, ops::matmul(g, y, g.weight(name + ".out", DType::f16, {kWide, kWide})), x);
    }
    g.output(x, "y");
    return g;
}

// Convolutions of a large map with few weights, then layers with nearly all of them and little work, as a network for sound or pictures begins.
Graph network_with_a_front() {
    constexpr int64_t kSide = 128, kChannels = 8, kWide = 128, kInner = 512;
    Graph g;
    TensorId x = g.input("x", DType::f32, {1, kChannels, kSide, kSide});
    for (int k = 0; k < 4; ++k) {
        const int64_t step = k == 3 ? 16 : 1;
        x = ops::relu(g, ops::conv(g, x, g.weight("front " + std::to_string(k), DType::f32, {kChannels, kChannels, 3, 3}),
                                   TensorId{}, {.strides = {step, step}, .pads = {1, 1, 1, 1}}));
    }
    x = ops::reshape(g, x, {.shape = {4, kWide}});
    for (int layer = 0; layer < 16; ++layer) {
        const std::string name = "w " + std::to_string(layer);
        const TensorId inner = ops::relu(g, ops::matmul(g, x, g.weight(name + ".in", DType::f32, {kWide, kInner})));
        x = ops::add(g, ops::matmul(g, inner, g.weight(name + ".out", DType::f32, {kInner, kWide})), x);
    }
    g.output(x, "y");
    return g;
}

class FitOn : public testing::TestWithParam<std::string> {
protected:
    std::vector<Fit> ways(uint64_t memory, Streaming streaming = Streaming::automatic) const {
        FitOptions options;
        options.streaming = streaming;
        options.memory[device_.info().id] = memory;
        return fits({device_}, graph_, options);
    }
    const Context context_{test::modules_of_the_build()};
    const Device device_ = context_.choose(GetParam());
    test::TurningNetwork network_;
    const Graph& graph_ = network_.graph;
};

TEST_P(FitOn, NothingFitsIntoNothingAndTheSentenceSaysWhatWould) {
    const std::vector<Fit> none = ways(1);
    ASSERT_EQ(none.size(), 2U);
    EXPECT_EQ(best_fit(none), nullptr);
    const std::string text = what_would_fit(none);
    EXPECT_NE(text.find("needs 6."), std::string::npos) << text;
    EXPECT_NE(text.find(" MiB on " + GetParam() + ", 1 B are free"), std::string::npos) << text;
    EXPECT_NE(text.find("streamed there "), std::string::npos) << text;
    EXPECT_LT(none[1].needs, none[0].needs / 2);
    // What it says would do, does.
    const std::vector<Fit> least = ways(none[1].needs);
    EXPECT_NE(best_fit(least), nullptr) << what_would_fit(least);
}

TEST_P(FitOn, TheFirstBudgetThatHoldsAllWeightsHoldsThemAndOneByteLessStreams) {
    const uint64_t needs = ways(uint64_t{1} << 40)[0].needs;
    const std::vector<Fit> all = ways(needs);
    ASSERT_NE(best_fit(all), nullptr);
    EXPECT_FALSE(best_fit(all)->streamed);
    EXPECT_EQ(best_fit(all, Streaming::always), &all[1]);
    const std::vector<Fit> less = ways(needs - 1);
    ASSERT_NE(best_fit(less), nullptr) << what_would_fit(less);
    EXPECT_TRUE(best_fit(less)->streamed);
    EXPECT_EQ(best_fit(ways(needs - 1, Streaming::never)), nullptr);
    EXPECT_EQ(ways(needs, Streaming::never).size(), 1U);
}

TEST_P(FitOn, WhatIsPlannedForABudgetIsWhatASessionDoesAndHolds) {
    const uint64_t needs = ways(uint64_t{1} << 40)[0].needs;
    const uint64_t before = ledger(device_).held;
    for (const uint64_t percent : {90, 75, 50, 40}) {
        const std::vector<Fit> planned = ways(needs * percent / 100);
        const Fit* way = best_fit(planned);
        ASSERT_NE(way, nullptr) << percent << ": " << what_would_fit(planned);
        ASSERT_TRUE(way->streamed);
        EXPECT_LE(way->needs, needs * percent / 100);
        EXPECT_GE(way->weights + way->ring, (needs * percent / 100 - way->state - way->values - way->workspace) * 7 / 10)
            << percent << ": what there is, is used";
        SessionOptions options;
        options.budget = way->budget;
        Session session({device_}, graph_, Weights(network_.source()), options);
        EXPECT_EQ(session.plan_json(), way->plan_json);
        for (int pass = 0; pass < 3; ++pass) test::TurningNetwork::run(session, static_cast<float>(pass + 1));
        const uint64_t held = ledger(device_).held - before;
        EXPECT_LE(held, way->budget);
        if (GetParam() == "reference:0") continue;  // it computes in any memory where it lies
        EXPECT_NEAR(static_cast<double>(held), static_cast<double>(way->needs), 0.02 * static_cast<double>(way->needs))
            << percent;
    }
    EXPECT_EQ(ledger(device_).held, before);
}

TEST_P(FitOn, WhatStaysIsSpreadAmongWhatIsStreamed) {
    const std::vector<Fit> whole = ways(uint64_t{1} << 40);
    const uint64_t needs = whole[0].needs, layer = whole[0].weights / test::TurningNetwork::kLayers;
    for (const uint64_t percent : {85, 75, 60, 50}) {
        const std::vector<Fit> planned = ways(needs * percent / 100);
        const Fit* way = best_fit(planned);
        ASSERT_NE(way, nullptr) << percent << ": " << what_would_fit(planned);
        const Json plan = Json::parse(way->plan_json);
        double resident = 0, streamed = 0;
        for (const Json& stage : plan["stages"]) {
            resident += stage["weights_resident"].get<double>();
            streamed += stage["weights_streamed"].get<double>();
        }
        ASSERT_GT(resident, 0) << percent;
        const double share = streamed / (resident + streamed);
        double so_far = 0, all = 0, off = 0;
        for (const Json& stage : plan["stages"]) {
            so_far += stage["weights_streamed"].get<double>();
            all += stage["weights_resident"].get<double>() + stage["weights_streamed"].get<double>();
            off = std::max(off, std::abs(so_far - share * all));
        }
        EXPECT_LE(off, 1.5 * static_cast<double>(layer)) << percent << ": " << way->plan_text;
        EXPECT_LE(way->ring, 4 * layer) << "two places of what a part streams";
    }
}

// Between the least that does and what all takes: also where the whole without its weights takes all there is, or nearly.
TEST_P(FitOn, MoreMemoryIsNeverAReasonToCopyMore) {
    const Graph dense = dense_network();
    const auto way = [&](uint64_t memory) {
        FitOptions options;
        options.streaming = Streaming::always;
        options.memory[device_.info().id] = memory;
        return fits({device_}, dense, options);
    };
    const std::vector<Fit> none = way(1);
    const uint64_t least = none[1].needs, needs = none[0].needs, beside = needs - none[0].weights;
    std::vector<uint64_t> budgets{beside - beside / 100, beside, beside + 1, beside + beside / 100};
    for (int k = 0; k < 8; ++k) budgets.push_back(least + (needs - least) / 8 * k);
    std::sort(budgets.begin(), budgets.end());
    uint64_t moved = UINT64_MAX;
    for (const uint64_t budget : budgets) {
        if (budget < least) continue;
        const Fit streamed = way(budget)[1];
        EXPECT_TRUE(streamed.fits) << budget << ": " << streamed.problem;
        EXPECT_LE(streamed.needs, budget);
        EXPECT_LE(streamed.moved, moved) << budget << " bytes of " << needs << ", " << beside << " beside weights";
        EXPECT_EQ(streamed.budget, budget) << "what there is, not the least that does";
        moved = streamed.moved;
    }
}

// Devices do both in one kernel, in float32: a part that began between them would begin with what was rounded to halves.
TEST_P(FitOn, NoPartBeginsBetweenAGateOrAMaskAndTheConvolutionBehindIt) {
    const Graph gated = gated_network();
    FitOptions options;
    options.streaming = Streaming::always;
    options.memory[device_.info().id] = 1;
    const std::vector<Fit> none = fits({device_}, gated, options);
    const uint64_t least = none[1].needs, needs = none[0].needs;
    size_t most_parts = 0;
    for (int k = 0; k < 8; ++k) {
        options.memory[device_.info().id] = least + (needs - least) / 8 * k;
        const Fit streamed = fits({device_}, gated, options)[1];
        ASSERT_TRUE(streamed.fits) << streamed.problem;
        const Json plan = Json::parse(streamed.plan_json);
        most_parts = std::max(most_parts, plan["stages"].size());
        for (const Json& stage : plan["stages"]) {
            const auto ops = stage["ops"].get<std::string>();
            EXPECT_EQ(ops.find("Conv") != std::string::npos, ops.find("Sigmoid") != std::string::npos)
                << "a gate and its convolution are apart: " << streamed.plan_text;
        }
    }
    EXPECT_GT(most_parts, 2U);
}

// While it is at work the bus fills both places of the ring; behind it parts are alike, and one program does for all of them.
TEST_P(FitOn, MuchWorkWithFewWeightsIsAPartOfItsOwnThatStreamsNothing) {
    const Graph graph = network_with_a_front();
    FitOptions options;
    options.memory[device_.info().id] = uint64_t{1} << 40;
    const Fit whole = fits({device_}, graph, options).front();
    for (const uint64_t percent : {75, 50, 25}) {
        SCOPED_TRACE(percent);
        options.streaming = Streaming::always;
        options.memory[device_.info().id] = whole.needs - whole.weights * (100 - percent) / 100;
        const Fit streamed = fits({device_}, graph, options)[1];
        ASSERT_TRUE(streamed.fits) << streamed.problem;
        const Json plan = Json::parse(streamed.plan_json);
        const Json& stages = plan["stages"];
        ASSERT_GT(stages.size(), 4U) << streamed.plan_text;
        EXPECT_NE(stages[0]["ops"].get<std::string>().find("Conv"), std::string::npos);
        EXPECT_EQ(stages[0]["ops"].get<std::string>().find("MatMul"), std::string::npos) << streamed.plan_text;
        EXPECT_EQ(stages[0]["weights_streamed"], 0) << streamed.plan_text;
        size_t streaming = 0;
        for (size_t i = 1; i < stages.size(); ++i) streaming += stages[i]["weights_streamed"].get<double>() > 0 ? 1 : 0;
        EXPECT_GT(streaming, 4U) << streamed.plan_text;
    }
}

TEST_P(FitOn, PlanningTakesNoMemoryAndReadsNoWeight) {
    const Ledger before = ledger(device_);
    EXPECT_FALSE(ways(3 << 20).empty());
    EXPECT_EQ(ledger(device_).held, before.held);
}

TEST_P(FitOn, OfTwoDevicesTheFirstIsTakenWhereItHasRoomElseTheOneThatHas) {
    FitOptions options;
    options.memory[GetParam()] = 1;
    const Device cpu = context_.choose("cpu");
    if (cpu == device_) return;
    std::vector<Fit> two = fits({device_, cpu}, graph_, options);
    ASSERT_NE(best_fit(two), nullptr) << what_would_fit(two);
    EXPECT_EQ(best_fit(two)->device, cpu.info().id);
    EXPECT_NE(what_would_fit(two).find("on cpu:0, which is there"), std::string::npos) << what_would_fit(two);
    EXPECT_THROW(static_cast<void>(fits({}, graph_)), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, FitOn, testing::ValuesIn(test::devices_of_the_build()), test::NameOfDevice());

}  // namespace
}  // namespace backplane
