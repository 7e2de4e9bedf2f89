// Tensors that stay on the device, submits and their events, state handed from session to session: on every device the build has.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

std::span<const std::byte> in(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }
std::span<std::byte> out(std::vector<float>& values) { return std::as_writable_bytes(std::span(values)); }

Code code_of_error(const std::function<void()>& body, std::string* text = nullptr) {
    try {
        body();
    } catch (const Error& error) {
        if (text != nullptr) *text = error.what();
        return error.code();
    }
    return Code::ok;
}

std::vector<float> content_of(const Tensor& tensor) {
    std::vector<float> values(tensor.size() / sizeof(float));
    tensor.read(out(values));
    return values;
}

class TensorOn : public testing::TestWithParam<std::string> {
protected:
    Context context{test::modules_of_the_build()};
    Device device = context.choose(GetParam());

    // y = x + x, [rows, 4]
    static Graph twice(int64_t rows = 2) {
        Graph g;
        const TensorId x = g.input("x", DType::f32, {rows, 4});
        g.output(g.add(Op::add, {x, x}), "y");
        return g;
    }
    // sum += x; y = 2 sum
    static Graph sum() {
        Graph g;
        const TensorId x = g.input("x", DType::f32, {3});
        const TensorId s = g.state("sum", DType::f32, {3});
        const TensorId next = g.add(Op::add, {s, x});
        g.update(s, next);
        g.output(g.add(Op::mul, {next, g.constant(2.0F)}), "y");
        return g;
    }
};

TEST_P(TensorOn, KeepsItsBytesAndSharesThemWithItsPartsAndShapes) {
    const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
    Tensor tensor = Tensor::from(device, DType::f32, {2, 4}, in(values));
    EXPECT_EQ(tensor.size(), 32U);
    EXPECT_EQ(content_of(tensor), values);
    EXPECT_EQ(content_of(tensor.rows(1, 1)), (std::vector<float>{5, 6, 7, 8}));
    const Tensor flat = tensor.reshaped({8});
    tensor.rows(0, 1).write(in({9, 9, 9, 9}));
    EXPECT_EQ(content_of(flat), (std::vector<float>{9, 9, 9, 9, 5, 6, 7, 8}));
    tensor.rows(1, 1).zero();
    EXPECT_EQ(content_of(flat), (std::vector<float>{9, 9, 9, 9, 0, 0, 0, 0}));
    EXPECT_EQ(content_of(tensor.on(context.choose("cpu"))), content_of(tensor));
    EXPECT_EQ(code_of_error([&] { static_cast<void>(tensor.rows(1, 2)); }), Code::invalid);
    EXPECT_EQ(code_of_error([&] { static_cast<void>(tensor.reshaped({7})); }), Code::invalid);
    std::vector<float> seven(7);
    EXPECT_EQ(code_of_error([&] { tensor.read(out(seven)); }), Code::invalid);
    EXPECT_EQ(code_of_error([&] { Tensor().read(out(seven)); }), Code::invalid);
    EXPECT_EQ(code_of_error([] { const Tensor none(Device(), DType::f32, {1}); }), Code::invalid);
}

