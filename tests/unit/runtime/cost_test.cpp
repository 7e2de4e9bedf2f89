// What work costs: curves, predictions that learn, and where a component is placed by them. No time is asserted: devices whose costs are told stand for
// measured ones.
#include <cmath>
#include <limits>

#include "runtime/costs/learnt.hpp"
#include "runtime/costs/times.hpp"
#include "runtime/costs/work.hpp"
#include "told_costs.hpp"

namespace backplane {
namespace {

using test::Costs;
using test::product_of;

TEST_F(Costs, ACurveIsFixedCostAtNothingStraightBetweenPointsAndItsLastRateBeyond) {
    const CostCurve curve{{{100, 3}, {200, 5}, {400, 6}}};
    EXPECT_TRUE(curve.valid());
    EXPECT_DOUBLE_EQ(curve.fixed(), 1);
    EXPECT_DOUBLE_EQ(curve.seconds(0), 1);
    EXPECT_DOUBLE_EQ(curve.seconds(150), 4);
    EXPECT_DOUBLE_EQ(curve.seconds(300), 5.5);
    EXPECT_DOUBLE_EQ(curve.seconds(800), 12);
    EXPECT_EQ(CostCurve{}.seconds(5), 0);
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    for (const CostCurve& bad : {CostCurve{{{0, 1}}}, CostCurve{{{2, 1}, {1, 2}}}, CostCurve{{{1, 0}}}, CostCurve{{{1, -1}}},
                                 CostCurve{{{nan, 1}}}, CostCurve{{{1, nan}}}, CostCurve{{{1, infinity}}}})
        EXPECT_FALSE(bad.valid());
}

TEST_F(Costs, APredictionAddsUpTheOpsAndLearnsFromRuns) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    const Fit way = fits({cpu}, network_.graph).front();
    EXPECT_FALSE(CostModel(here).predict(cpu, network_.graph, way).known);
    remember(cpu, told(1e9, 1e12));
    CostModel costs(here);
    const Prediction plain = costs.predict(cpu, network_.graph, way);
    ASSERT_TRUE(plain.known);
    constexpr double kOperations =
        2.0 * 4 * test::TurningNetwork::kWidth * test::TurningNetwork::kWidth * test::TurningNetwork::kLayers;
    EXPECT_NEAR(plain.ops, kOperations / 1e9, 1e-3);
    EXPECT_EQ(plain.learnt, 1);
    costs.learn(cpu, network_.graph, way, 2 * plain.seconds);
    EXPECT_NEAR(costs.predict(cpu, network_.graph, way).seconds, 2 * plain.seconds, 1e-9);
    EXPECT_NEAR(CostModel(here).predict(cpu, network_.graph, way).seconds, 2 * plain.seconds, 1e-9) << "it is remembered";
    for (const auto& [taken, predicted] : {std::pair(5, 2), {4, 4}, {3, 4}, {3, 3}}) {
        costs.learn(cpu, network_.graph, way, taken * plain.seconds);
        EXPECT_NEAR(costs.predict(cpu, network_.graph, way).seconds, predicted * plain.seconds, 1e-9)
            << "of two the shorter, of three the median, and no more than three";
    }
    costs.learn(cpu, network_.graph, way, 1e9 * plain.seconds);
    EXPECT_NEAR(costs.predict(cpu, network_.graph, way).learnt, 3, 1e-9) << "a machine that slept teaches nothing";
    test::TurningNetwork other;
    other.graph.output(other.graph.add(Op::relu, {other.graph.with_role(Role::output)[0]}), "z");
    EXPECT_EQ(costs.predict(cpu, other.graph, fits({cpu}, other.graph).front()).learnt, 1) << "of this network alone";
}

// Products, and what is read beside them, of so many rows.
Graph network_of_rows(int64_t rows) {
    Graph graph;
    TensorId x = graph.input("x", DType::f32, {rows, 256});
    for (int k = 0; k < 6; ++k) {
        x = graph.add(Op::matmul, {x, graph.weight("w" + std::to_string(k), DType::f32, {256, 256})});
        x = graph.add(Op::softmax, {x});
    }
    graph.output(x, "y");
    return graph;
}

// A device whose figures are off by two, each kind for itself and either way: what one of a kind of op, its copies or its runs are said to cost.
TEST_F(Costs, FiguresThatAreOffByTwoAreMadeGoodByOneOrTwoRunsOfANetwork) {
    constexpr double kWrong[] = {0.5, 1, 2};
    const DeviceCosts truth = told(1e11, 1e10);
    const auto taken = [&](int64_t rows) { return runtime::predicted(truth, network_of_rows(rows), {}).seconds; };
    double worst_alone = 0, worst_after_two = 0;
    for (const double products : kWrong)
        for (const double moves : kWrong)
            for (const double runs : kWrong) {
                DeviceCosts said = truth;
                for (CostCurve::Point& point : said.ops["product f32"].points) point.seconds *= products;
                for (CostCurve::Point& point : said.ops["element-wise f32"].points) point.seconds *= moves;
                said.run *= runs;
                const auto by_ops = [&](int64_t rows) {
                    return runtime::predicted(said, network_of_rows(rows), {}).seconds;
                };
                const auto off = [&](const runtime::Learnt& learnt, int64_t rows) {
                    return std::abs(by_ops(rows) * learnt.ratio(by_ops(rows)) / taken(rows) - 1);
                };
                runtime::Learnt learnt;
                for (const int64_t rows : {16, 64, 256, 1024}) worst_alone = std::max(worst_alone, off(learnt, rows));
                learnt.add(by_ops(64), 2 * taken(64));  // beside something else
                learnt.add(by_ops(64), taken(64));
                EXPECT_LT(off(learnt, 64), 1e-9) << "the very size, after two";
                EXPECT_LT(off(learnt, 96), 0.2);
                learnt.add(by_ops(256), taken(256));
                for (const int64_t rows : {96, 128, 192, 512, 1024})
                    worst_after_two = std::max(worst_after_two, off(learnt, rows));
            }
    EXPECT_GT(worst_alone, 0.4);
    EXPECT_LT(worst_after_two, 0.2);
}

// One point of a curve is twice too long: it was measured beside something else.
TEST_F(Costs, OnePointOfACurveThatIsOffIsMadeGoodBetweenTwoSizesThatRan) {
    DeviceCosts truth = told(1e11, 1e10);
    for (const double work : {1e5, 1e6, 1e7, 1e8, 1e9}) {
        if (work == 1e5) truth.ops["product f32"].points.clear();
        truth.ops["product f32"].points.push_back({work, work / 1e11 + 1e-6});
    }
    for (size_t bad = 0; bad < 5; ++bad) {
        DeviceCosts said = truth;
        said.ops["product f32"].points[bad].seconds *= 2;
        runtime::Learnt learnt;
        const auto by_ops = [&](int64_t rows) { return runtime::predicted(said, network_of_rows(rows), {}).seconds; };
        const auto taken = [&](int64_t rows) { return runtime::predicted(truth, network_of_rows(rows), {}).seconds; };
        for (const int64_t rows : {64, 256}) learnt.add(by_ops(rows), taken(rows));
        for (const int64_t rows : {64, 96, 128, 192, 256})
            EXPECT_NEAR(by_ops(rows) * learnt.ratio(by_ops(rows)) / taken(rows), 1, 0.2) << bad << " " << rows;
    }
}

TEST_F(Costs, WhatWasLearntIsBoundedAndWhatIsWrittenThereIsLookedAt) {
    runtime::Learnt learnt;
    for (int k = 1; k < 100; ++k) learnt.add(k, 2 * k);
    EXPECT_EQ(learnt.sizes().size(), runtime::Learnt::kMostSizes);
    EXPECT_TRUE(learnt.valid());
    for (const double predicted : {0.001, 1.0, 95.5, 1e6}) EXPECT_NEAR(learnt.ratio(predicted), 2, 1e-9) << predicted;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const std::vector<double>& taken : {std::vector<double>{}, {0}, {-1}, {nan}, {1e9}, {1, 1, 1, 1}})
        EXPECT_FALSE(runtime::Learnt({{1, taken}}).valid());
    // Whatever runs took, more work is never said to take no time, and less work no more than more of it.
    for (const double last : {0.01, 1.0, 30.0})
        for (const double predicted : {0.001, 0.5, 1.5, 3.0, 100.0}) {
            const double seconds = predicted * runtime::Learnt({{1, {1}}, {2, {last}}}).ratio(predicted);
            EXPECT_GT(seconds, 0) << last << " " << predicted;
            EXPECT_LE(seconds, std::max(1.0, last) * std::max(1.0, predicted)) << last << " " << predicted;
        }
}

