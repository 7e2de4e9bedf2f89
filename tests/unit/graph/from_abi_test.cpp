// Plain data to a graph and back; lying data first.
#include "graph/from_abi.hpp"

#include <array>
#include <functional>

#include "graphs.hpp"

namespace backplane {
namespace {

// Plain data that a test may falsify: copies of the records of a graph.
struct Plain {
    explicit Plain(const Graph& from) : owner(from.data()) {
        const bp_graph& g = *owner.get();
        fill(tensors, g.tensors);
        fill(nodes, g.nodes);
        fill(attributes, g.attributes);
        fill(edges, g.edges);
    }
    template <typename T>
    static void fill(std::vector<T>& into, const bp_span& from) {
        for (uint32_t i = 0; i < from.count; ++i) into.push_back(*BP_AT(T, &from, i));
    }
    template <typename T>
    static bp_span span(const std::vector<T>& from) {
        return {from.data(), static_cast<uint32_t>(from.size()), sizeof(T)};
    }
    const bp_graph* get() {
        graph = *owner.get();
        graph.tensors = span(tensors);
        graph.nodes = span(nodes);
        graph.attributes = span(attributes);
        graph.edges = span(edges);
        graph.symbols = span(symbols);
        return &graph;
    }
    GraphData owner;
    std::vector<bp_tensor> tensors;
    std::vector<bp_node> nodes;
    std::vector<bp_attribute> attributes;
    std::vector<bp_symbol> symbols;
    std::vector<uint32_t> edges;
    bp_graph graph{};
};

// tensors: 0 x, 1 w, 2 s, 3 k, 4 relu, 5 softmax, 6 y = sub (output), 7 next (state_in s)
Graph sample() {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2, 4});
    const TensorId w = g.weight("w", DType::f32, {4}, 7);
    const TensorId s = g.state("s", DType::f32, {2, 4});
    const TensorId k = g.constant("k", DType::f32, {1}, graph::encode(std::vector<double>{3}, DType::f32));
    const TensorId a = g.add(Op::relu, {x}, {}, "a");
    const TensorId b = g.add(Op::softmax, {a}, {{Attr::axis, 1}}, "b");
    g.output(g.add(Op::sub, {b, w}, {}, "c"), "y");
    g.update(s, g.add(Op::add, {s, k}, {}, "d"));
    return g;
}

TEST(FromAbi, AllOutputsOfANodeAreCheckedAndEachIsWrittenOnce) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    const std::vector<TensorId> parts = g.add_all(Op::split, std::array{x}, {{Attr::sizes, {2, 2}}});
    g.output(parts[0], "a");
    g.output(parts[1], "b");
    Plain right(g);
    EXPECT_EQ(graph::graph_from_abi(right.get()).hash(), g.hash());
    Plain twice(g);
    twice.edges.at(twice.nodes.at(0).output + 1) = twice.edges.at(twice.nodes[0].output);
    EXPECT_NE(error_of([&] { graph::graph_from_abi(twice.get()); }).find("was written before"), std::string::npos);
    Plain one(g);
    one.nodes.at(0).outputs = 1;
    EXPECT_NE(error_of([&] { graph::graph_from_abi(one.get()); }).find("has 1 outputs, its op has 2"), std::string::npos);
    Plain left_out(g);
    left_out.edges.at(left_out.nodes.at(0).output + 1) = BP_NO_TENSOR;
    EXPECT_NE(error_of([&] { graph::graph_from_abi(left_out.get()); }).find("left out"), std::string::npos);
}

TEST(FromAbi, LyingDataIsRefused) {
    const std::vector<std::pair<const char*, std::function<void(Plain&)>>> lies{
        {"an edge names no tensor", [](Plain& p) { p.edges[0] = 99; }},
        {"inputs lie outside the edges", [](Plain& p) { p.nodes[0].input = 0xFFFFFFFF; }},
        {"attributes lie outside their array", [](Plain& p) { p.nodes[0].attributes = 9; }},
        {"a rank over 8", [](Plain& p) { p.tensors[0].rank = 9; }},
        {"a negative extent without a symbol", [](Plain& p) { p.tensors[0].dim[0] = -1; }},
        {"an extent as large as can be", [](Plain& p) { p.tensors[0].dim[0] = INT64_MAX; }},
        {"the least int64 as an extent", [](Plain& p) { p.tensors[0].dim[0] = INT64_MIN; }},
        {"an output shape that does not follow", [](Plain& p) { p.tensors[4].dim[0] = 3; }},
        {"an output dtype that does not follow", [](Plain& p) { p.tensors[4].dtype = BP_F16; }},
        {"two outputs", [](Plain& p) { p.nodes[2].outputs = 2; }},
        {"no output", [](Plain& p) { p.nodes[0].outputs = 0; }},
        {"an output that is no tensor", [](Plain& p) { p.edges[p.nodes[0].output] = BP_NO_TENSOR; }},
        {"a node that writes an input", [](Plain& p) { p.edges[p.nodes[0].output] = 0; }},
        {"a node that writes what another wrote", [](Plain& p) { p.edges[p.nodes[1].output] = 4; }},
        {"nodes in the wrong order", [](Plain& p) { std::swap(p.nodes[0], p.nodes[1]); }},
        {"an output nobody writes", [](Plain& p) { p.tensors[1].role = BP_ROLE_OUTPUT; }},
        {"a required input left out", [](Plain& p) { p.edges[p.nodes[2].input] = BP_NO_TENSOR; }},
        {"an axis out of range", [](Plain& p) { p.attributes[0].integer = 2; }},
        {"an axis that is negative", [](Plain& p) { p.attributes[0].integer = -1; }},
        {"an axis not stated", [](Plain& p) { p.nodes[1].attributes = 0; }},
        {"an axis of another type", [](Plain& p) { p.attributes[0].type = BP_ATTRIBUTE_FLOAT; }},
        {"an axis stated twice",
         [](Plain& p) {
             p.attributes.push_back(p.attributes[0]);
             p.nodes[1].attributes = 2;
         }},
        {"a constant too short", [](Plain& p) { p.tensors[3].data.size = 3; }},
        {"a constant without data", [](Plain& p) { p.tensors[3].data.data = nullptr; }},
        {"a state_in that names no tensor", [](Plain& p) { p.tensors[7].state_in = 77; }},
        {"a state_in that names an input", [](Plain& p) { p.tensors[7].state_in = 1; }},
        {"a state_in that names itself", [](Plain& p) { p.tensors[7].state_in = 8; }},
        {"an input with a state_in", [](Plain& p) { p.tensors[0].state_in = 3; }},
        {"a block type cut in the middle", [](Plain& p) { p.tensors[1].dtype = BP_Q8_0; }},
    };
    for (const auto& [what, lie] : lies) {
        Plain p(sample());
        lie(p);
        SCOPED_TRACE(what);
        error_of([&] { graph::graph_from_abi(p.get()); });
    }
    error_of([] { graph::graph_from_abi(nullptr); });
    Plain p(sample());
    bp_graph empty_memory = *p.get();
    empty_memory.nodes.first = nullptr;
    error_of([&] { graph::graph_from_abi(&empty_memory); });
    empty_memory = *p.get();
    empty_memory.tensors.stride = 0;
    error_of([&] { graph::graph_from_abi(&empty_memory); });
}

