// GraphView::validate(): after it a module may use every index of a host's graph, and run its nodes in order.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backplane/graph.hpp"
#include "backplane/sdk.hpp"

namespace backplane {
namespace {

// A graph's records, to be falsified. Tensors: 0 x, 1 w, 2 state s, 3 relu, 4 y = sub (output), 5 the next s.
// Nodes: relu(x), sub(relu, w), transpose(s).
struct Records {
    Records() {
        Graph g;
        const TensorId x = g.input("x", DType::f32, {2, 2});
        const TensorId w = g.weight("w", DType::f32, {2});
        const TensorId s = g.state("s", DType::f32, {2, 2});
        g.output(g.add(Op::sub, {g.add(Op::relu, {x}), w}), "y");
        g.update(s, g.add(Op::transpose, {s}, {{Attr::perm, {1, 0}}}));
        owner.push_back(g.data());
        graph = *owner[0].get();
        take(tensors, graph.tensors);
        take(nodes, graph.nodes);
        take(attributes, graph.attributes);
        take(edges, graph.edges);
    }
    template <typename T>
    static void take(std::vector<T>& into, bp_span& span) {
        for (uint32_t i = 0; i < span.count; ++i) into.push_back(*BP_AT(T, &span, i));
        span = {into.data(), span.count, sizeof(T)};
    }
    uint32_t& input(size_t node, uint32_t k) { return edges[nodes[node].input + k]; }
    uint32_t& output(size_t node) { return edges[nodes[node].output]; }

