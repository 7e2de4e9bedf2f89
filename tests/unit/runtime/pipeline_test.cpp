// The layers of a graph over several devices: two that compute in the same way give what one gives, to the bit, however many passes are under
// way and whichever device goes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <map>

#include "backplane/pipeline.hpp"
#include "runtime/layers.hpp"
#include "runtime/part_times.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

constexpr int64_t kRows = 6, kSize = 16;
constexpr int kLayers = 8, kPasses = 9;

using Floats = std::vector<float>;
std::span<const std::byte> given(const Floats& values) { return std::as_bytes(std::span(values)); }
std::span<std::byte> room(Floats& values) { return std::as_writable_bytes(std::span(values)); }

Floats numbers(size_t count, int seed) {
    Floats all(count);
    for (size_t i = 0; i < count; ++i) all[i] = std::sin(static_cast<float>(i * 7 + static_cast<size_t>(seed) * 31)) / 2;
    return all;
}

// x = x + relu(x @ w), layer by layer. "early" is what the first layer makes, "bias" is read by the last.
Graph stack() {
    Graph g;
    TensorId x = g.input("x", DType::f32, {kRows, kSize});
    for (int layer = 0; layer < kLayers; ++layer) {
        const TensorId w = g.weight("w" + std::to_string(layer), DType::f32, {kSize, kSize});
        const TensorId product = g.add(Op::relu, {g.add(Op::matmul, {x, w})});
        x = g.add(Op::add, {x, product});
        if (layer == 0) g.output(product, "early");
    }
    g.output(g.add(Op::add, {x, g.input("bias", DType::f32, {kSize})}), "y");
    return g;
}

class Layers : public testing::Test {
protected:
    static Device cpu(const char* lose_after = nullptr) {
        ContextOptions options = test::modules_of_the_build();
        if (lose_after != nullptr) options.options["cpu.lose-after"] = lose_after;
        return Context(options).choose("cpu");
    }
    static Device reference() { return Context(test::modules_of_the_build()).choose("reference"); }
    [[nodiscard]] Weights weights() const {
        return Weights([this](std::string_view name) { return given(weights_.at(std::string(name))); });
    }
    struct Results {
        std::vector<Floats> y, early;
    };
    Results one_by_one() {
        Session session(std::vector<Device>{cpu()}, graph, weights());
        Results results;
        for (int i = 0; i < kPasses; ++i) {
            results.y.emplace_back(kRows * kSize);
            results.early.emplace_back(kRows * kSize);
            session.run({{"x", given(inputs_[i])}, {"bias", given(bias_)}},
                        {{"y", room(results.y.back())}, {"early", room(results.early.back())}});
        }
        return results;
    }
    Results pipelined(Pipeline& pipeline, size_t at_a_time) {
        Results results;
        results.y.assign(kPasses, Floats(kRows * kSize));
        results.early = results.y;
        std::deque<std::pair<size_t, Pipeline::Pass>> under_way;
        const auto finish = [&] {
            auto& [i, pass] = under_way.front();
            pipeline.finish(pass, {{"early", room(results.early[i])}, {"y", room(results.y[i])}});
            under_way.pop_front();
        };
        for (size_t i = 0; i < kPasses; ++i) {
            under_way.emplace_back(i, pipeline.start({{"x", given(inputs_[i])}, {"bias", given(bias_)}}));
            if (under_way.size() >= at_a_time) finish();
        }
        while (!under_way.empty()) finish();
        return results;
    }

    Graph graph = stack();

private:
    std::map<std::string, Floats> weights_ = [] {
        std::map<std::string, Floats> all;
        for (int layer = 0; layer < kLayers; ++layer) all["w" + std::to_string(layer)] = numbers(kSize * kSize, layer);
        return all;
    }();
    std::vector<Floats> inputs_ = [] {
        std::vector<Floats> all;
        for (int i = 0; i < kPasses; ++i) all.push_back(numbers(kRows * kSize, 100 + i));
        return all;
    }();
    Floats bias_ = numbers(kSize, 7);
};

