// Sessions, programs, buffers and weights, on every device the build has: they are all driven the same way.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "backplane/runtime.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}
template <typename T>
std::span<std::byte> room_of(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
}

// The text and code of what `call` throws.
template <typename Call>
Error error_of(Call&& call) {
    try {
        call();
    } catch (const Error& e) {
        return e;
    }
    return Error(Code::ok, "nothing was thrown");
}

class OnDevice : public testing::TestWithParam<std::string> {
protected:
    Context context{test::modules_of_the_build()};
    Device device = context.choose(GetParam());

    // y = relu(x @ w), x [2, 3], w [3, 2]
    static Graph dense() {
        Graph g;
        const TensorId x = g.input("x", DType::f32, {2, 3});
        const TensorId w = g.weight("w", DType::f32, {3, 2});
        g.output(g.add(Op::relu, {g.add(Op::matmul, {x, w})}), "y");
        return g;
    }
};

TEST_P(OnDevice, RunsAGraphWithWeightsFromASource) {
    const std::vector<float> w{1, -1, 0, 2, 1, 1};
    Session session(device, dense(), [&](std::string_view) { return bytes_of(w); });
    const std::vector<float> x{1, 2, 3, -1, -2, -3};
    std::vector<float> y(4, -7);
    const NamedBytes in[] = {{"x", bytes_of(x)}};
    const NamedRoom out[] = {{"y", room_of(y)}};
    for (int round = 0; round < 3; ++round) {
        std::fill(y.begin(), y.end(), -7.0F);
        session.run(in, out);
        EXPECT_EQ(y, (std::vector<float>{4, 6, 0, 0}));
    }
}

TEST_P(OnDevice, AWeightOfTheWrongSizeIsRefusedByName) {
    const std::vector<float> w{1, 2, 3};
    const Error e = error_of([&] { Session session(device, dense(), [&](std::string_view) { return bytes_of(w); }); });
    EXPECT_EQ(e.code(), Code::invalid);
    EXPECT_NE(std::string(e.what()).find("weight 'w'"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("24"), std::string::npos) << e.what();
}

TEST_P(OnDevice, AMissingWeightIsNotFound) {
    const Error e =
        error_of([&] { Session session(device, dense(), [](std::string_view) { return std::span<const std::byte>(); }); });
    EXPECT_EQ(e.code(), Code::not_found) << e.what();
}

TEST_P(OnDevice, UnknownOrWronglySizedPortsAreRefusedAndSayWhatThereIs) {
    const std::vector<float> w(6);
    Session session(device, dense(), [&](std::string_view) { return bytes_of(w); });
    const std::vector<float> x(6);
    std::vector<float> y(4);
    const NamedRoom out[] = {{"y", room_of(y)}};
    const NamedBytes unknown[] = {{"image", bytes_of(x)}};
    const Error first = error_of([&] { session.run(unknown, out); });
    EXPECT_EQ(first.code(), Code::not_found);
    EXPECT_NE(std::string(first.what()).find("'x'"), std::string::npos) << first.what();
    const std::vector<float> five(5);
    const NamedBytes wrong[] = {{"x", bytes_of(five)}};
    const Error second = error_of([&] { session.run(wrong, out); });
    EXPECT_EQ(second.code(), Code::invalid);
    EXPECT_NE(std::string(second.what()).find("[2, 3]"), std::string::npos) << second.what();
    EXPECT_EQ(error_of([&] { session.run({}, out); }).code(), Code::invalid);
}

TEST_P(OnDevice, HostMemoryAtAnyAlignmentWorks) {
    const std::vector<float> w{1, -1, 0, 2, 1, 1};
    Session session(device, dense(), [&](std::string_view) { return bytes_of(w); });
    const std::vector<float> x{1, 2, 3, -1, -2, -3};
    for (size_t shift = 0; shift < 8; ++shift) {
        std::vector<std::byte> in_room(24 + shift), out_room(16 + shift + 1, std::byte{0x5A});
        std::memcpy(in_room.data() + shift, x.data(), 24);
        const NamedBytes in[] = {{"x", std::span(in_room).subspan(shift, 24)}};
        const NamedRoom out[] = {{"y", std::span(out_room).subspan(shift, 16)}};
        session.run(in, out);
        float y[4];
        std::memcpy(y, out_room.data() + shift, 16);
        EXPECT_EQ(y[0], 4) << "shift " << shift;
        EXPECT_EQ(y[1], 6) << "shift " << shift;
        EXPECT_EQ(out_room.back(), std::byte{0x5A}) << "written past the end at shift " << shift;
    }
}

TEST_P(OnDevice, SessionsGivenCopiesOfOneWeightsShareThem) {
    const std::vector<float> w(64 * 64 * 9, 0.01F);
    auto graph_of = [](int64_t size) {
        Graph g;
        const TensorId x = g.input("x", DType::f32, {1, 64, size, size});
        const TensorId k = g.weight("w", DType::f32, {64, 64, 3, 3});
        g.output(g.add(Op::conv, {x, k}, {{Attr::pads, {1, 1, 1, 1}}}), "y");
        return g;
    };
    const Weights weights([&](std::string_view) { return bytes_of(w); });
    Session small(device, graph_of(16), weights);
    const uint64_t held = weights.bytes_on(device);
    Session large(device, graph_of(20), weights);
    // The second size may choose another packing, but never holds a third copy.
    EXPECT_LE(weights.bytes_on(device), 2 * held);
    for (auto* session : {&small, &large, &small}) {
        const Shape shape = session->graph()[session->graph().find("x")].shape;
        const std::vector<float> x(static_cast<size_t>(elements(shape)), 1.0F);
        std::vector<float> y(x.size());
        const NamedBytes in[] = {{"x", bytes_of(x)}};
        const NamedRoom out[] = {{"y", room_of(y)}};
        session->run(in, out);
        const size_t middle =
            y.size() / 2 + static_cast<size_t>(shape[3]) / 2 + static_cast<size_t>(shape[3] * shape[2] / 2);
        EXPECT_NEAR(y[middle], 64 * 9 * 0.01F, 1e-2);
    }
}

// y = relu(x @ w), x [rows, 3]
Graph rows_of(int64_t rows) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {rows, 3});
    g.output(g.add(Op::relu, {g.add(Op::matmul, {x, g.weight("w", DType::f32, {3, 2})})}), "y");
    return g;
}

