// Graphs that lie about their shapes or attributes are refused, with the node and the reason; none is lowered.
#include <gtest/gtest.h>

#include "harness.hpp"

using namespace harness;

namespace {

// What compile says of a graph of one node.
std::string refusal(uint32_t op, const std::vector<Dims>& operands, Dims result, std::vector<Attribute> attributes = {}) {
    Device device;
    Graph g;
    std::vector<uint32_t> inputs;
    for (const Dims& dims : operands) inputs.push_back(g.tensor(BP_ROLE_INPUT, dims));
    g.output(g.add(op, inputs, std::move(result), std::move(attributes)));
    try {
        const Program program(device, g);
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST(Refusal, AShapeThatDoesNotFollowFromTheOperands) {
    EXPECT_NE(refusal(BP_OP_relu, {{8}}, {9}), "");
    EXPECT_NE(refusal(BP_OP_add, {{2, 3}, {3}}, {2, 4}), "");
    EXPECT_NE(refusal(BP_OP_add, {{2, 3}, {4}}, {2, 3}), "");
    EXPECT_NE(refusal(BP_OP_matmul, {{2, 3}, {4, 5}}, {2, 5}), "");
    EXPECT_NE(refusal(BP_OP_conv, {{1, 3, 8, 8}, {4, 2, 3, 3}}, {1, 4, 6, 6}), "");
    EXPECT_NE(refusal(BP_OP_conv, {{1, 3, 2, 2}, {4, 3, 3, 3}}, {1, 4, 1, 1}), "");
    EXPECT_NE(refusal(BP_OP_concat, {{2, 3}, {2, 3, 1}}, {4, 3}), "");
    EXPECT_NE(refusal(BP_OP_depth_to_space, {{1, 3, 2, 2}}, {1, 1, 4, 4}, {integer(BP_ATTR_blocksize, 2)}), "");
    EXPECT_NE(refusal(BP_OP_batch_norm, {{1, 3, 2}, {3}, {3}, {3}, {2}}, {1, 3, 2}), "");
    EXPECT_NE(refusal(BP_OP_reduce_sum, {{2, 3}}, {2, 3}, {list(BP_ATTR_axes, {1})}), "");
}

TEST(Refusal, AttributesOutsideTheirOperandOrOfAnotherOp) {
    EXPECT_NE(refusal(BP_OP_relu, {{8}}, {8}, {integer(BP_ATTR_axis, 0)}), "");
    EXPECT_NE(refusal(BP_OP_softmax, {{2, 3}}, {2, 3}, {integer(BP_ATTR_axis, 2)}), "");
    EXPECT_NE(refusal(BP_OP_softmax, {{2, 3}}, {2, 3}, {integer(BP_ATTR_axis, -1)}), "");
    EXPECT_NE(refusal(BP_OP_transpose, {{2, 3}}, {2, 2}, {list(BP_ATTR_perm, {0, 0})}), "");
    EXPECT_NE(refusal(BP_OP_transpose, {{2, 3}}, {3, 2}, {list(BP_ATTR_perm, {1, 0, 2})}), "");
    EXPECT_NE(refusal(BP_OP_slice, {{4}}, {2}, {list(BP_ATTR_starts, {3}), list(BP_ATTR_ends, {5})}), "");
    EXPECT_NE(refusal(BP_OP_slice, {{4}}, {2}, {list(BP_ATTR_starts, {0, 0}), list(BP_ATTR_ends, {2, 2})}), "");
    EXPECT_NE(refusal(BP_OP_reduce_max, {{2, 3}}, {2, 1}, {list(BP_ATTR_axes, {7})}), "");
    EXPECT_NE(refusal(BP_OP_conv, {{1, 4, 8, 8}, {4, 4, 1, 1}}, {1, 4, 8, 8}, {list(BP_ATTR_strides, {0, 1})}), "");
    EXPECT_NE(refusal(BP_OP_group_norm, {{1, 4, 8}}, {1, 4, 8}, {integer(BP_ATTR_groups, 0)}), "");
}

TEST(Refusal, OperandsThatAreMissing) {
    EXPECT_NE(refusal(BP_OP_add, {{8}}, {8}), "");
    EXPECT_NE(refusal(BP_OP_conv, {{1, 4, 8, 8}}, {1, 4, 8, 8}), "");
    EXPECT_NE(refusal(BP_OP_concat, {}, {8}), "");
}

TEST(Refusal, SizesThatDoNotFitInMemoryNorIn64Bits) {
    const int64_t huge = int64_t{1} << 40;
    EXPECT_NE(refusal(BP_OP_relu, {{huge, huge}}, {huge, huge}), "");
    EXPECT_NE(refusal(BP_OP_relu, {{INT64_MAX}}, {INT64_MAX}), "");
}

TEST(Refusal, NamesTheNodeAndTheReason) {
    const std::string text = refusal(BP_OP_softmax, {{2, 3}}, {2, 3}, {integer(BP_ATTR_axis, 2)});
    EXPECT_NE(text.find("Softmax"), std::string::npos) << text;
    EXPECT_NE(text.find("axis 2 lies outside x [2, 3]"), std::string::npos) << text;
}