TEST_F(Layers, OnSeveralDevicesGiveTheBitsOfOne) {
    const Results want = one_by_one();
    for (const size_t parts : {1U, 2U, 3U})
        for (const size_t at_a_time : {1U, 2U, 4U}) {
            Pipeline pipeline({cpu(), cpu(), cpu()}, parts, graph, weights());
            const Results got = pipelined(pipeline, at_a_time);
            EXPECT_EQ(got.y, want.y) << parts << " parts, " << at_a_time << " passes at a time";
            EXPECT_EQ(got.early, want.early);
            EXPECT_EQ(pipeline.parts(), parts);
            EXPECT_EQ(pipeline.times().size(), parts == 1 ? 0U : parts);
            EXPECT_EQ(pipeline.part_of("x"), 0U);
            EXPECT_EQ(pipeline.part_of("bias"), parts - 1);
            uint64_t nodes = 0;
            for (const StageRuns& runs : pipeline.runs()) {
                EXPECT_EQ(runs.runs, kPasses);
                EXPECT_LE(runs.nodes, graph.nodes().size() / parts + 3) << "the parts are even";
                nodes += runs.nodes;
            }
            EXPECT_EQ(nodes, graph.nodes().size());
            EXPECT_TRUE(pipeline.notes().empty()) << pipeline.notes().front();
        }
}

// A device's parts of several passes come in groups, whether or not a group is complete.
TEST_F(Layers, InRoundsGiveTheBitsOfOne) {
    const Results want = one_by_one();
    for (const size_t devices : {2U, 3U})
        for (const size_t rounds : {2U, 3U})
            for (const size_t at_a_time : {1U, 2U, 3U, 5U}) {
                SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(rounds) + " rounds, " +
                             std::to_string(at_a_time) + " passes at a time");
                SessionOptions options;
                options.rounds = static_cast<uint32_t>(rounds);
                Pipeline pipeline({cpu(), cpu(), cpu()}, devices, graph, weights(), options);
                EXPECT_EQ(pipeline.parts(), devices * rounds);
                EXPECT_EQ(pipeline.times().size(), devices * rounds);
                for (int again = 0; again < 2; ++again) {
                    const Results got = pipelined(pipeline, at_a_time);
                    EXPECT_EQ(got.y, want.y);
                    EXPECT_EQ(got.early, want.early);
                }
                for (const StageRuns& runs : pipeline.runs()) EXPECT_EQ(runs.runs, 2 * kPasses);
            }
    SessionOptions options;
    options.rounds = 2;
    Pipeline pipeline({cpu(), cpu()}, 2, graph, weights(), options);
    const Floats x = numbers(kRows * kSize, 1), bias = numbers(kSize, 2);
    { const Pipeline::Pass left = pipeline.start({{"x", given(x)}, {"bias", given(bias)}}); }
    const std::atomic<uint32_t> cancel{1};
    const Input inputs[] = {{"x", given(x)}, {"bias", given(bias)}};
    { const Pipeline::Pass cancelled = pipeline.start(inputs, &cancel); }
    EXPECT_EQ(pipelined(pipeline, 3).y, want.y);
}

TEST(RoundsOfAGraph, AreMoreTheMoreWorkThereIsAndNoneForLittle) {
    const auto rounds = [](int64_t rows) {
        Graph g;
        TensorId x = g.input("x", DType::f32, {rows, 4096});
        for (int k = 0; k < 16; ++k) x = g.add(Op::matmul, {x, g.weight("w" + std::to_string(k), DType::f32, {4096, 4096})});
        g.output(x, "y");
        return runtime::rounds_of(g, 2);
    };
    EXPECT_EQ(rounds(16), 1U);
    EXPECT_EQ(rounds(60000), 2U);
    EXPECT_EQ(rounds(6000000), 2U);
}

// Which passes are seen to end in which part is the scheduler's to say: so many are run as it takes.
TEST_F(Layers, AreTimedWhereTheirEndsAreSeen) {
    for (const size_t parts : {2U, 3U, 4U}) {
        SessionOptions options;
        options.rounds = parts == 4 ? 2 : 1;
        Pipeline pipeline({cpu(), cpu(), cpu()}, parts / options.rounds, graph, weights(), options);
        EXPECT_EQ(pipeline.times().size(), parts);
        size_t passes = 0;
        const auto unseen = [](const PartTime& part) { return part.passes == 0; };
        do {
            static_cast<void>(pipelined(pipeline, 2));
            passes += kPasses;
        } while (passes < 10000 && std::ranges::any_of(pipeline.times(), unseen));
        for (const PartTime& part : pipeline.times()) {
            EXPECT_EQ(part.device, "cpu:0");
            EXPECT_GE(part.passes, 1U);
            EXPECT_LE(part.passes, passes);
            EXPECT_GT(part.seconds, 0);
        }
    }
}

