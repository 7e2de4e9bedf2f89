// Opset 6, as PyTorch wrote it in 2017: an operand that broadcasts from an axis on, networks that say whether they are trained.
#include "formats/onnx/prepare.hpp"
#include "onnx_result.hpp"
#include "support.hpp"

namespace backplane::onnx_before_7_test {
namespace {

using namespace onnx_bytes;  // NOLINT: it is what these tests are made of
using Numbers = std::vector<double>;

Graph graph_for(const std::string& nodes, const std::vector<std::string>& extents) {
    const std::string text = model_of_x(nodes, extents, 6);
    return formats::graph_of(formats::prepared(formats::parse_onnx(as_bytes(text), "a file")));
}
Numbers of(const std::string& nodes, const std::vector<std::string>& extents) {
    return made_of_x(graph_for(nodes, extents)).numbers;
}
void refused(const std::string& nodes, Code code, const std::string& says) {
    expect_error([&] { graph_for(nodes, {"1", "2", "2"}); }, code, says);
}

const std::string kTens = initializer(tensor("tens", {2}, {10, 20}));

TEST(OnnxBefore7, WhatIsNoneOfItIsRefused) {
    const std::string at3 = integer("broadcast", 1) + integer("axis", 3), at2 = integer("broadcast", 1) + integer("axis", 2);
    refused(kTens + node("Add", {"x", "tens"}, {"y"}, at3), Code::invalid, "no axis 3 among 3");
    refused(initializer(tensor("t", {2, 2}, {1, 2, 3, 4})) + node("Mul", {"x", "t"}, {"y"}, at2), Code::unsupported,
            "Mul: an operand of 2 axes at axis 2");
    refused(node("Dropout", {"x"}, {"y"}), Code::unsupported, "Dropout: is_test 0");
    refused(kTens + node("BatchNormalization", {"x", "tens", "tens", "tens", "tens"}, {"y"}), Code::unsupported,
            "is_test 0");
    refused(node("Add", {"x"}, {"y"}, integer("broadcast", 1)), Code::invalid, "takes 2 inputs");
}

TEST(OnnxBefore7, ASecondOperandBroadcastsFromItsAxisOn) {
    const std::string second = integer("broadcast", 1) + integer("axis", 1),
                      below = integer("broadcast", 1) + integer("axis", -2);
    for (const std::string& axis : {second, below})
        EXPECT_EQ(of(kTens + node("Add", {"x", "tens"}, {"y"}, axis), {"1", "2", "3"}), (Numbers{11, 12, 13, 24, 25, 26}));
    EXPECT_EQ(of(kTens + node("Mul", {"x", "tens"}, {"y"}, integer("broadcast", 1)), {"1", "2", "2"}),
              (Numbers{10, 40, 30, 80}))
        << "without an axis: the last ones";
    EXPECT_EQ(of(kTens + node("Sub", {"x", "tens"}, {"y"}, second + integers("consumed_inputs", {0, 0})), {"1", "2", "1"}),
              (Numbers{-9, -18}));
    EXPECT_EQ(of(node("Add", {"x", "x"}, {"y"}, integer("axis", 0)), {"2"}), (Numbers{2, 4}));
    const std::string slopes = initializer(tensor("slopes", {2}, {2, 3}));
    EXPECT_EQ(of(slopes + node("Neg", {"x"}, {"n"}) + node("PRelu", {"n", "slopes"}, {"y"}), {"1", "2", "2"}),
              (Numbers{-2, -4, -9, -12}));
}

// Constants, too; and what is added along the rows of a map is no bias of the convolution before it.
TEST(OnnxBefore7, FoldingAndConvolutionsKeepToTheAxis) {
    const std::string rows = integer("broadcast", 1) + integer("axis", 2);
    EXPECT_EQ(of(kTens + initializer(tensor("c", {1, 2, 1}, {1, 2})) +
                     node("Add", {"c", "tens"}, {"s"}, integer("broadcast", 1) + integer("axis", 1)) +
                     node("Mul", {"x", "s"}, {"y"}),
                 {"1", "2", "1"}),
              (Numbers{11, 44}));
    const std::string filter = initializer(tensor("w", {2, 1, 1, 1}, {1, 1}));
    EXPECT_EQ(
        of(filter + kTens + node("Conv", {"x", "w"}, {"c"}) + node("Add", {"c", "tens"}, {"y"}, rows), {"1", "1", "2", "1"}),
        (Numbers{11, 22, 11, 22}));
}

TEST(OnnxBefore7, NetworksThatAreNotTrained) {
    const std::string is_test = integer("is_test", 1);
    EXPECT_EQ(of(node("Dropout", {"x"}, {"y"}, is_test), {"2"}), (Numbers{1, 2}));
    const std::string ones = initializer(tensor("ones", {2}, {1, 1}));
    EXPECT_EQ(of(kTens + ones + node("BatchNormalization", {"x", "ones", "tens", "tens", "ones"}, {"y"}, is_test),
                 {"1", "2", "1"})[1] > 1.99,
              true);
    const std::string gemm = initializer(tensor("b", {2, 1}, {1, 1})) + initializer(tensor("c", {1}, {5}));
    EXPECT_EQ(of(gemm + node("Gemm", {"x", "b", "c"}, {"y"}, integer("broadcast", 1)), {"2", "2"}), (Numbers{8, 12}));
}

}  // namespace
}  // namespace backplane::onnx_before_7_test
