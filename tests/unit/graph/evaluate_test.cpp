// The oracle on whole graphs: what it refuses, states, rounding between nodes, cancelling.
#include "graph/evaluate.hpp"

#include "graphs.hpp"

namespace backplane {
namespace {

std::vector<std::byte> floats(const Numbers& values) { return graph::encode(values, DType::f32); }

struct Counter {
    Graph g;
    TensorId x = g.input("x", DType::f32, {2});
    TensorId s = g.state("s", DType::f32, {2});
    TensorId next = g.add(Op::add, {s, x});
    TensorId late = g.add(Op::mul, {s, s});  // after the update in the list, but of the state before it
    Counter() {
        g.update(s, next);
        g.output(late, "y");
    }
};

TEST(Evaluate, InputsThatAreMissingWrongOrTwiceAreRefused) {
    const Counter c;
    const std::vector<std::byte> two = floats({1, 2});
    const std::vector<std::byte> three = floats({1, 2, 3});
    auto run = [&](std::vector<graph::TensorBytes> inputs) { graph::evaluate_values(c.g, inputs); };
    EXPECT_NE(error_of([&] { run({{c.x, two}}); }).find("'s'"), std::string::npos);
    EXPECT_NE(error_of([&] { run({{c.x, three}, {c.s, two}}); }).find("12"), std::string::npos);
    error_of([&] { run({{c.x, two}, {c.x, two}, {c.s, two}}); });
    error_of([&] { run({{c.x, two}, {c.s, two}, {c.late, two}}); });
    error_of([&] { run({{TensorId{99}, two}}); });
}

TEST(Evaluate, OutputsThatAreWrongAreRefusedAndNothingIsWritten) {
    const Counter c;
    const std::vector<std::byte> two = floats({1, 2});
    std::vector<std::byte> y = floats({9, 9});
    std::vector<std::byte> wrong(4);
    const graph::TensorBytes inputs[] = {{c.x, two}, {c.s, two}};
    const graph::TensorRoom bad[] = {{c.late, y}, {c.s, wrong}};
    error_of([&] { graph::evaluate(c.g, inputs, bad); });
    const graph::TensorRoom no_result[] = {{c.late, y}, {c.x, y}};
    error_of([&] { graph::evaluate(c.g, inputs, no_result); });
    EXPECT_EQ(graph::decode(y, DType::f32), (Numbers{9, 9}));
}

TEST(Evaluate, AStateIsReadAsItWasBeforeTheRunAndMayShareItsRoom) {
    const Counter c;
    const std::vector<std::byte> x = floats({1, 2});
    std::vector<std::byte> s = floats({0, 0});
    std::vector<std::byte> y(8);
    for (int round = 0; round < 3; ++round) {
        const graph::TensorBytes inputs[] = {{c.x, x}, {c.s, s}};
        const graph::TensorRoom outputs[] = {{c.late, y}, {c.s, s}};
        graph::evaluate(c.g, inputs, outputs);
    }
    EXPECT_EQ(graph::decode(s, DType::f32), (Numbers{3, 6}));
    EXPECT_EQ(graph::decode(y, DType::f32), (Numbers{4, 16}));
}

TEST(Evaluate, AStateNobodyUpdatesKeepsItsValue) {
    Graph g;
    const TensorId s = g.state("s", DType::f32, {2});
    g.output(g.add(Op::neg, {s}), "y");
    const std::vector<std::byte> before = floats({4, 5});
    std::vector<std::byte> after(8);
    const graph::TensorBytes inputs[] = {{s, before}};
    const graph::TensorRoom outputs[] = {{s, after}};
    graph::evaluate(g, inputs, outputs);
    EXPECT_EQ(after, before);
}

TEST(Evaluate, BlocksOfAStateThatAreNotWrittenKeepTheirBytes) {
    Graph g;
    const TensorId s = g.state("s", DType::q8_0, {1, 3, 32});
    const TensorId row = g.constant("", DType::f32, {1, 1, 32}, floats(counting(32, -4)));
    const TensorId at = g.constant("", DType::i64, {1}, graph::encode(Numbers{1}, DType::i64));
    g.update(s, g.add(Op::tensor_scatter, {s, row, at}, {{Attr::axis, 1}}));
    std::vector<std::byte> after(3 * 34, std::byte{5});  // digits of 5, which no writer of blocks leaves: the largest is 127
    const std::vector<std::byte> before = after;
    const graph::TensorBytes inputs[] = {{s, before}};
    const graph::TensorRoom outputs[] = {{s, after}};
    graph::evaluate(g, inputs, outputs);
    std::vector<std::byte> wanted = before;
    std::ranges::copy(graph::encode(counting(32, -4), DType::q8_0), wanted.begin() + 34);
    EXPECT_EQ(after, wanted);
}

TEST(Evaluate, HalfTypesRoundAfterEachNodeAndFloatsDoNot) {
    for (const DType dtype : {DType::f16, DType::f32}) {
        Graph g;
        const auto number = [&](double v) { return g.constant("", dtype, {}, graph::encode(Numbers{v}, dtype)); };
        const TensorId big = number(dtype == DType::f16 ? 2048 : 16777216);
        const TensorId one = number(1);
        const TensorId y = g.add(Op::sub, {g.add(Op::add, {big, one}), big});
        g.output(y, "y");
        EXPECT_EQ(graph::evaluate_values(g, {})[y.index].data[0], dtype == DType::f16 ? 0 : 1) << name_of(dtype);
    }
}

TEST(Evaluate, ARaisedFlagCancels) {
    const Counter c;
    const std::vector<std::byte> two = floats({1, 2});
    const graph::TensorBytes inputs[] = {{c.x, two}, {c.s, two}};
    const uint32_t raised = 1;
    error_of([&] { graph::evaluate_values(c.g, inputs, &raised); }, Code::cancelled);
}

TEST(Evaluate, AResultLargerThanMemoryIsAnErrorNotACrash) {
    Graph g;
    const TensorId a = g.input("a", DType::u8, {1, 1});
    const int64_t most = int64_t{1} << 24;
    const TensorId p = g.add(Op::pad, {a}, {{Attr::pads, std::vector<int64_t>{0, 0, most - 1, most - 1}}});
    const TensorId q = g.add(Op::reshape, {p}, {{Attr::shape, std::vector<int64_t>{-1, 1}}});
    g.output(q, "y");
    const std::vector<std::byte> one(1);
    const graph::TensorBytes inputs[] = {{a, one}};
    error_of([&] { graph::evaluate_values(g, inputs); }, Code::no_host_memory);
}

}  // namespace
}  // namespace backplane
