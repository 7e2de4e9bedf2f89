// Which products and attention go to the matrix units, and how they are cut for them.
#include <gtest/gtest.h>

#include <optional>

#include "graph_maker.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {
namespace {

Abilities matrix_units() {
    Abilities can;
    can.halves = can.bytes = can.longs = true;
    can.most_range = 1 << 30;
    can.most_invocations = 1024;
    can.shared_bytes = 101376;
    can.matrix_tiles = can.attention_matrix = true;
    can.float_parts = 16;
    return can;
}

struct Heads {
    int64_t tokens = 200, size = 64, distances = 399;
    bool biases = true;
    uint32_t dtype = BP_F16, math = BP_MATH_DEFAULT;
};

std::vector<uint32_t> kernels_of(const Abilities& can, const Heads& h) {
    GraphMaker g;
    const std::vector<int64_t> shape{1, 2, h.tokens, h.size};
    std::vector<uint32_t> in(h.distances == 0 ? 3 : h.biases ? 8 : 6, BP_NO_TENSOR);
    for (size_t i = 0; i < 3; ++i) in[i] = g.tensor(BP_ROLE_INPUT, shape, h.dtype);
    if (h.distances != 0) in[5] = g.tensor(BP_ROLE_INPUT, {2, h.distances, h.size}, h.dtype);
    for (size_t i = 6; i < in.size(); ++i) in[i] = g.tensor(BP_ROLE_INPUT, {2, h.size}, h.dtype);
    g.node(BP_OP_attention, in, g.tensor(BP_ROLE_OUTPUT, shape, h.dtype));
    std::vector<uint32_t> kernels;
    for (const Dispatch& d : g.plan(can, h.math).dispatches) kernels.push_back(d.kernel);
    return kernels;
}

using Kernels = std::vector<uint32_t>;

TEST(MatrixUnits, AttentionWithRelativePositionsIsOnThemAndItsBiasesAreMadeBefore) {
    const Abilities can = matrix_units();
    EXPECT_EQ(kernels_of(can, {}), (Kernels{kKernel_attention_biases_f16, kKernel_attention_matrix_f16}));
    EXPECT_EQ(kernels_of(can, {.size = 128}), (Kernels{kKernel_attention_biases_f16, kKernel_attention_matrix_f16}));
    EXPECT_EQ(kernels_of(can, {.biases = false}), Kernels{kKernel_attention_matrix_f16});
    EXPECT_EQ(kernels_of(can, {.distances = 0}), Kernels{kKernel_attention_matrix_f16});
}

TEST(MatrixUnits, AttentionThatTheyWouldRoundOrDoNotFitIsNotOnThem) {
    Abilities can = matrix_units();
    EXPECT_EQ(kernels_of(can, {.math = BP_MATH_STRICT}), Kernels{kKernel_attention_f16});
    EXPECT_EQ(kernels_of(can, {.dtype = BP_F32}), Kernels{kKernel_attention_f32});
    EXPECT_EQ(kernels_of(can, {.size = 20}), Kernels{kKernel_attention_f16});
    EXPECT_EQ(kernels_of(can, {.size = 136}), Kernels{kKernel_attention_f16});
    EXPECT_EQ(kernels_of(can, {.tokens = 15, .distances = 29}), Kernels{kKernel_attention_f16});
    can.shared_bytes = 49152;
    EXPECT_EQ(kernels_of(can, {.size = 128}), Kernels{kKernel_attention_f16});
    EXPECT_EQ(kernels_of(can, {.size = 64}).back(), kKernel_attention_matrix_f16);
}

TEST(MatrixUnits, AttentionOfFloatsIsOnThemInParts) {
    const Abilities can = matrix_units();
    const auto of_floats = [&](const Heads& h) { return kernels_of(can, {h.tokens, h.size, 0, false, BP_F32, h.math}); };
    EXPECT_EQ(of_floats({}), Kernels{kKernel_attention_parts_few_f32}) << "too few rows for the device";
    EXPECT_EQ(of_floats({.tokens = 16, .size = 20}), Kernels{kKernel_attention_parts_few_f32}) << "heads of whole fours";
    EXPECT_EQ(of_floats({.tokens = 4000}), Kernels{kKernel_attention_parts_f32});
    EXPECT_EQ(of_floats({.size = 128}), Kernels{kKernel_attention_parts_few_f32});
    EXPECT_EQ(of_floats({.tokens = 4000, .size = 128}), Kernels{kKernel_attention_parts_f32});
    EXPECT_EQ(of_floats({.size = 132}), Kernels{kKernel_attention_f32});
    EXPECT_EQ(of_floats({.size = 22}), Kernels{kKernel_attention_f32});
    EXPECT_EQ(of_floats({.tokens = 15}), Kernels{kKernel_attention_f32});
    EXPECT_EQ(of_floats({.math = BP_MATH_STRICT}), Kernels{kKernel_attention_tiles_f32});
    Abilities little = can;
    little.shared_bytes = 49152;
    EXPECT_EQ(kernels_of(little, {200, 64, 0, false, BP_F32}), Kernels{kKernel_attention_parts_few_f32});
    EXPECT_EQ(kernels_of(little, {4000, 64, 0, false, BP_F32}), Kernels{kKernel_attention_parts_f32});
    EXPECT_EQ(kernels_of(little, {200, 128, 0, false, BP_F32}), Kernels{kKernel_attention_tiles_f32});
}

TEST(MatrixUnits, AttentionOfFloatsWithRelativePositionsIsOnThemWhereThereIsMuchSharedMemory) {
    Abilities can = matrix_units();
    const auto of_floats = [&](const Heads& h) {
        return kernels_of(can, {h.tokens, h.size, h.distances, h.biases, BP_F32, h.math});
    };
    EXPECT_EQ(of_floats({}), Kernels{kKernel_attention_f32});
    can.shared_bytes = 200704;
    EXPECT_EQ(of_floats({}), Kernels{kKernel_attention_parts_relative_f32}) << "it adds the biases itself";
    EXPECT_EQ(of_floats({.size = 128, .biases = false}), Kernels{kKernel_attention_parts_relative_f32});
    EXPECT_EQ(of_floats({.tokens = 15, .distances = 29}), Kernels{kKernel_attention_f32});
    EXPECT_EQ(of_floats({.size = 132}), Kernels{kKernel_attention_f32});
    EXPECT_EQ(of_floats({.math = BP_MATH_STRICT}), Kernels{kKernel_attention_f32});
    can.few_kernels = true;
    EXPECT_EQ(of_floats({}), Kernels{kKernel_attention_f32}) << "compiled with the module, for compute capability 9.0 alone";
    can.warpgroups = true;
    EXPECT_EQ(of_floats({}), Kernels{kKernel_attention_parts_relative_f32});
}

TEST(MatrixUnits, ProductsOfFloatsAreOnThemInParts) {
    const auto kernel = [](const Abilities& can, int64_t rows, int64_t columns, int64_t depth, bool turned,
                           uint32_t math = BP_MATH_DEFAULT, uint32_t right = BP_F32) {
        GraphMaker g;
        const uint32_t a = g.tensor(BP_ROLE_INPUT, {rows, depth}, BP_F32);
        const uint32_t b =
            g.tensor(BP_ROLE_INPUT, turned ? std::vector{columns, depth} : std::vector{depth, columns}, right);
        g.node(BP_OP_matmul, {a, b}, g.tensor(BP_ROLE_OUTPUT, {rows, columns}, BP_F32),
               {integer(BP_ATTR_transpose_b, turned ? 1 : 0)});
        return g.plan(can, math).dispatches.back().kernel;
    };
    Abilities can = matrix_units();
    EXPECT_EQ(kernel(can, 512, 2048, 2048, true), kKernel_matmul_parts_f32);
    EXPECT_EQ(kernel(can, 999, 300, 72, false), kKernel_matmul_parts_f32);
    EXPECT_EQ(kernel(can, 999, 301, 72, true), kKernel_matmul_parts_f32)
        << "what does not follow each other in memory may be odd";
    EXPECT_EQ(kernel(can, 999, 301, 72, false), kKernel_matmul_f32);
    EXPECT_EQ(kernel(can, 999, 300, 70, false), kKernel_matmul_f32);
    EXPECT_EQ(kernel(can, 512, 2048, 2048, true, BP_MATH_STRICT), kKernel_matmul_f32);
    EXPECT_EQ(kernel(can, 512, 2048, 2048, true, BP_MATH_DEFAULT, BP_F16), kKernel_matmul_f32_by_f16);
    EXPECT_EQ(kernel(can, 125, 1024, 4096, false), kKernel_matmul_f32) << "32 tiles leave most of the device idle";
    EXPECT_EQ(kernel(can, 1, 2048, 2048, true), kKernel_matvec_f32);
    can.float_parts = 0;
    EXPECT_EQ(kernel(can, 512, 2048, 2048, true), kKernel_matmul_f32) << "matrix units that take no floats";
}

// As Vulkan has them: compiled with the module (common/gpu/ptx_texts.cmake).
TEST(MatrixUnits, AttentionInPartsThatComesCompiledIsOfHeadsOfTwoSizes) {
    Abilities can = matrix_units();
    can.float_parts = 64;
    const auto cut = [&](int64_t tokens, int64_t size) {
        GraphMaker g;
        const std::vector<int64_t> shape{1, 8, tokens, size};
        std::vector<uint32_t> in;
        for (size_t i = 0; i < 3; ++i) in.push_back(g.tensor(BP_ROLE_INPUT, shape, BP_F32));
        g.node(BP_OP_attention, in, g.tensor(BP_ROLE_OUTPUT, shape, BP_F32));
        const Dispatch d = g.plan(can).dispatches.back();
        EXPECT_EQ(d.kernel, tokens > 256 ? kKernel_attention_parts_f32 : kKernel_attention_parts_few_f32);
        return d.constants;
    };
    using Constants = std::vector<uint32_t>;
    EXPECT_EQ(cut(4096, 40), (Constants{256, 256, 32, 64, 64, 2}));
    EXPECT_EQ(cut(2048, 64), (Constants{256, 128, 64, 64, 64, 1}));
    EXPECT_EQ(cut(1024, 20), (Constants{256, 64, 32, 64, 64, 1}));
    EXPECT_EQ(cut(512, 64), (Constants{256, 32, 16, 64, 64, 1}));
    EXPECT_EQ(cut(256, 64), (Constants{256, 32, 64, 64}));
    EXPECT_EQ(cut(128, 20), (Constants{256, 16, 64, 64}));
    EXPECT_EQ(cut(4096, 68), (Constants{128, 64, 16, 128, 128, 1}));
    can.shared_bytes = 200704;
    EXPECT_EQ(cut(4096, 40), (Constants{256, 256, 32, 64, 64, 2}));
    EXPECT_EQ(cut(2048, 64), (Constants{256, 128, 64, 64, 64, 1}));
    EXPECT_EQ(cut(1024, 20), (Constants{256, 64, 64, 64, 64, 1}));
    EXPECT_EQ(cut(512, 64), (Constants{256, 32, 32, 64, 64, 1}));
    EXPECT_EQ(cut(256, 64), (Constants{256, 32, 64, 64}));
    EXPECT_EQ(cut(256, 128), (Constants{256, 16, 128, 128}));
    EXPECT_EQ(cut(4096, 68), (Constants{256, 256, 32, 128, 128, 2}));
    EXPECT_EQ(cut(2048, 128), (Constants{256, 128, 32, 128, 128, 1}));
    EXPECT_EQ(cut(512, 128), (Constants{256, 64, 32, 128, 128, 1}));
    can.few_kernels = true;  // CUDA's, which are those for every card
    EXPECT_EQ(cut(512, 64), (Constants{256, 32, 16, 64, 64, 1}));
}

TEST(MatrixUnits, MatricesOfWorkgroupsTakeHeadsOfEightsAndWholeTilesOfPositions) {
    Abilities can = matrix_units();
    can.workgroup_matrices = true;
    can.attention_matrix = false;
    EXPECT_EQ(kernels_of(can, {}), (Kernels{kKernel_attention_biases_f16, kKernel_attention_workgroup_f16}));
    EXPECT_EQ(kernels_of(can, {.size = 40, .distances = 0}), Kernels{kKernel_attention_workgroup_f16});
    EXPECT_EQ(kernels_of(can, {.size = 44, .distances = 0}), Kernels{kKernel_attention_f16});
    EXPECT_EQ(kernels_of(can, {.tokens = 64, .distances = 127}), Kernels{kKernel_attention_f16});
}

// Of halves by halves whose rows lie together.
Dispatch product_of(const Abilities& can, int64_t rows, int64_t columns, int64_t depth) {
    GraphMaker g;
    const uint32_t a = g.tensor(BP_ROLE_INPUT, {rows, depth}, BP_F16);
    const uint32_t b = g.tensor(BP_ROLE_INPUT, {columns, depth}, BP_F16);
    g.node(BP_OP_matmul, {a, b}, g.tensor(BP_ROLE_OUTPUT, {rows, columns}, BP_F16), {integer(BP_ATTR_transpose_b, 1)});
    return g.plan(can).dispatches.back();
}

// Rows and columns that a workgroup of matmul_matrix makes, and how many workgroups there are.
struct Cut {
    uint32_t rows, columns, groups;
    friend bool operator==(const Cut&, const Cut&) = default;
};

Cut cut_of(const Abilities& can, int64_t rows, int64_t columns, int64_t depth) {
    const Dispatch d = product_of(can, rows, columns, depth);
    EXPECT_EQ(d.kernel, kKernel_matmul_matrix_f16);
    const std::vector<uint32_t>& c =
        d.constants;  // invocations, two of the epilogue, tiles down and across, warps above each other
    return {16 * c[3] * c[5], 16 * c[4] * (c[0] / 32 / c[5]), d.groups[0] * d.groups[1] * d.groups[2]};
}

// Columns that a workgroup of matmul_warpgroup makes at once, and how many workgroups there are; none: the product is not for it.
std::pair<uint32_t, uint32_t> warpgroups_of(const Abilities& can, const std::vector<int64_t>& left,
                                            const std::vector<int64_t>& right, bool turned = true, uint32_t dtype = BP_F16,
                                            uint32_t math = BP_MATH_DEFAULT) {
    GraphMaker g;
    std::vector<int64_t> out = left;
    out.back() = turned ? right[right.size() - 2] : right.back();
    g.node(BP_OP_matmul, {g.tensor(BP_ROLE_INPUT, left, dtype), g.tensor(BP_ROLE_INPUT, right, dtype)},
           g.tensor(BP_ROLE_OUTPUT, out, dtype), {integer(BP_ATTR_transpose_b, turned ? 1 : 0)});
    const Plan plan = g.plan(can, math);
    const Dispatch& d = plan.dispatches.back();
    if (d.kernel != kKernel_matmul_warpgroup_f16) return {0, 0};
    EXPECT_EQ(d.constants[0], 384U);
    EXPECT_EQ(d.constants[6], turned ? 1U : 0U);
    EXPECT_EQ(d.groups[1] * d.groups[2], 1U) << "one round of workgroups goes through all tiles";
    return {d.constants[3], d.groups[0]};
}

TEST(MatrixUnits, ProductsOfWarpgroupsAreCutByTheTimeOfAllRounds) {
    Abilities can = matrix_units();
    can.warpgroups = true;
    using Columns = std::pair<uint32_t, uint32_t>;
    EXPECT_EQ(warpgroups_of(can, {4096, 4096}, {4096, 4096}), (Columns{256, 132}));
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2048}), (Columns{64, 128}))
        << "64 of 128 columns leave half of the device idle";
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2048}, false), (Columns{64, 128}));
    EXPECT_EQ(warpgroups_of(can, {16, 256, 512}, {512, 512}), (Columns{128, 128}))
        << "matrices beside each other are tiles like others";
    EXPECT_EQ(warpgroups_of(can, {100, 72}, {40, 72}).second, 1U) << "tiles need not be whole";
}