// A thread that comes late to see a part's end gives it the end of the part behind it, at the latest, and the time of nobody else.
TEST_F(Layers, ThatAreSeenLateAreNotTakenForSlow) {
    runtime::PartEnds late(3);
    std::array<std::atomic<runtime::PartClock::rep>, 3> last{};
    late.ended(2, last[2]);
    const auto end = late.at(2);
    late.ended(0, last[0]);
    late.ended(1, last[1]);
    EXPECT_EQ(late.at(0), end);
    EXPECT_EQ(late.at(1), end);
    EXPECT_EQ(late.at(2), end);
    runtime::PartTimes times;
    for (int part = 0; part < 3; ++part) times.add_part(cpu());
    times.add(late);
    EXPECT_EQ(times.all()[0].passes, 1U);
    EXPECT_EQ(times.all()[1].passes, 0U);
    EXPECT_EQ(times.all()[1].seconds, 0);
    EXPECT_EQ(times.all()[2].passes, 0U);
}

TEST_F(Layers, OnDevicesThatComputeInTheirOwnWayAreWithinTheBound) {
    const Results want = one_by_one();
    Pipeline pipeline({cpu(), reference()}, 2, graph, weights());
    const Results got = pipelined(pipeline, 2);
    for (size_t i = 0; i < kPasses; ++i)
        for (size_t k = 0; k < want.y[i].size(); ++k)
            EXPECT_NEAR(got.y[i][k], want.y[i][k], 1e-4F * (1 + std::abs(want.y[i][k])));
    ASSERT_EQ(pipeline.times().size(), 2U);
    EXPECT_EQ(pipeline.times()[1].device, "reference:0");
    EXPECT_NE(
        pipeline.describe().find("between the parts, a pass: " + std::to_string(kRows * kSize * sizeof(float)) + " bytes"),
        std::string::npos)
        << pipeline.describe();
}

TEST_F(Layers, OfALostDeviceAreDoneByTheOther) {
    const Results want = one_by_one();
    for (const char* after : {"1", "2", "5", "8"})
        for (const size_t lost : {0U, 1U}) {
            Pipeline pipeline({cpu(lost == 0 ? after : nullptr), cpu(lost == 1 ? after : nullptr)}, 2, graph, weights());
            const Results got = pipelined(pipeline, 3);
            EXPECT_EQ(got.y, want.y) << "device " << lost << " lost after " << after;
            EXPECT_EQ(got.early, want.early);
            EXPECT_FALSE(pipeline.notes().empty());
            for (const PartTime& part : pipeline.times()) EXPECT_LE(part.passes, size_t{kPasses});
        }
    Pipeline both({cpu("2"), cpu("3")}, 2, graph, weights());
    EXPECT_THROW(static_cast<void>(pipelined(both, 2)), Error);
}

TEST_F(Layers, OfOnePartThatAreHandedOverEarlyGiveItsBitsWhereverTheDeviceIsLost) {
    const Results want = one_by_one();
    const auto expect_same = [&](const char* lost_after, uint64_t weights_there, size_t at_a_time) {
        SessionOptions options;
        options.weight_budget = weights_there;
        Pipeline pipeline({cpu(lost_after), cpu()}, 1, graph, weights(), options);
        pipeline.hand_over_early();
        const Results got = pipelined(pipeline, at_a_time);
        EXPECT_EQ(got.y, want.y) << at_a_time << " at a time, lost after "
                                 << (lost_after != nullptr ? lost_after : "nothing");
        EXPECT_EQ(got.early, want.early);
        EXPECT_EQ(pipeline.notes().empty(), lost_after == nullptr);
        EXPECT_TRUE(pipeline.times().empty());
    };
    for (const size_t at_a_time : {1U, 2U, 4U}) {
        expect_same(nullptr, kSize * kSize * 4 * 5, at_a_time);  // weights of five layers there, the others streamed
        for (const char* lost_after : {static_cast<const char*>(nullptr), "1", "2", "5", "8"})
            expect_same(lost_after, 0, at_a_time);
    }
}