void expect_rows(Session& session, size_t rows) {
    std::vector<float> x, y(2 * rows, -7), expected;
    for (size_t i = 0; i < rows; ++i) {
        for (const float v : {1.0F, 2.0F, 3.0F}) x.push_back(v);
        for (const float v : {4.0F, 6.0F}) expected.push_back(v);
    }
    session.run({{"x", bytes_of(x)}}, {{"y", room_of(y)}});
    EXPECT_EQ(y, expected);
}

TEST_P(OnDevice, ASizeThatIsKnownCostsNoCompileAndNoWeight) {
    const std::vector<float> w{1, -1, 0, 2, 1, 1};
    int asked = 0;
    const Weights weights([&](std::string_view) { return ++asked, bytes_of(w); });
    Session two(device, rows_of(2), weights);
    const int first = asked;
    const uint64_t held = weights.bytes_on(device);
    Session three(device, rows_of(3), weights);
    EXPECT_EQ(weights.plans().compiled, 2U);
    EXPECT_EQ(weights.plans().kept, 2U);
    {
        Session again(device, rows_of(2), weights);  // beside the first, which goes on
        EXPECT_EQ(weights.plans().compiled, 2U);
        EXPECT_EQ(weights.plans().reused, 1U);
        expect_rows(again, 2);
        expect_rows(two, 2);
    }
    expect_rows(two, 2);
    expect_rows(three, 3);
    EXPECT_EQ(asked, first) << "a weight was asked for again";
    EXPECT_EQ(weights.bytes_on(device), held);
}

TEST_P(OnDevice, TheSizesMetLastAreKeptAndNoMore) {
    const std::vector<float> w{1, -1, 0, 2, 1, 1};
    const Weights weights([&](std::string_view) { return bytes_of(w); });
    SessionOptions options;
    options.plans_kept = 2;
    const auto use = [&](int64_t rows) {
        Session session(std::vector<Device>{device}, rows_of(rows), weights, options);
        expect_rows(session, static_cast<size_t>(rows));
        return weights.plans().compiled;
    };
    EXPECT_EQ(use(1), 1U);
    EXPECT_EQ(use(2), 2U);
    EXPECT_EQ(use(1), 2U);
    EXPECT_EQ(use(3), 3U);  // 2, which was met longest ago, goes
    EXPECT_EQ(use(1), 3U);
    EXPECT_EQ(use(2), 4U);
    EXPECT_EQ(weights.plans().kept, 2U);
    options.plans_kept = 0;
    EXPECT_EQ(use(5), 5U);
    EXPECT_EQ(use(5), 6U);
}