TEST(MatrixUnits, ProductsAloneAreForWarpgroupsWhereThereIsNoOtherKernelOfTheirs) {
    Abilities can = matrix_units();
    can.warpgroup_products = true;
    EXPECT_EQ(warpgroups_of(can, {4096, 4096}, {4096, 4096}), std::pair(256U, 132U));
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2048}), std::pair(64U, 128U));
    EXPECT_EQ(product_of(can, 125, 1024, 4096).kernel, kKernel_matmul_warpgroup_f16) << "no clusters share the depth";
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2048}, true, BP_F16, BP_MATH_STRICT).first, 0U);
    EXPECT_EQ(product_of(can, 32, 2048, 2048).kernel, kKernel_matmul_matrix_f16) << "a tile would be nearly empty";
    EXPECT_EQ(kernels_of(can, {.biases = false}), Kernels{kKernel_attention_matrix_f16});
    can.least_patches = 0;  // tests: each cut, but none of clusters
    for (int64_t columns = 64; columns < 128; columns += 8)
        EXPECT_EQ(product_of(can, 64, columns, 512).kernel, kKernel_matmul_warpgroup_f16) << columns;
}

TEST(MatrixUnits, AFewTilesHaveTheirDepthSharedByClustersThatAreThereAtOnce) {
    Abilities can = matrix_units();
    can.warpgroups = true;
    const auto split = [&](int64_t rows, int64_t columns, int64_t depth) {
        const Dispatch d = product_of(can, rows, columns, depth);
        if (d.kernel != kKernel_matmul_warpgroup_split_f16) return std::pair(1U, 0U);
        return std::pair(d.constants[7], d.groups[0]);
    };
    EXPECT_EQ(split(125, 1024, 4096), std::pair(4U, 64U)) << "sixteen clusters of eight are not there at once: fifteen are";
    EXPECT_EQ(split(125, 960, 4096), std::pair(8U, 120U));
    EXPECT_EQ(split(125, 3072, 4096), std::pair(2U, 96U));
    EXPECT_EQ(split(125, 3904, 1024), std::pair(1U, 0U)) << "there are no more workgroups of clusters at once than 120";
    EXPECT_EQ(split(256, 4096, 4096), std::pair(2U, 128U)) << "but of two with tiles of 128 columns";
    EXPECT_EQ(product_of(can, 256, 4096, 4096).constants[3], 128U);
    EXPECT_EQ(split(256, 4352, 4096), std::pair(1U, 0U)) << "68 clusters are not there at once";
    EXPECT_EQ(split(125, 1024, 64), std::pair(1U, 0U)) << "one slice is nothing to share";
}