    std::vector<GraphData> owner;
    std::vector<bp_tensor> tensors;
    std::vector<bp_node> nodes;
    std::vector<bp_attribute> attributes;
    std::vector<uint32_t> edges;
    bp_graph graph{};
};

std::string refusal_after(const std::function<void(Records&)>& lie) {
    Records records;
    lie(records);
    try {
        sdk::GraphView(&records.graph).validate();
    } catch (const sdk::Failure& failure) {
        EXPECT_EQ(failure.code(), BP_INVALID);
        return failure.what();
    }
    return {};
}

TEST(GraphView, AGoodGraphIsValid) {
    EXPECT_EQ(refusal_after([](Records&) {}), "");
    // What is left out at the end or in the middle is no tensor, and no error.
    EXPECT_EQ(refusal_after([](Records& r) { r.input(1, 1) = BP_NO_TENSOR; }), "");
    // A node may read a state after its new value was written, and a new value another node wrote.
    EXPECT_EQ(refusal_after([](Records& r) { std::swap(r.nodes[0], r.nodes[2]), std::swap(r.nodes[1], r.nodes[2]); }), "");
}

TEST(GraphView, AnArrayWithoutMemoryIsRefusedByName) {
    const std::pair<bp_span bp_graph::*, const char*> arrays[] = {{&bp_graph::tensors, "tensors"},
                                                                  {&bp_graph::nodes, "nodes"},
                                                                  {&bp_graph::attributes, "attributes"},
                                                                  {&bp_graph::symbols, "symbols"},
                                                                  {&bp_graph::edges, "edges"}};
    for (const auto& [array, name] : arrays) {
        for (const bp_span& lie : {bp_span{nullptr, 3, 64}, bp_span{"x", 3, 0}, bp_span{"x", 3, 3}}) {
            const std::string text = refusal_after([&, span = array](Records& r) { r.graph.*span = lie; });
            EXPECT_NE(text.find(std::string("its ") + name), std::string::npos) << text;
        }
    }
    EXPECT_EQ(refusal_after([](Records& r) { r.graph.symbols = {nullptr, 0, 0}; }), "");
    EXPECT_NE(refusal_after([](Records& r) { r.attributes[0].integers.data = nullptr; }), "");
}

TEST(GraphView, WhatIsReadMustHaveBeenWritten) {
    const std::pair<const char*, std::function<void(Records&)>> lies[] = {
        {"nodes in the wrong order", [](Records& r) { std::swap(r.nodes[0], r.nodes[1]); }},
        {"a temporary nobody writes", [](Records& r) { r.tensors[1].role = BP_ROLE_TEMPORARY; }},
        {"a node that reads its own output", [](Records& r) { r.input(1, 0) = 4; }},
        {"an output read before it is written", [](Records& r) { r.input(0, 0) = 4; }},
        {"the new value of a state read before it is written", [](Records& r) { r.input(0, 0) = 5; }},
    };
    for (const auto& [what, lie] : lies) {
        const std::string text = refusal_after(lie);
        EXPECT_NE(text.find("no node before it wrote"), std::string::npos) << what << ": " << text;
    }
}

TEST(GraphView, ANodeWritesWhatNobodyElseDoes) {
    for (const uint32_t bound : {0U, 1U, 2U}) {
        const std::string text = refusal_after([&](Records& r) { r.output(2) = bound; });
        EXPECT_NE(text.find("no temporary, output or new value"), std::string::npos) << bound << ": " << text;
    }
    for (const uint32_t written : {3U, 4U}) {
        const std::string text = refusal_after([&](Records& r) { r.output(2) = written; });
        EXPECT_NE(text.find("written before"), std::string::npos) << written << ": " << text;
    }
}

TEST(GraphView, IndicesStayInRange) {
    const std::pair<const char*, std::function<void(Records&)>> lies[] = {
        {"an edge", [](Records& r) { r.input(0, 0) = 6; }},
        {"an output edge", [](Records& r) { r.output(0) = 1U << 31; }},
        {"inputs", [](Records& r) { r.nodes[0].input = UINT32_MAX; }},
        {"as many inputs as can be", [](Records& r) { r.nodes[0].inputs = UINT32_MAX; }},
        {"outputs", [](Records& r) { r.nodes[0].outputs = 1000; }},
        {"attributes", [](Records& r) { r.nodes[2].attributes = 2; }},
        {"a rank", [](Records& r) { r.tensors[0].rank = 9; }},
        {"a symbol", [](Records& r) { r.tensors[0].dim[0] = -1; }},
        {"the least number", [](Records& r) { r.tensors[0].dim[1] = INT64_MIN; }},
        {"half a block", [](Records& r) { r.tensors[1].dtype = BP_Q8_0; }},
        {"a state", [](Records& r) { r.tensors[5].state_in = 7; }},
    };
    for (const auto& [what, lie] : lies) EXPECT_NE(refusal_after(lie), "") << what;
}

// bp_answer is filled, all but the fields that name the room for its text.
TEST(Answers, TheTextGoesIntoTheCallersRoomAndTheRoomStays) {
    char text[8] = "-------";
    bp_answer mine{};
    mine.code = BP_UNSUPPORTED;
    mine.reason = BP_WHY_LIMIT;
    bp_answer theirs{BP_SIZE(bp_answer, capacity), -1, 7, 0, 7, text, 5};
    sdk::write(&theirs, mine, "kernel 11x11");
    EXPECT_EQ(theirs.code, BP_UNSUPPORTED);
    EXPECT_EQ(theirs.retired_1, 0U);
    EXPECT_EQ(theirs.reason, uint32_t{BP_WHY_LIMIT});
    EXPECT_EQ(theirs.text, text);
    EXPECT_EQ(theirs.capacity, 5U);
    EXPECT_STREQ(text, "kern");
    EXPECT_EQ(text[5], '-');
}

TEST(Answers, AHostOf1_1IsWrittenNoFurtherThanItKnows) {
    char text[8] = "-------";
    bp_answer theirs{BP_SIZE(bp_answer, cost_ns), -1, 0, 0, 0, text, sizeof text};
    sdk::write(&theirs, bp_answer{}, "why");
    EXPECT_EQ(theirs.code, BP_OK);
    EXPECT_STREQ(text, "-------");
}

}  // namespace
}  // namespace backplane
