// Graph::hash(): equal for equal graphs, on every machine; different for any change that changes a result.
#include <set>

#include "graphs.hpp"

namespace backplane {
namespace {

struct Choice {
    int64_t extent = 4;
    DType dtype = DType::f32;
    uint64_t content = 7;
    double alpha = 0.25;
    float constant = 1;
    bool swapped = false, second_output = false, updates = true;
    std::string names = "n";
};

Graph make(const Choice& c) {
    Graph g;
    const TensorId x = g.input(c.names + "x", c.dtype, {2, c.extent});
    const TensorId w = g.weight(c.names + "w", c.dtype, {c.extent}, c.content);
    const TensorId k = g.constant(c.names + "k", c.dtype, {1}, graph::encode(std::vector<double>{c.constant}, c.dtype));
    const TensorId s = g.state(c.names + "s", c.dtype, {2, c.extent});
    const TensorId y = g.add(Op::leaky_relu, {x}, {{Attr::alpha, c.alpha}}, c.names + "a");
    const TensorId z = c.swapped ? g.add(Op::sub, {w, y}) : g.add(Op::sub, {y, w});
    const TensorId u = g.add(Op::add, {s, k});
    g.output(z, c.names + "z");
    if (c.second_output) g.output(y, "y");
    if (c.updates) g.update(s, u);
    return g;
}

TEST(Hash, EveryChangeOfMeaningChangesIt) {
    std::vector<Choice> choices(9);
    choices[1].extent = 5;
    choices[2].dtype = DType::f16;
    choices[3].content = 8;
    choices[4].alpha = 0.5;
    choices[5].constant = 2;
    choices[6].swapped = true;
    choices[7].second_output = true;
    choices[8].updates = false;
    std::set<std::array<uint64_t, 2>> seen;
    for (const Choice& c : choices) EXPECT_TRUE(seen.insert(make(c).hash()).second) << seen.size();
}

TEST(Hash, NamesDoNotCount) {
    Choice other;
    other.names = "another ";
    EXPECT_EQ(make({}).hash(), make(other).hash());
}

TEST(Hash, ACopySharesTheGraphUntilOneOfThemIsChanged) {
    Graph g = make({});
    const auto hash = g.hash();
    Graph copy = g;
    EXPECT_EQ(copy.tensors().data(), g.tensors().data()) << "a copy of a graph must not copy its tensors";
    EXPECT_EQ(copy.nodes().data(), g.nodes().data());
    const GraphData data = copy.data();
    EXPECT_EQ(copy.tensors().data(), g.tensors().data());
    copy.output(copy.add(Op::relu, {TensorId{0}}), "another");
    EXPECT_NE(copy.hash(), hash);
    EXPECT_EQ(g.hash(), hash);
    EXPECT_FALSE(g.find("another").valid());
    EXPECT_EQ(copy.tensors().size(), g.tensors().size() + 1);
    g.output(g.add(Op::tanh, {TensorId{0}}), "a third");  // alone again, and what was found of it is found anew
    EXPECT_NE(g.hash(), hash);
    copy = Graph();
    EXPECT_TRUE(copy.tensors().empty());
    EXPECT_EQ(copy.hash(), Graph().hash());
}

TEST(Hash, IsTheSameOnEveryMachineAndInEveryVersion) {
    // Cache entries are named by it. A change of this number is a change of every cache; say so in the CHANGELOG.
    EXPECT_EQ(make({}).hash(), (std::array<uint64_t, 2>{12934147608340993019ULL, 15830543981260047266ULL}));
}

}  // namespace
}  // namespace backplane