TEST(FromAbi, WhatALaterVersionMayKnowIsUnsupported) {
    const std::vector<std::pair<uint32_t, std::function<void(Plain&)>>> later{
        {BP_WHY_OP, [](Plain& p) { p.nodes[1].op = 9999; }},
        {BP_WHY_ATTRIBUTE, [](Plain& p) { p.attributes[0].id = 9999; }},
        {BP_WHY_ATTRIBUTE, [](Plain& p) { p.attributes[0].id = BP_ATTR_alpha; }},
        {BP_WHY_DTYPE, [](Plain& p) { p.tensors[4].dtype = 200; }},
    };
    for (const auto& [why, change] : later) {
        Plain p(sample());
        change(p);
        error_of([&] { graph::graph_from_abi(p.get()); }, Code::unsupported);
        EXPECT_EQ(graph::why_not(p.get(), 1), why);
        EXPECT_EQ(graph::why_not(p.get(), 3), uint32_t{BP_WHY_NONE});
    }
    Plain p(sample());
    p.tensors[5].dim[0] = 9;
    EXPECT_EQ(graph::why_not(p.get(), 1), uint32_t{BP_WHY_SHAPE});
    error_of([&] { graph::why_not(p.get(), 4); });
    error_of([&] { graph::check_node_from_abi(p.get(), 1); });
    graph::check_node_from_abi(p.get(), 0);
}

TEST(FromAbi, TheSameGraphComesBack) {
    const Graph g = sample();
    const GraphData data = g.data();
    const Graph back = graph::graph_from_abi(data.get());
    EXPECT_EQ(back.hash(), g.hash());
    EXPECT_EQ(back.find("w"), g.find("w"));
    EXPECT_EQ(back.nodes()[1].name, "b");
}

TEST(FromAbi, PlainDataOutlivesItsGraphAndMoves) {
    std::unique_ptr<Graph> g = std::make_unique<Graph>(sample());
    const auto hash = g->hash();
    GraphData first = g->data();
    g.reset();
    GraphData second = std::move(first);
    EXPECT_EQ(graph::graph_from_abi(second.get()).hash(), hash);
    EXPECT_STREQ(BP_AT(bp_tensor, &second.get()->tensors, 0)->name, "x");
}

TEST(FromAbi, RecordsAreReadByTheirStrideAndSize) {
    Plain p(sample());
    // As a newer host would send them: longer, with junk behind what we know.
    struct Longer {
        bp_tensor known;
        uint64_t later[3];
    };
    std::vector<Longer> longer;
    for (const bp_tensor& t : p.tensors) longer.push_back({t, {~0ULL, ~0ULL, ~0ULL}});
    bp_graph newer = *p.get();
    newer.tensors = Plain::span(longer);
    EXPECT_EQ(graph::graph_from_abi(&newer).hash(), sample().hash());
}

TEST(FromAbi, SymbolsAreReplacedAndBounded) {
    Plain p(sample());
    p.symbols.push_back({BP_SIZE(bp_symbol, likely), 2, 2, 8, 4});
    for (const uint32_t i : {0U, 2U, 4U, 5U, 6U, 7U}) p.tensors[i].dim[0] = -1;
    const int64_t six[] = {6};
    EXPECT_EQ(graph::graph_from_abi(p.get(), six)[{6}].shape, (Shape{6, 4}));
    EXPECT_EQ(graph::graph_from_abi(p.get())[{6}].shape, (Shape{8, 4})) << "the most, when no value is given";
    for (const int64_t wrong : {int64_t{10}, int64_t{0}, int64_t{3}, int64_t{-6}}) {
        const int64_t values[] = {wrong};
        error_of([&] { graph::graph_from_abi(p.get(), values); });
    }
    const int64_t two_values[] = {6, 6};
    error_of([&] { graph::graph_from_abi(p.get(), two_values); });
    p.symbols[0].most = INT64_MAX;
    error_of([&] { graph::graph_from_abi(p.get()); });
    p.symbols[0] = {BP_SIZE(bp_symbol, likely), 1, 5, 4, 4};
    error_of([&] { graph::graph_from_abi(p.get()); });
}

}  // namespace
}  // namespace backplane
