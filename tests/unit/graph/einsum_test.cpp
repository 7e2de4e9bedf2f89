// Einsum as products, transposes and sums: what is computed, which ops it becomes, what is refused.
#include "backplane/einsum.hpp"

#include <map>

#include "graphs.hpp"

namespace backplane {
namespace {

// The sum itself, over all letters; `extents` says them.
Numbers written_out(const std::string& equation, const std::vector<Given>& in, const std::map<char, int64_t>& extents) {
    const size_t arrow = equation.find("->");
    const std::string result = equation.substr(arrow + 2);
    std::vector<std::string> terms{""};
    for (const char c : equation.substr(0, arrow)) {
        if (c == ',')
            terms.emplace_back();
        else
            terms.back() += c;
    }
    std::string letters = result;
    for (const auto& [c, n] : extents)
        if (letters.find(c) == std::string::npos) letters += c;
    const auto place = [&](const std::string& term, const std::map<char, int64_t>& at) {
        int64_t i = 0;
        for (const char c : term) i = i * extents.at(c) + at.at(c);
        return static_cast<size_t>(i);
    };
    int64_t all = 1, results = 1;
    for (const char c : letters) all *= extents.at(c);
    for (const char c : result) results *= extents.at(c);
    Numbers y(static_cast<size_t>(results));
    for (int64_t i = 0; i < all; ++i) {
        std::map<char, int64_t> at;
        int64_t left = i;
        for (const char c : letters) {
            at[c] = left % extents.at(c);
            left /= extents.at(c);
        }
        double product = 1;
        for (size_t k = 0; k < in.size(); ++k) product *= in[k].values[place(terms[k], at)];
        y[place(result, at)] += product;
    }
    return y;
}

struct Made {
    Numbers values;
    Shape shape;
    std::vector<Op> ops;
};

Made made(const std::string& equation, const std::vector<Given>& in) {
    Graph g;
    std::vector<TensorId> ids;
    for (const Given& x : in) ids.push_back(g.constant("", x.dtype, x.shape, graph::encode(x.values, x.dtype)));
    const TensorId y = einsum(g, equation, ids);
    g.output(y, "y");
    std::vector<std::byte> room(bytes(g[y].dtype, g[y].shape));
    const graph::TensorRoom rooms[] = {{y, room}};
    graph::evaluate(g, {}, rooms);
    Made m{graph::decode(room, g[y].dtype), g[y].shape, {}};
    for (const Node& n : g.nodes()) m.ops.push_back(n.op);
    return m;
}

Given counted(const std::string& term, const std::map<char, int64_t>& extents) {
    Given x;
    size_t n = 1;
    for (const char c : term) {
        x.shape.push_back(extents.at(c));
        n *= static_cast<size_t>(extents.at(c));
    }
    for (size_t i = 0; i < n; ++i) x.values.push_back(static_cast<double>(static_cast<int64_t>(i * 7 % 11) - 5));
    return x;
}

TEST(Einsum, IsTheSumWrittenOut) {
    const std::map<char, int64_t> all{{'b', 2}, {'h', 3}, {'i', 5}, {'j', 4}, {'k', 7}};
    for (const std::string equation : {"ij,jk->ik",       "ij,kj->ik",       "ji,jk->ik",    "ji,kj->ki",   "bij,bjk->bik",
                                       "bihk,bjhk->bhij", "bhij,bjhk->bihk", "i,j->ij",      "i,i->",       "ij,ij->",
                                       "ij,ij->ij",       "bij,jk->bik",     "ij,bjk->bik",  "bhi,hij->bj", "ijk,ji->k",
                                       "ij,k->ikj",       "bi,hj->b",        "ij->ji",       "bij->j",      "ij->",
                                       "ijk->kij",        "bij,b->ij",       "hbi,jhb->bij", "ii->i",       "ii->",
                                       "bii->ib",         "iji->ji",         "iii->i",       "ijij->ji",    "iijk,ki->ij",
                                       "jij,kjk->ik"}) {
        std::vector<Given> in;
        std::map<char, int64_t> extents;
        for (const char c : equation)
            if (all.contains(c)) extents[c] = all.at(c);
        const std::string terms = equation.substr(0, equation.find("->"));
        const size_t comma = terms.find(',');
        in.push_back(counted(terms.substr(0, comma), extents));
        if (comma != std::string::npos) in.push_back(counted(terms.substr(comma + 1), extents));
        const Made y = made(equation, in);
        expect_close(y.values, written_out(equation, in, extents));
        Shape shape;
        for (const char c : equation.substr(equation.find("->") + 2)) shape.push_back(extents.at(c));
        EXPECT_EQ(y.shape, shape) << equation;
    }
}

TEST(Einsum, NeedsNoTransposeWhereTheProductTakesMatricesAsTheyLie) {
    const std::map<char, int64_t> n{{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}};
    const auto ops = [&](const std::string& a, const std::string& b, const std::string& y) {
        return made(a + "," + b + "->" + y, {counted(a, n), counted(b, n)}).ops;
    };
    const std::vector<Op> product{Op::matmul};
    EXPECT_EQ(ops("ij", "jk", "ik"), product);
    EXPECT_EQ(ops("ij", "kj", "ik"), product);
    EXPECT_EQ(ops("ji", "kj", "ik"), product);
    EXPECT_EQ(ops("bij", "bjk", "bik"), product);
    EXPECT_EQ(ops("ij", "jk", "ki"), (std::vector<Op>{Op::matmul, Op::transpose}));
}

TEST(Einsum, AxesWithoutNamesAndResultsThatAreNotSaid) {
    const Given a{{2, 3, 4}, counting(24)}, b{{2, 4, 5}, counting(40)};
    EXPECT_EQ(made("...ij, ...jk -> ...ik", {a, b}).values, made("bij,bjk->bik", {a, b}).values);
    EXPECT_EQ(made("...i->i...", {a}).shape, (Shape{4, 2, 3}));
    EXPECT_EQ(made("ba", {{{2, 3}, counting(6)}}).shape, (Shape{3, 2})) << "letters in the order of the alphabet";
    EXPECT_EQ(made("bij,bjk", {a, b}).shape, (Shape{3, 5})) << "b and j occur twice";
    EXPECT_EQ(made("...j,jk", {a, {{4, 5}, counting(20)}}).shape, (Shape{2, 3, 5}));
}

TEST(Einsum, TheRestIsRefusedByName) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {3, 3}), y = g.input("y", DType::f32, {4, 3});
    const auto refused = [&](const std::string& equation, const std::vector<TensorId>& operands, const std::string& why) {
        const std::string text = error_of([&] { einsum(g, equation, operands); });
        EXPECT_NE(text.find("Einsum '" + equation + "'"), std::string::npos) << text;
        EXPECT_NE(text.find(why), std::string::npos) << text;
    };
    refused("ii->i", {y}, "'i' of 4 and of 3");
    refused("ij->ii", {x}, "'i' twice in its result");
    refused("...i...", {g.input("z", DType::f32, {1, 1, 1, 1})}, "... twice in one term");
    refused("ij,jk,kl->il", {x, x, x}, "more than two operands");
    refused("ij,jk->ik", {x}, "names 2 operands, 1 are given");
    refused("ij,jk->ik", {x, y}, "'j' of 3 and of 4");
    refused("ijk->i", {x}, "3 letters for an operand [3, 3]");
    refused("ij->ik", {x}, "'k' in its result, and in no operand");
    refused("i+->i", {x}, "'+', which is no letter");
    refused("ij->i", {no_tensor}, "a tensor that the graph does not have");
    EXPECT_TRUE(g.nodes().empty()) << "nothing is left in the graph";
}

}  // namespace
}  // namespace backplane