// A decoder's step: what is cached is read, whose rows it replaces is not.
TEST_F(Costs, AStepOfADecoderCostsTheReadingOfWhatIsCachedAndNoCopyOfIt) {
    constexpr int64_t kHeads = 8, kHead = 64, kCached = 512;
    Graph graph;
    const TensorId query = graph.input("query", DType::f32, {1, kHeads, 1, kHead});
    const TensorId position = graph.input("position", DType::i64, {1});
    const TensorId state = graph.state("keys", DType::f32, {1, kHeads, kCached, kHead});
    const TensorId keys = graph.add(Op::tensor_scatter, {state, query, position}, {{Attr::axis, 2}});
    graph.update(state, keys);
    graph.output(graph.add(Op::attention, {query, keys, keys}), "y");
    const std::vector<runtime::Work> work = runtime::work_of_nodes(graph);
    ASSERT_EQ(work.size(), 2U);
    constexpr double kRow = 4.0 * kHeads * kHead;  // bytes of one query
    EXPECT_EQ(work[0].kind, "move f32");
    EXPECT_DOUBLE_EQ(work[0].amount, 2 * kRow);
    EXPECT_EQ(work[1].kind, "query f32");
    EXPECT_DOUBLE_EQ(work[1].amount, 2 * kRow + 2 * kCached * kRow);
    EXPECT_FALSE(DeviceCosts::is_by_operations(work[1].kind));
}