// Values of d_model = heads * size, of which q, k and v are parts; heads are brought to the front, and back behind attention.
std::vector<Dispatch> heads_of_one_product(const Abilities& can, int64_t tokens, int64_t heads, int64_t size,
                                           uint32_t dtype) {
    GraphMaker g;
    const int64_t model = heads * size;
    const uint32_t all = g.tensor(BP_ROLE_INPUT, {2, tokens, 3 * model}, dtype);
    const std::vector<int64_t> cut{2, tokens, heads, size}, turn{0, 2, 1, 3}, rows{2, tokens, model};
    std::vector<std::vector<int64_t>> starts, ends;
    for (int64_t i = 0; i < 3; ++i) starts.push_back({0, 0, i * model}), ends.push_back({2, tokens, (i + 1) * model});
    std::vector<uint32_t> in;
    for (size_t i = 0; i < 3; ++i) {
        const uint32_t part = g.tensor(BP_ROLE_TEMPORARY, rows, dtype), split = g.tensor(BP_ROLE_TEMPORARY, cut, dtype);
        g.node(BP_OP_slice, {all}, part, {list(BP_ATTR_starts, starts[i]), list(BP_ATTR_ends, ends[i])});
        g.node(BP_OP_reshape, {part}, split, {list(BP_ATTR_shape, cut)});
        in.push_back(g.tensor(BP_ROLE_TEMPORARY, {2, heads, tokens, size}, dtype));
        g.node(BP_OP_transpose, {split}, in.back(), {list(BP_ATTR_perm, turn)});
    }
    const uint32_t y = g.tensor(BP_ROLE_TEMPORARY, {2, heads, tokens, size}, dtype);
    g.node(BP_OP_attention, in, y);
    g.node(BP_OP_transpose, {y}, g.tensor(BP_ROLE_OUTPUT, cut, dtype), {list(BP_ATTR_perm, turn)});
    return g.plan(can).dispatches;
}

