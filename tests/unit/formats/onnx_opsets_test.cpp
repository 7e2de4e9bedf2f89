// Operators whose form or meaning changed, in each opset that is read, as that opset writes them.
#include <cmath>

#include "formats/onnx/convert.hpp"
#include "onnx_result.hpp"
#include "support.hpp"

namespace backplane::onnx_opsets_test {
namespace {

using namespace onnx_bytes;  // NOLINT: it is what these tests are made of
using Numbers = std::vector<double>;

std::string real(const std::string& name, float number) {
    const std::string bytes = raw(std::vector<float>{number});
    return field(5, field(1, name) + varint(2 << 3 | 5) + bytes + field(20, 1));
}
std::string reals(const std::string& name, const std::vector<float>& numbers) {
    return field(5, field(1, name) + field(7, raw(numbers)) + field(20, 6));
}
std::string wholes(const std::string& name, const std::vector<int64_t>& numbers) {
    return initializer(tensor(name, kI64, {numbers.size()}, raw(numbers)));
}

class OnnxOpset : public testing::TestWithParam<uint64_t> {
protected:
    [[nodiscard]] static bool since(uint64_t opset) { return GetParam() >= opset; }
    [[nodiscard]] static std::string is_test() { return since(7) ? "" : integer("is_test", 1); }

    // y of the nodes, x being 1 to 6 as rows of 3.
    [[nodiscard]] static Numbers of(const std::string& nodes, const std::vector<std::string>& extents = {"2", "3"}) {
        const std::string text = model_of_x(nodes, extents, GetParam());
        const formats::OnnxModel read = formats::parse_onnx(as_bytes(text), "a file");
        EXPECT_EQ(read.opset, static_cast<int64_t>(GetParam()));
        return made_of_x(formats::graph_of(read)).numbers;
    }