TEST_F(Costs, StreamedWeightsCrossUnderTheWorkOrTheWorkUnderThem) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    FitOptions how;
    how.streaming = Streaming::always;
    const std::vector<Fit> ways = fits({cpu}, network_.graph, how);
    const Fit* way = best_fit(ways, Streaming::always);
    ASSERT_NE(way, nullptr);
    DeviceCosts slow_bus = told(1e12, 1e12), slow_work = told(1e6, 1e12);
    slow_bus.streamed = CostCurve{{{1e6, 1}}};
    const Prediction bus = runtime::predicted(slow_bus, network_.graph, *way);
    EXPECT_GE(bus.seconds, bus.copies);
    EXPECT_LT(bus.seconds, bus.copies + bus.ops + 1e-3);
    const Prediction work = runtime::predicted(slow_work, network_.graph, *way);
    EXPECT_NEAR(work.seconds, work.ops, 1e-3 * work.ops);
}

// Two devices of told speed, and how much memory each has of what the network needs.
class Places : public Costs {
protected:
    std::optional<Placement> place(std::array<double, 2> speed, std::array<double, 2> share, int64_t batches) {
        const Context here = context();
        const Device cpu = here.choose("cpu"), reference = here.choose("reference");
        remember(cpu, told(speed[0], 1e12));
        remember(reference, told(speed[1], 1e12));
        const uint64_t needs = fits({cpu}, network_.graph).front().needs;
        std::vector<std::vector<Fit>> ways;
        for (size_t i = 0; i < 2; ++i) {
            FitOptions how;
            how.streaming = Streaming::never;
            const Device& device = i == 0 ? cpu : reference;
            how.memory[device.info().id] = static_cast<uint64_t>(static_cast<double>(needs) * share[i]);
            ways.push_back(fits({device}, network_.graph, how));
        }
        const CostModel costs(here);
        alone_ = 1e9;
        for (size_t i = 0; i < 2; ++i)
            if (ways[i][0].fits)
                alone_ = std::min(alone_, static_cast<double>(batches) *
                                              costs.predict(i == 0 ? cpu : reference, network_.graph, ways[i][0]).seconds);
        return costs.place({cpu, reference}, network_.graph, ways, batches);
    }
    double alone_ = 0;  // seconds, of the best of them
};