TEST_P(OnDevice, WhatIsCompiledOtherwiseIsAnotherProgram) {
    const std::vector<float> w{1, -1, 0, 2, 1, 1};
    const Weights weights([&](std::string_view) { return bytes_of(w); });
    const Session planned(device, rows_of(2), weights, {.plan_only = true});
    Session first(device, rows_of(2), weights);
    EXPECT_EQ(weights.plans().compiled, 2U);
    const std::vector<Option> options = device.options();
    if (options.empty()) GTEST_SKIP() << GetParam() << " has no option to set";
    Device(device).set_option(options[0].name, options[0].value);
    Session second(device, rows_of(2), weights);
    EXPECT_EQ(weights.plans().compiled, 3U) << "an option was set: the program may be another now";
    expect_rows(second, 2);
}

TEST_P(OnDevice, TheLedgerSaysWhichModelHoldsHowMuch) {
    const std::vector<float> w(64 * 64, 0.5F);
    const auto sum_of = [](const Ledger& ledger, const std::string& name) {
        uint64_t bytes = 0;
        for (const Holder& holder : ledger.holders)
            if (holder.name.starts_with(name)) bytes += holder.bytes;
        return bytes;
    };
    EXPECT_EQ(ledger(device).held, 0U);
    const Tensor kept(device, DType::f32, {256});
    const uint64_t before = ledger(device).held;
    EXPECT_EQ(before, 1024U);
    {
        Graph g;
        const TensorId x = g.input("x", DType::f32, {5, 64});
        g.output(g.add(Op::matmul, {x, g.weight("w", DType::f32, {64, 64})}), "y");
        const Weights first([&](std::string_view) { return bytes_of(w); }, "first");
        const Weights second([&](std::string_view) { return bytes_of(w); }, "second");
        const Session a(device, g, first);
        const Session b(device, g, second);
        const Ledger both = ledger(device);
        EXPECT_EQ(sum_of(both, "first: weights"), first.bytes_on(device));
        EXPECT_EQ(sum_of(both, "second: weights"), second.bytes_on(device));
        EXPECT_EQ(sum_of(both, ""), both.held);
        for (size_t i = 1; i < both.holders.size(); ++i)
            EXPECT_GE(both.holders[i - 1].bytes, both.holders[i].bytes) << "largest first";
        if (GetParam() == "cpu:0") {
            EXPECT_GE(first.bytes_on(device), 64 * 64 * sizeof(float)) << "it packs them";
        }
    }
    EXPECT_EQ(ledger(device).held, before) << "what the models held is given back";
    EXPECT_EQ(error_of([] { static_cast<void>(ledger(Device())); }).code(), Code::invalid);
}

TEST_P(OnDevice, ASourceOfWeightsThatThrowsIsSaidWithTheWeight) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {3});
    g.output(g.add(Op::add, {x, g.weight("blk.0.bias", DType::f32, {3})}), "y");
    const std::map<std::string, std::vector<float>, std::less<>> weights;
    const Error error = error_of(
        [&] { Session session(device, g, [&](std::string_view name) { return bytes_of(weights.at(std::string(name))); }); });
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_NE(std::string(error.what()).find("'blk.0.bias'"), std::string::npos) << error.what();
}

TEST_P(OnDevice, StateIsKeptBetweenRunsAndCanBeReset) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {3});
    const TensorId s = g.state("sum", DType::f32, {3});
    const TensorId next = g.add(Op::add, {s, x});
    g.update(s, next);
    g.output(g.add(Op::mul, {next, g.constant(2.0F)}), "y");
    Session session(device, g, WeightSource());
    const std::vector<float> ones(3, 1.0F);
    std::vector<float> y(3);
    const NamedBytes in[] = {{"x", bytes_of(ones)}};
    const NamedRoom out[] = {{"y", room_of(y)}};
    for (int round = 1; round <= 3; ++round) {
        session.run(in, out);
        EXPECT_EQ(y, std::vector<float>(3, 2.0F * static_cast<float>(round)));
    }
    session.reset_state();
    session.run(in, out);
    EXPECT_EQ(y, std::vector<float>(3, 2.0F));
}