TEST_P(TensorOn, GoesFromOneSessionToTheNextWithoutTheHost) {
    Session first(device, twice(), WeightSource()), second(device, twice(), WeightSource());
    const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
    Tensor between, result;
    const Event made = first.submit({{"x", in(x)}}, {{"y", &between}});
    ASSERT_TRUE(between) << "usable before the event is done";
    EXPECT_EQ(between.shape(), (Shape{2, 4}));
    const Event done = second.submit({{"x", between}}, {{"y", &result}});
    std::vector<float> y(8);
    first.run({{"x", result}}, {{"y", out(y)}});
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(y[i], 8 * x[i]);
    done.wait();
    EXPECT_TRUE(done.done());
    EXPECT_TRUE(made.wait_for(60'000'000'000));
    EXPECT_EQ(done.bytes_moved(), 0U);
}

TEST_P(TensorOn, AFullOneIsWrittenIntoAndAPartOfOneIsRead) {
    Session session(device, twice(), WeightSource());
    const std::vector<float> values{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4};
    const Tensor from = Tensor::from(device, DType::f32, {4, 4}, in(values));
    Tensor into(device, DType::f32, {4, 4});
    into.zero();
    Tensor rows = into.rows(1, 2);
    session.submit({{"x", from.rows(1, 2)}}, {{"y", &rows}}).wait();
    EXPECT_EQ(content_of(into), (std::vector<float>{0, 0, 0, 0, 4, 4, 4, 4, 6, 6, 6, 6, 0, 0, 0, 0}));
    Tensor wrong(device, DType::f32, {8});
    std::string text;
    EXPECT_EQ(code_of_error([&] { session.submit({{"x", from}}, {{"y", &rows}}); }, &text), Code::invalid);
    EXPECT_NE(text.find("input 'x'"), std::string::npos) << text;
    EXPECT_EQ(code_of_error([&] { session.submit({{"x", rows}}, {{"y", &wrong}}); }), Code::invalid);
}

TEST_P(TensorOn, SubmitsInAnyNumberComeOutInOrderAndRight) {
    constexpr size_t kSubmits = 20;
    Session session(device, twice(64), WeightSource());
    std::vector<std::vector<float>> x(kSubmits, std::vector<float>(256)), y = x;
    std::vector<Event> events;
    for (size_t k = 0; k < kSubmits; ++k) {
        std::fill(x[k].begin(), x[k].end(), static_cast<float>(k));
        events.push_back(session.submit({{"x", in(x[k])}}, {{"y", out(y[k])}}));
    }
    for (size_t k = kSubmits; k-- > 0;) {
        events[k].wait();
        EXPECT_EQ(y[k], std::vector<float>(256, 2 * static_cast<float>(k)));
    }
    EXPECT_TRUE(Event().done());
    Event().wait();
}

TEST_P(TensorOn, LargeHostMemoryGoesInAndComesOut) {
    constexpr int64_t kTall = 16384;  // 256 KiB: above what is copied where a device uses host memory
    Session session(device, twice(kTall), WeightSource());
    for (int round = 0; round < 3; ++round) {
        const std::vector<float> x(kTall * 4, static_cast<float>(round + 1));
        std::vector<float> y(kTall * 4);
        session.run({{"x", in(x)}}, {{"y", out(y)}});
        EXPECT_EQ(y.front(), 2.0F * static_cast<float>(round + 1));
        EXPECT_EQ(y.back(), y.front());
        Tensor kept;
        session.submit({{"x", in(x)}}, {{"y", &kept}}).wait();
        EXPECT_EQ(content_of(kept), y);
    }
}

TEST_P(TensorOn, AResultThatIsKeptIsNotTheNextRunsRoom) {
    Session session(device, twice(), WeightSource());
    std::vector<Tensor> kept(4);
    for (size_t k = 0; k < kept.size(); ++k)
        session.submit({{"x", in(std::vector<float>(8, static_cast<float>(k)))}}, {{"y", &kept[k]}}).wait();
    for (size_t k = 0; k < kept.size(); ++k)
        EXPECT_EQ(content_of(kept[k]), std::vector<float>(8, 2 * static_cast<float>(k)));
}

TEST_P(TensorOn, StateIsReadWrittenSharedAndRestored) {
    Session first(device, sum(), WeightSource()), second(device, sum(), WeightSource());
    const std::vector<float> ones(3, 1.0F);
    std::vector<float> y(3);
    for (int k = 0; k < 3; ++k) first.run({{"x", in(ones)}}, {{"y", out(y)}});
    EXPECT_EQ(content_of(first.state("sum")), std::vector<float>(3, 3.0F));
    second.set_state("sum", first.state("sum"));
    second.run({{"x", in(ones)}}, {{"y", out(y)}});
    EXPECT_EQ(y, std::vector<float>(3, 8.0F));
    EXPECT_EQ(content_of(first.state("sum")), std::vector<float>(3, 4.0F)) << "it is one state";
    std::vector<float> saved = content_of(second.state("sum"));
    second.reset_state();
    second.run({{"x", in(ones)}}, {{"y", out(y)}});
    EXPECT_EQ(y, std::vector<float>(3, 2.0F));
    second.set_state("sum", Tensor::from(device, DType::f32, {3}, in(saved)));
    second.run({{"x", in(ones)}}, {{"y", out(y)}});
    EXPECT_EQ(y, std::vector<float>(3, 10.0F));
    EXPECT_EQ(code_of_error([&] { static_cast<void>(first.state("cache")); }), Code::not_found);
    EXPECT_EQ(code_of_error([&] { first.set_state("sum", Tensor(device, DType::f32, {4})); }), Code::invalid);
}

TEST_P(TensorOn, ARecurrentStateGoesOnWhereTheLastRunLeftIt) {
    constexpr int64_t kInputs = 3, kHidden = 20;
    const auto recurrent = [](int64_t steps) {
        Graph g;
        const auto state = [&](const char* name) { return g.state(name, DType::f32, {1, 2, kHidden}); };
        const TensorId h = state("h"), c = state("c");
        const auto all =
            ops::lstm(g,
                      {g.input("x", DType::f32, {steps, 2, kInputs}), g.input("w", DType::f32, {1, 4 * kHidden, kInputs}),
                       g.input("r", DType::f32, {1, 4 * kHidden, kHidden}), no_tensor, no_tensor, h, c},
                      {});
        g.output(all[0], "y");
        g.update(h, all[1]);
        g.update(c, all[2]);
        return g;
    };
    const auto waves = [](int64_t n, float pitch) {
        std::vector<float> values(static_cast<size_t>(n));
        for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(pitch * static_cast<float>(i + 1));
        return values;
    };
    const std::vector<float> w = waves(4 * kHidden * kInputs, 0.7F), r = waves(4 * kHidden * kHidden, 0.3F),
                             x = waves(6 * 2 * kInputs, 1.1F);
    Session whole(device, recurrent(6), WeightSource()), part(device, recurrent(3), WeightSource());
    std::vector<float> y(6 * 2 * kHidden), parts(y.size());
    whole.run({{"x", in(x)}, {"w", in(w)}, {"r", in(r)}}, {{"y", out(y)}});
    for (size_t k = 0; k < 2; ++k)
        part.run({{"x", in(x).subspan(k * in(x).size() / 2, in(x).size() / 2)}, {"w", in(w)}, {"r", in(r)}},
                 {{"y", out(parts).subspan(k * out(parts).size() / 2, out(parts).size() / 2)}});
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(parts[i], y[i], 1e-6F) << i;
    const std::vector<float> h = content_of(part.state("h")), c = content_of(part.state("c")),
                             of_whole = content_of(whole.state("c"));
    for (size_t i = 0; i < h.size(); ++i) {
        EXPECT_EQ(h[i], parts[parts.size() - h.size() + i]);
        EXPECT_NEAR(c[i], of_whole[i], 1e-6F);
    }
}

TEST_P(TensorOn, ItsSessionAndItsContextMayGoBeforeIt) {
    Tensor kept;
    {
        const Context short_lived(test::modules_of_the_build());
        Session session(short_lived.choose(GetParam()), twice(), WeightSource());
        session.submit({{"x", in(std::vector<float>(8, 2.0F))}}, {{"y", &kept}}).wait();
    }
    EXPECT_EQ(content_of(kept), std::vector<float>(8, 4.0F));
}

TEST_P(TensorOn, ASessionSaysItsPlan) {
    const Session session(device, twice(), WeightSource());
    EXPECT_NE(session.describe().find("stage 1 on " + GetParam() + ": Add"), std::string::npos) << session.describe();
    EXPECT_NE(session.plan_json().find("\"bytes_moved\":64"), std::string::npos) << session.plan_json();
}

TEST_P(TensorOn, WeightsThatABudgetDoesNotHoldAreStreamed) {
    constexpr int64_t kProducts = 20, kWidth = 64;
    Graph g;
    TensorId at = g.input("x", DType::f32, {1, kWidth});
    for (int64_t k = 0; k < kProducts; ++k)
        at = g.add(Op::matmul, {at, g.weight("w " + std::to_string(k), DType::f32, {kWidth, kWidth})});
    g.output(at, "y");
    std::vector<std::vector<float>> layers(kProducts, std::vector<float>(kWidth * kWidth));
    for (size_t k = 0; k < kProducts; ++k)  // once and twice the identity in turns
        for (size_t i = 0; i < kWidth; ++i) layers[k][i * kWidth + i] = static_cast<float>(1 + k % 2);
    const Weights weights([&](std::string_view name) { return in(layers.at(std::stoul(std::string(name.substr(2))))); });
    SessionOptions options;
    options.budget = 262144;  // of 327,680 bytes of weights
    Session session({device}, g, weights, options);
    EXPECT_NE(session.plan_json().find("\"weights\":\"streamed\""), std::string::npos) << session.describe();
    EXPECT_NE(session.plan_json().find("\"weights\":\"resident\""), std::string::npos) << session.describe();
    EXPECT_LT(weights.bytes_on(device), 262144U) << "what is streamed is in the ring and nowhere else";
    for (int pass = 0; pass < 3; ++pass) {
        const std::vector<float> x(kWidth, static_cast<float>(pass));
        std::vector<float> y(kWidth);
        session.run({{"x", in(x)}}, {{"y", out(y)}});
        EXPECT_EQ(y, std::vector<float>(kWidth, static_cast<float>(pass) * 1024));
    }
    options.budget = 20000;
    std::string text;
    EXPECT_EQ(code_of_error([&] { const Session none({device}, g, weights, options); }, &text), Code::no_device_memory);
    EXPECT_NE(text.find("16384"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Devices, TensorOn, testing::ValuesIn(test::devices_of_the_build()), test::NameOfDevice());

}  // namespace
}  // namespace backplane