    // A node of x with a list that was an attribute before that opset and is an operand from it on.
    [[nodiscard]] static std::string with_list(const std::string& op, uint64_t operand_since, const std::string& name,
                                               const std::vector<int64_t>& list, const std::string& x = "x",
                                               const std::string& more = {}) {
        if (!since(operand_since)) return node(op, {x}, {"y"}, integers(name, list) + more);
        return wholes(name, list) + node(op, {x, name}, {"y"}, more);
    }
};

TEST_P(OnnxOpset, AxesAreAnAttributeAndThenAnOperand) {
    const std::string keep = integer("keepdims", 0);
    EXPECT_EQ(of(with_list("ReduceSum", 13, "axes", {1}, "x", keep)), (Numbers{6, 15}));
    for (const auto& [op, want] : {std::pair<std::string, Numbers>{"ReduceMean", {2, 5}},
                                   {"ReduceMax", {3, 6}},
                                   {"ReduceMin", {1, 4}},
                                   {"ReduceProd", {6, 120}},
                                   {"ReduceL1", {6, 15}},
                                   {"ReduceSumSquare", {14, 77}}})
        EXPECT_EQ(of(with_list(op, 18, "axes", {1}, "x", keep)), want) << op;
    EXPECT_EQ(of(with_list("Unsqueeze", 13, "axes", {0})), (Numbers{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(of(with_list("Squeeze", 13, "axes", {1}), {"2", "1", "3"}), (Numbers{1, 2, 3, 4, 5, 6}));
}

TEST_P(OnnxOpset, BoundsOfSlicesPadsAndClipsAreAttributesAndThenOperands) {
    const std::string slice =
        since(10) ? wholes("from", {1}) + wholes("to", {3}) + wholes("along", {1}) +
                        node("Slice", {"x", "from", "to", "along"}, {"y"})
                  : node("Slice", {"x"}, {"y"}, integers("starts", {1}) + integers("ends", {3}) + integers("axes", {1}));
    EXPECT_EQ(of(slice), (Numbers{2, 3, 5, 6}));
    const std::string pad = since(11) ? wholes("pads", {0, 1, 0, 0}) + initializer(tensor("with", {}, {9})) +
                                            node("Pad", {"x", "pads", "with"}, {"y"})
                                      : node("Pad", {"x"}, {"y"}, integers("pads", {0, 1, 0, 0}) + real("value", 9));
    EXPECT_EQ(of(pad), (Numbers{9, 1, 2, 3, 9, 4, 5, 6}));
    const std::string clip = since(11) ? initializer(tensor("least", {}, {2})) + initializer(tensor("most", {}, {5})) +
                                             node("Clip", {"x", "least", "most"}, {"y"})
                                       : node("Clip", {"x"}, {"y"}, real("min", 2) + real("max", 5));
    EXPECT_EQ(of(clip), (Numbers{2, 2, 3, 4, 5, 5}));
}

TEST_P(OnnxOpset, WhatIsPickedSplitOrLeftOutIsSaidByAttributesAndThenByOperands) {
    const std::string top =
        since(10) ? wholes("k", {2}) + node("TopK", {"x", "k"}, {"y", ""}) : node("TopK", {"x"}, {"y", ""}, integer("k", 2));
    EXPECT_EQ(of(top), (Numbers{3, 2, 6, 5}));
    const std::string split = since(13)
                                  ? wholes("parts", {1, 2}) + node("Split", {"x", "parts"}, {"", "y"}, integer("axis", 1))
                                  : node("Split", {"x"}, {"first", "y"}, integer("axis", 1) + integers("split", {1, 2}));
    EXPECT_EQ(of(split), (Numbers{2, 3, 5, 6}));
    const std::string dropout = since(12)
                                    ? initializer(tensor("ratio", {}, {0.75F})) + node("Dropout", {"x", "ratio"}, {"y"})
                                    : node("Dropout", {"x"}, {"y"}, real("ratio", 0.75F) + is_test());
    EXPECT_EQ(of(dropout), (Numbers{1, 2, 3, 4, 5, 6}));
}

// Until opset 12 over all that follows the axis, which is the second where none is named; then along the axis, the last.
TEST_P(OnnxOpset, SoftmaxAndItsLikeAreOverAllBehindTheAxisAndThenAlongIt) {
    const std::vector<std::string> extents{"1", "2", "3"};
    const Numbers soft = of(node("Softmax", {"x"}, {"y"}), extents), logs = of(node("LogSoftmax", {"x"}, {"y"}), extents);
    double sum = 0;
    for (int i = since(13) ? 4 : 1; i <= 6; ++i) sum += std::exp(i);
    EXPECT_NEAR(soft.at(5), std::exp(6) / sum, 1e-6);
    EXPECT_NEAR(logs.at(5), 6 - std::log(sum), 1e-5);
    EXPECT_EQ(of(node("Hardmax", {"x"}, {"y"}), extents),
              since(13) ? (Numbers{0, 0, 1, 0, 0, 1}) : (Numbers{0, 0, 0, 0, 0, 1}));
    EXPECT_EQ(of(node("Hardmax", {"x"}, {"y"}, integer("axis", 2)), extents), (Numbers{0, 0, 1, 0, 0, 1}));
}

TEST_P(OnnxOpset, ScalesOfPicturesAreUpsamplesAndThenResizes) {
    const std::vector<float> scales{1, 1, 1, 2};
    const std::string operand = initializer(tensor("scales", {4}, scales)) + initializer(tensor("none", {0}, {}));
    const std::string resize = since(11)   ? operand + node("Resize", {"x", "none", "scales"}, {"y"})
                               : since(10) ? operand + node("Resize", {"x", "scales"}, {"y"})
                               : since(9)  ? operand + node("Upsample", {"x", "scales"}, {"y"})
                                           : node("Upsample", {"x"}, {"y"}, reals("scales", scales));
    EXPECT_EQ(of(resize, {"1", "1", "2", "3"}), (Numbers{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
}

TEST_P(OnnxOpset, ALayerOfANetworkIsTheSameInAll) {
    const std::string layer = initializer(tensor("w", {3, 2}, {1, 0, 0, 1, 1, -1})) +
                              initializer(tensor("b", {2}, {1, -9})) + node("Gemm", {"x", "w", "b"}, {"g"}) +
                              node("Relu", {"g"}, {"r"}) + initializer(tensor("s", {2}, {2, 1})) +
                              initializer(tensor("m", {2}, {5, 0})) + initializer(tensor("z", {2}, {0, 0})) +
                              initializer(tensor("v", {2}, {1, 1})) +
                              node("BatchNormalization", {"r", "s", "z", "m", "v"}, {"y"}, real("epsilon", 0) + is_test());
    EXPECT_EQ(of(layer), (Numbers{0, 0, 12, 0}));
}

// By ONNX's types; only the depth of OneHot may be a float.
TEST(OnnxOperands, AxesLengthsAndCountsAreOfWholeNumbers) {
    const auto graph_with = [](const std::string& op, uint64_t type, const std::string& bytes) {
        const std::string given = initializer(tensor("n", type, {1}, bytes));
        const std::string nodes = op == "OneHot" ? initializer(tensor("v", kF32, {2}, raw(std::vector<float>{0, 1}))) +
                                                       node(op, {"x", "n", "v"}, {"y"})
                                                 : node(op, {"x", "n"}, {"y"});
        return formats::graph_of(formats::parse_onnx(as_bytes(model_of_x(given + nodes, {"3"})), "a file"));
    };
    const std::string half = raw(std::vector<float>{0.5F}), four = raw(std::vector<float>{4}),
                      whole = raw(std::vector<int64_t>{0});
    for (const char* op : {"CumSum", "Unsqueeze", "ReduceSum", "Tile", "Reshape"})
        expect_error([&] { graph_with(op, kF32, half); }, Code::unsupported,
                     std::string(op) + ": operand 1 of f32, it is of whole numbers: i64 or i32");
    EXPECT_EQ(made_of_x(graph_with("CumSum", kI64, whole)).numbers, (Numbers{1, 3, 6}));
    EXPECT_EQ(made_of_x(graph_with("OneHot", kF32, four)).numbers, (Numbers{0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
    expect_error([&] { graph_with("OneHot", kF32, raw(std::vector<float>{-1})); }, Code::unsupported,
                 "OneHot: a depth of -1");
}

INSTANTIATE_TEST_SUITE_P(Of, OnnxOpset, testing::Range<uint64_t>(6, 25));

}  // namespace
}  // namespace backplane::onnx_opsets_test