TEST_P(OnDevice, ARaisedCancelFlagStopsTheRun) {
    const std::vector<float> w(6);
    Session session(device, dense(), [&](std::string_view) { return bytes_of(w); });
    const std::vector<float> x(6);
    std::vector<float> y(4);
    const NamedBytes in[] = {{"x", bytes_of(x)}};
    const NamedRoom out[] = {{"y", room_of(y)}};
    const std::atomic<uint32_t> cancel{1};
    EXPECT_EQ(error_of([&] { session.run(in, out, &cancel); }).code(), Code::cancelled);
    session.run(in, out);  // and the session is still good
}

TEST_P(OnDevice, PlanOnlyAnswersTheSameMemoryAsTheRealCompile) {
    const Program plan(device, dense(), {.plan_only = true});
    const Program real(device, dense());
    EXPECT_EQ(plan.info().workspace_bytes, real.info().workspace_bytes);
    ASSERT_EQ(plan.info().slots.size(), real.info().slots.size());
    for (size_t i = 0; i < plan.info().slots.size(); ++i) {
        EXPECT_EQ(plan.info().slots[i].bytes, real.info().slots[i].bytes);
        EXPECT_EQ(plan.info().slots[i].layout, real.info().slots[i].layout);
    }
    EXPECT_NE(error_of([&] { plan.run({}, Buffer()); }).code(), Code::ok);
}

TEST_P(OnDevice, BuffersCheckTheirRanges) {
    Buffer buffer(device, 16);
    const std::vector<float> four{1, 2, 3, 4};
    buffer.write(bytes_of(four));
    std::vector<float> two(2);
    buffer.read(room_of(two), 8);
    EXPECT_EQ(two, (std::vector<float>{3, 4}));
    EXPECT_EQ(error_of([&] { buffer.read(room_of(two), 12); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { buffer.write(bytes_of(four), ~uint64_t{0}); }).code(), Code::invalid);
    Buffer empty(device, 0);
    empty.write({});
    EXPECT_EQ(empty.size(), 0U);
}

TEST_P(OnDevice, AMissingBindingIsAnErrorNotACrash) {
    const Program program(device, dense());
    EXPECT_EQ(error_of([&] { program.run({}, Buffer()); }).code(), Code::invalid);
}

TEST_P(OnDevice, SessionsInSeveralThreadsGiveTheSameResult) {
    const std::vector<float> w{1, -1, 0, 2, 1, 1};
    const Weights weights([&](std::string_view) { return bytes_of(w); });
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            Session session(device, dense(), weights);
            const std::vector<float> x{1, 2, 3, -1, -2, -3};
            for (int round = 0; round < 25; ++round) {
                std::vector<float> y(4);
                const NamedBytes in[] = {{"x", bytes_of(x)}};
                const NamedRoom out[] = {{"y", room_of(y)}};
                session.run(in, out);
                if (y != std::vector<float>{4, 6, 0, 0}) ++wrong;
            }
        });
    threads.clear();
    EXPECT_EQ(wrong, 0);
}

TEST_P(OnDevice, ASessionOutlivesTheContextItCameFrom) {
    const std::vector<float> w{1, -1, 0, 2, 1, 1};
    std::unique_ptr<Session> session;
    {
        const Context short_lived(test::modules_of_the_build());
        session = std::make_unique<Session>(short_lived.choose(GetParam()), dense(),
                                            [&](std::string_view) { return bytes_of(w); });
    }
    const std::vector<float> x{1, 2, 3, -1, -2, -3};
    std::vector<float> y(4);
    const NamedBytes in[] = {{"x", bytes_of(x)}};
    const NamedRoom out[] = {{"y", room_of(y)}};
    session->run(in, out);
    EXPECT_EQ(y, (std::vector<float>{4, 6, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, testing::ValuesIn(test::devices_of_the_build()), test::NameOfDevice());

TEST(Runtime, ABuildHasAtLeastOneDevice) { EXPECT_FALSE(test::devices_of_the_build().empty()); }

TEST(Runtime, NothingCanBeMadeWithoutADevice) {
    EXPECT_EQ(error_of([] { Buffer buffer(Device(), 16); }).code(), Code::invalid);
    EXPECT_EQ(error_of([] { Program program(Device{}, Graph{}); }).code(), Code::invalid);
    EXPECT_EQ(error_of([] { Session session(Device{}, Graph{}, WeightSource{}); }).code(), Code::invalid);
}

}  // namespace
}  // namespace backplane