TEST(MatrixUnits, AttentionOfWarpgroupsReadsAndWritesHeadsWhereTheyLie) {
    Abilities can = matrix_units();
    can.warpgroups = true;
    const std::vector<Dispatch> all = heads_of_one_product(can, 200, 4, 64, BP_F16);
    ASSERT_EQ(all.size(), 1U);
    const std::vector<uint32_t>& words = all[0].parameters;
    ASSERT_EQ(words.size(), ATTENTION_VIEWS + 16);
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(all[0].operands[i].value, all[0].operands[0].value);
        EXPECT_EQ(
            std::vector<uint32_t>(words.begin() + ATTENTION_VIEWS + 4 * i, words.begin() + ATTENTION_VIEWS + 4 * i + 4),
            (std::vector<uint32_t>{768, 64, 768 * 200, 256 * i}));
    }
    EXPECT_EQ(std::vector<uint32_t>(words.end() - 4, words.end()), (std::vector<uint32_t>{256, 64, 256 * 200, 0}));
    EXPECT_EQ(heads_of_one_product(can, 200, 4, 60, BP_F16).size(), 8U) << "heads that the kernel does not take are moved";
    EXPECT_EQ(heads_of_one_product(can, 200, 4, 64, BP_F32).size(), 8U);
    can.warpgroups = false;
    EXPECT_EQ(heads_of_one_product(can, 200, 4, 64, BP_F16).size(), 8U);
}