TEST_F(Layers, AreSettledWhenAllPassesAreDoneAndFinishedAfterThat) {
    const Results want = one_by_one();
    for (const size_t parts : {1U, 2U}) {
        Pipeline pipeline({cpu(), cpu()}, parts, graph, weights());
        if (parts == 1) pipeline.hand_over_early();
        pipeline.settle();
        const Floats bias = numbers(kSize, 7);
        std::vector<Floats> x;
        for (int i = 0; i < 3; ++i) x.push_back(numbers(kRows * kSize, 100 + i));
        std::vector<Pipeline::Pass> all;
        for (const Floats& one : x) all.push_back(pipeline.start({{"x", given(one)}, {"bias", given(bias)}}));
        pipeline.settle();
        for (std::vector<Floats>::size_type i = x.size(); i-- > 0;) {
            Floats y(kRows * kSize);
            pipeline.finish(all[i], {{"y", room(y)}});
            EXPECT_EQ(y, want.y[i]) << parts;
        }
        const std::atomic<uint32_t> cancel{1};
        const Input inputs[] = {{"x", given(x[0])}, {"bias", given(bias)}};
        const Pipeline::Pass cancelled = pipeline.start(inputs, &cancel);
        pipeline.settle();
    }
}

TEST_F(Layers, ResultsInTensorsAreTheCallersForAsLongAsHeHasThem) {
    const Results want = one_by_one();
    Pipeline pipeline({cpu(), cpu()}, 2, graph, weights());
    const Floats bias = numbers(kSize, 7);
    const auto run = [&](int i, Tensor& y, Tensor& early) {
        const Floats x = numbers(kRows * kSize, 100 + i);
        Pipeline::Pass pass = pipeline.start({{"x", given(x)}, {"bias", given(bias)}});
        pipeline.finish(pass, {{"y", &y}, {"early", &early}});
    };
    const auto read = [](const Tensor& tensor) {
        Floats values(kRows * kSize);
        tensor.read(room(values));
        return values;
    };
    std::vector<std::pair<Tensor, Tensor>> kept(3);
    for (int i = 0; i < 3; ++i) run(i, kept[static_cast<size_t>(i)].first, kept[static_cast<size_t>(i)].second);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(read(kept[i].first), want.y[i]) << "a later pass wrote over it";
        EXPECT_EQ(read(kept[i].second), want.early[i]);
    }
    Tensor same = kept[0].first, early;  // one that is there is written into
    run(1, same, early);
    EXPECT_EQ(read(kept[0].first), want.y[1]);
    kept.clear();
    for (int i = 0; i < kPasses; ++i) {  // and what he has let go of is used again
        Tensor y, first;
        run(i, y, first);
        EXPECT_EQ(read(y), want.y[static_cast<size_t>(i)]);
    }
}

TEST_F(Layers, APassThatIsLeftOrCancelledLeavesTheNextOnesRight) {
    const Results want = one_by_one();
    Pipeline pipeline({cpu(), cpu()}, 2, graph, weights());
    const Floats x = numbers(kRows * kSize, 1), bias = numbers(kSize, 2);
    { const Pipeline::Pass left = pipeline.start({{"x", given(x)}, {"bias", given(bias)}}); }
    const std::atomic<uint32_t> cancel{1};
    Floats y(kRows * kSize), early(kRows * kSize);
    const auto cancelled = [&] {
        const Input inputs[] = {{"x", given(x)}, {"bias", given(bias)}};
        Pipeline::Pass pass = pipeline.start(inputs, &cancel);
        pipeline.finish(pass, {{"y", room(y)}, {"early", room(early)}});
    };
    try {
        cancelled();
        ADD_FAILURE() << "it was not cancelled";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::cancelled) << error.what();
    }
    EXPECT_EQ(pipelined(pipeline, 2).y, want.y);
}