TEST_F(Places, OneBatchIsOnTheFasterDeviceAndManyAreCutBySpeed) {
    const auto one = place({1e9, 3e8}, {2, 2}, 1);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->devices, std::vector<uint32_t>{0});
    const auto other = place({1e8, 3e8}, {2, 2}, 1);
    EXPECT_EQ(other->devices, std::vector<uint32_t>{1});
    const auto many = place({1e9, 3e8}, {2, 2}, 64);
    ASSERT_EQ(many->devices.size(), 2U) << many->text;
    const double fast = many->shares[many->devices[0] == 0 ? 0 : 1];
    EXPECT_NEAR(fast, 10.0 / 13, 0.08) << many->text;
    EXPECT_LT(many->seconds, alone_);
    ASSERT_EQ(many->by_part.size(), 2U) << "each part has a time of its own, and it is said";
    const auto [least, most] = std::minmax(many->by_part[0], many->by_part[1]);
    EXPECT_NEAR(many->seconds, least + 64 * most, 1e-9);
    EXPECT_NE(many->text.find(" ms), to "), std::string::npos) << many->text;
}

TEST_F(Places, WhatHasNoRoomOnAnyDeviceIsCutSoThatEachPartHas) {
    const auto two = place({1e9, 1e9}, {0.7, 0.7}, 1);
    ASSERT_TRUE(two);
    ASSERT_EQ(two->devices.size(), 2U) << two->text;
    EXPECT_LT(two->shares[0], 0.75);
    EXPECT_LT(two->shares[1], 0.75);
    EXPECT_FALSE(place({1e9, 1e9}, {0.2, 0.2}, 1)) << "not even in parts";
}

TEST_F(Places, NoPlacementIsSlowerThanTheBestDeviceAlone) {
    for (const double second : {1e6, 9e8, 1e10})
        for (const double memory : {0.6, 2.0})
            for (const int64_t batches : {1, 3, 1000}) {
                const auto placed = place({1e9, second}, {2, memory}, batches);
                ASSERT_TRUE(placed);
                EXPECT_LE(placed->seconds, alone_ * 1.000001) << second << " " << memory << " " << batches;
            }
}

TEST_F(Costs, MeasuringADeviceFindsRatesAboveZeroAndCanBeCancelled) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    CostModel costs(here);
    const std::atomic<uint32_t> stop{1};
    CostOptions how;
    how.cancel = &stop;
    EXPECT_THROW(costs.measure(cpu, {}, how), Error);
    EXPECT_EQ(costs.of(cpu), nullptr);
    how.cancel = nullptr;
    how.seconds = 1;
    const DeviceCosts& found = costs.measure(cpu, {}, how);
    for (const char* kind :
         {"product f32", "convolution f32", "attention f32", "query f32", "element-wise f32", "reduction f32", "move f32"}) {
        ASSERT_TRUE(found.ops.contains(kind)) << kind;
        EXPECT_GT(found.ops.at(kind).rate(), 0) << kind;
        EXPECT_TRUE(found.ops.at(kind).valid()) << kind;
    }
    EXPECT_GT(found.run, 0);
    EXPECT_NE(CostModel(here).of(cpu), nullptr);
}

// Of a device for which there is no time at all it is known what f32 costs, by two sizes where the smaller is no long one; the rest is taken from that.
TEST_F(Costs, WithoutTimeTheLeastIsMeasuredAndStandsForTheRest) {
    const Context here = context();
    const Device cpu = here.choose("cpu");
    CostModel costs(here);
    std::vector<std::string> told;
    CostOptions how;
    how.seconds = 0;
    how.progress = [&](const std::string& what, double done) {
        EXPECT_GE(done, 0);
        EXPECT_LT(done, 1);
        told.push_back(what);
    };
    const DeviceCosts& found = costs.measure(cpu, {}, how);
    for (const auto& [kind, curve] : found.ops) {
        EXPECT_TRUE(kind.ends_with(" f32")) << kind;
        EXPECT_TRUE(curve.valid()) << kind;
        EXPECT_LE(curve.points.size(), 2U) << kind;
    }
    EXPECT_EQ(found.ops.size(), 8U);
    EXPECT_LE(found.up.points.size(), 2U);
    EXPECT_FALSE(found.up.points.empty());
    EXPECT_EQ(told.front(), "product f32");
    EXPECT_EQ(told.back(), "streamed weights");
    Graph half;
    const TensorId x = half.input("x", DType::f16, {64, 512});
    half.output(half.add(Op::matmul, {x, half.weight("w", DType::f16, {512, 512})}), "y");
    EXPECT_GT(predict(found, half, fits({cpu}, half).front()).ops, 0) << "as in f32";
}

}  // namespace
}  // namespace backplane