TEST(MatrixUnits, ProductsThatWarpgroupsDoNotSuitAreDoneAsBefore) {
    Abilities can = matrix_units();
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2048}).first, 0U) << "without them";
    can.warpgroups = true;
    EXPECT_EQ(warpgroups_of(can, {16, 2048}, {2048, 2048}).first, 0U) << "few rows";
    EXPECT_EQ(warpgroups_of(can, {512, 2044}, {2048, 2044}).first, 0U) << "rows that are no whole eights";
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2044}, false).first, 0U);
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2048}, true, BP_F32).first, 0U);
    EXPECT_EQ(warpgroups_of(can, {512, 2048}, {2048, 2048}, true, BP_F16, BP_MATH_STRICT).first, 0U);
}

// The convolution of a map of `in` channels, and the kernel that lays its filters out; none: not for conv_warpgroup.
struct ConvCase {
    int64_t images = 1, in = 64, out = 64, down = 3, across = 3, height = 512, width = 512;
    int64_t pad = 1, group = 1, stride = 1;
    uint32_t math = BP_MATH_DEFAULT;
};
std::optional<Dispatch> conv_of_warpgroups(const Abilities& can, const ConvCase& c) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {c.images, c.in, c.height, c.width}, BP_F16);
    const uint32_t w = g.tensor(BP_ROLE_INPUT, {c.out, c.in / c.group, c.down, c.across}, BP_F16);
    const int64_t rows = (c.height + 2 * c.pad - c.down) / c.stride + 1,
                  columns = (c.width + 2 * c.pad - c.across) / c.stride + 1;
    const std::vector<int64_t> pads(4, c.pad), strides(2, c.stride);
    g.node(BP_OP_conv, {x, w}, g.tensor(BP_ROLE_OUTPUT, {c.images, c.out, rows, columns}, BP_F16),
           {list(BP_ATTR_pads, pads), list(BP_ATTR_strides, strides), integer(BP_ATTR_group, c.group)});
    const Plan plan = g.plan(can, c.math);
    const Dispatch& d = plan.dispatches.back();
    if (d.kernel != kKernel_conv_warpgroup_f16) return std::nullopt;
    EXPECT_EQ(plan.dispatches.size(), 2U);
    EXPECT_EQ(plan.dispatches[0].kernel, kKernel_conv_warpgroup_filters);
    const int64_t slices = (c.in / c.group + 15) / 16, blocks = (c.out / c.group + 63) / 64;
    const auto tiles = static_cast<uint32_t>(c.group * blocks * slices * c.down * c.across);
    EXPECT_EQ(plan.dispatches[0].parameters.back(), tiles) << "64 x 16 each";
    EXPECT_EQ(plan.dispatches[0].groups[0], tiles) << "128 invocations each, of eight halves";
    EXPECT_EQ(d.constants[0], 384U);
    EXPECT_EQ(d.constants[3], static_cast<uint32_t>(c.down));
    return d;
}