TEST_F(Layers, WhatCannotBeAPipelineIsSaid) {
    const auto code_of = [](auto&& call) {
        try {
            call();
        } catch (const Error& error) {
            return error.code();
        }
        return Code::ok;
    };
    EXPECT_EQ(code_of([&] { Pipeline({cpu()}, 2, graph, weights()); }), Code::invalid);
    EXPECT_EQ(code_of([&] { Pipeline({cpu()}, 0, graph, weights()); }), Code::invalid);
    Graph counter;
    const TensorId state = counter.state("s", DType::f32, {1});
    const TensorId next = counter.add(Op::add, {state, counter.input("x", DType::f32, {1})});
    counter.update(state, next);
    counter.output(counter.add(Op::relu, {next}), "y");
    EXPECT_EQ(code_of([&] { Pipeline({cpu(), cpu()}, 2, counter, weights()); }), Code::unsupported);
    Pipeline pipeline({cpu(), cpu()}, 2, graph, weights());
    EXPECT_EQ(code_of([&] { static_cast<void>(pipeline.part_of("z")); }), Code::not_found);
    const Floats x = numbers(kRows * kSize, 1);
    EXPECT_EQ(code_of([&] { static_cast<void>(pipeline.start({{"z", given(x)}})); }), Code::invalid);
    const Floats bias = numbers(kSize, 7);
    for (const char* after :
         {"1", "2", "3"}) {  // an input left out on the devices, and where the first is gone by way of the host
        Pipeline first_lost({cpu(after), cpu()}, 2, graph, weights());
        Floats y(kRows * kSize);
        Pipeline::Pass whole = first_lost.start({{"x", given(x)}, {"bias", given(bias)}});
        first_lost.finish(whole, {{"y", room(y)}});
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(code_of([&] {
                          Pipeline::Pass pass = first_lost.start({{"x", given(x)}});
                          first_lost.finish(pass, {{"y", room(y)}});
                      }),
                      Code::invalid);
    }
    // Outputs that are none and two of one are refused, and the pass can still be finished.
    Floats y(kRows * kSize), again(kRows * kSize);
    Pipeline::Pass pass = pipeline.start({{"x", given(x)}, {"bias", given(bias)}});
    EXPECT_EQ(code_of([&] { pipeline.finish(pass, {{"z", room(y)}}); }), Code::not_found);
    EXPECT_EQ(code_of([&] { pipeline.finish(pass, {{"y", room(y)}, {"y", room(again)}}); }), Code::invalid);
    pipeline.finish(pass, {{"y", room(y)}});
    EXPECT_NE(y, Floats(kRows * kSize));
    Pipeline::Pass none;
    EXPECT_EQ(code_of([&] { pipeline.finish(none, {}); }), Code::invalid);
}

TEST(LayersOfAGraph, AreCutWhereFewBytesCrossBetweenEqualWork) {
    // Each layer widens to eight times its rows and narrows again: the cut is between layers, and not within one.
    Graph g;
    TensorId x = g.input("x", DType::f32, {1024, 8});
    for (int layer = 0; layer < 10; ++layer) {
        const TensorId wide = g.add(Op::matmul, {x, g.weight("a" + std::to_string(layer), DType::f32, {8, 64})});
        x = g.add(Op::matmul, {g.add(Op::relu, {wide}), g.weight("b" + std::to_string(layer), DType::f32, {64, 8})});
    }
    g.output(g.add(Op::relu, {x}), "y");
    for (const size_t parts : {2U, 5U}) {
        const auto cut = runtime::layers(g, parts);
        ASSERT_EQ(cut.size(), parts);
        size_t next = 0;
        for (const auto& part : cut)
            for (const size_t node : part) EXPECT_EQ(node, next++);
        EXPECT_EQ(next, g.nodes().size());
        for (size_t p = 0; p + 1 < parts; ++p) EXPECT_EQ(cut[p].size(), 30 / parts) << "three nodes a layer";
    }
    const auto each = runtime::layers(g, g.nodes().size());
    for (const auto& part : each) EXPECT_EQ(part.size(), 1U);
}

// What stays in f32 beside f16 takes longer than its bytes say: the first device gets fewer of the ops.
TEST(CutIntoLayers, FloatsBesideHalvesAreWorthMoreAndNothingAmongFloats) {
    const auto first_of_two = [](DType rest) {
        Graph g;
        TensorId x = g.input("x", DType::f32, {1 << 20});
        for (int k = 0; k < 8; ++k) x = g.add(Op::relu, {x});
        if (rest != DType::f32) x = g.add(Op::cast, {x}, {{Attr::to, static_cast<int64_t>(rest)}});
        for (int k = 0; k < 32; ++k) x = g.add(Op::relu, {x});
        g.output(x, "y");
        return runtime::layers(g, 2).front().size();
    };
    EXPECT_EQ(first_of_two(DType::f32), 20U);
    EXPECT_EQ(first_of_two(DType::f16), 7U) << "16 by bytes alone";
}

}  // namespace
}  // namespace backplane