TEST(MatrixUnits, ConvolutionsOfWarpgroupsGoThroughAllTilesOfAnImageInOneRound) {
    Abilities can = matrix_units();
    can.warpgroups = true;
    const auto groups = [&](const ConvCase& c) {
        const std::optional<Dispatch> d = conv_of_warpgroups(can, c);
        return d ? std::vector<uint32_t>(d->groups, d->groups + 3) : std::vector<uint32_t>{};
    };
    using Groups = std::vector<uint32_t>;
    EXPECT_EQ(groups({}), (Groups{132, 1, 1}));
    EXPECT_EQ(groups({.images = 3}), (Groups{44, 1, 3}));
    EXPECT_EQ(groups({.images = 200, .height = 64, .width = 64}), (Groups{1, 1, 200}));
    EXPECT_EQ(groups({.in = 128, .out = 320, .height = 64, .width = 64}), (Groups{40, 1, 1})) << "blocks of 64 channels";
    EXPECT_EQ(groups({.down = 5, .across = 5, .pad = 2}), (Groups{132, 1, 1}));
    EXPECT_EQ(groups({.down = 1, .across = 7, .pad = 0, .group = 2}), (Groups{})) << "a row of results is no whole eights";
    EXPECT_EQ(groups({.down = 1, .across = 1, .height = 24, .width = 1000, .pad = 0}), (Groups{47, 1, 1}))
        << "rows of 64 whatever those of the map are";
    EXPECT_EQ(groups({.in = 3, .out = 12}), (Groups{132, 1, 1})) << "few channels, but many pixels";
}

TEST(MatrixUnits, ConvolutionsThatWarpgroupsDoNotSuitAreDoneAsBefore) {
    Abilities can = matrix_units();
    EXPECT_FALSE(conv_of_warpgroups(can, {})) << "without them";
    can.warpgroups = true;
    EXPECT_FALSE(conv_of_warpgroups(can, {.width = 508})) << "rows that are no whole eights";
    EXPECT_FALSE(conv_of_warpgroups(can, {.stride = 2}));
    EXPECT_FALSE(conv_of_warpgroups(can, {.down = 1, .across = 7, .height = 518, .pad = 3})) << "columns three pixels away";
    EXPECT_FALSE(conv_of_warpgroups(can, {.down = 7, .across = 7, .pad = 3}));
    EXPECT_FALSE(conv_of_warpgroups(can, {.height = 16, .width = 16})) << "a quarter of a tile";
    EXPECT_FALSE(conv_of_warpgroups(can, {.height = 64, .width = 64})) << "few tiles";
    EXPECT_FALSE(conv_of_warpgroups(can, {.math = BP_MATH_STRICT}));
}

TEST(MatrixUnits, AttentionOfManyRowsIsForWarpgroups) {
    Abilities can = matrix_units();
    can.warpgroups = true;
    EXPECT_EQ(kernels_of(can, {.distances = 0}), Kernels{kKernel_attention_warpgroup_f16});
    EXPECT_EQ(kernels_of(can, {.size = 128, .distances = 0}), Kernels{kKernel_attention_warpgroup_f16});
    EXPECT_EQ(kernels_of(can, {.size = 40, .distances = 0}), Kernels{kKernel_attention_warpgroup_f16});
    EXPECT_EQ(kernels_of(can, {.size = 136, .distances = 0}), Kernels{kKernel_attention_f16});
    EXPECT_EQ(kernels_of(can, {.tokens = 40, .distances = 0}), Kernels{kKernel_attention_matrix_f16});
    EXPECT_EQ(kernels_of(can, {}), (Kernels{kKernel_attention_biases_f16, kKernel_attention_warpgroup_f16}));
    EXPECT_EQ(kernels_of(can, {.size = 128, .biases = false}), Kernels{kKernel_attention_warpgroup_f16});
    EXPECT_EQ(kernels_of(can, {.tokens = 40, .distances = 79}).back(), kKernel_attention_matrix_f16);
    EXPECT_EQ(kernels_of(can, {.distances = 0, .math = BP_MATH_STRICT}), Kernels{kKernel_attention_f16});
}

TEST(MatrixUnits, ProductsAreCutSoThatMultiprocessorsHaveAlikeToDo) {
    const Abilities can = matrix_units();
    EXPECT_EQ(cut_of(can, 4096, 4096, 4096), (Cut{128, 128, 1024}));
    EXPECT_EQ(cut_of(can, 750, 4096, 1024), (Cut{128, 64, 384})) << "192 of 128 x 128 are one and a half for each of 132";
    EXPECT_EQ(cut_of(can, 512, 2048, 2048), (Cut{64, 64, 256}));
    EXPECT_EQ(cut_of(can, 125, 1024, 4096), (Cut{64, 32, 64})) << "32 of 64 x 64 leave 100 idle";
}

}  // namespace
}  // namespace backplane::gpu
