// Which machine code of the opencl module a chip of NVIDIA's is given, and whether it is of the kernels that lowerings choose.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "carried_code.hpp"
#include "graph_maker.hpp"
#include "kernels_generated.h"

namespace backplane::opencl {
namespace {

const unsigned char kBytes[] = {0};
CarriedCode code_of(uint32_t architecture) { return {architecture, kBytes, kBytes + 1}; }
uint32_t chosen(const std::vector<CarriedCode>& codes, uint32_t architecture) {
    const CarriedCode* code = carried_code_for(codes, architecture);
    return code != nullptr ? code->architecture : 0;
}

TEST(CarriedCode, IsThatOfTheChipsOwnMajorVersionAndNoLaterThanIt) {
    const std::vector<CarriedCode> codes = {code_of(86), code_of(80), code_of(90), code_of(120)};
    EXPECT_EQ(chosen(codes, 80), 80U);
    EXPECT_EQ(chosen(codes, 86), 86U);
    EXPECT_EQ(chosen(codes, 89), 86U);
    EXPECT_EQ(chosen(codes, 90), 90U);
    EXPECT_EQ(chosen(codes, 121), 120U);
    EXPECT_EQ(chosen(codes, 75), 0U);
    EXPECT_EQ(chosen(codes, 100), 0U) << "that of 9.0 does not run there";
    EXPECT_EQ(chosen({}, 90), 0U);
}

TEST(CarriedCode, WhatIsNotNvidiasIsGivenTheFirst) {
    EXPECT_EQ(chosen({code_of(90), code_of(80)}, 0), 90U);
    EXPECT_EQ(chosen({}, 0), 0U);
}

gpu::Abilities card() {
    gpu::Abilities can;
    can.halves = can.bytes = can.longs = can.doubles = true;
    can.most_range = can.most_allocation = uint64_t{1} << 32;
    can.most_invocations = 1024;
    can.shared_bytes = 200704;
    can.patches = can.matrix_tiles = can.attention_matrix = can.warpgroup_products = true;
    can.float_parts = 16;
    can.direct_invocations = 8;
    return can;
}

// The row of carried.cmake that it would be: "conv_f32 64 97 0 32", zeros at the end left out.
std::string row_of(const gpu::Dispatch& d) {
    static const std::map<uint32_t, std::string> kNames = {{gpu::kKernel_conv_f32, "conv_f32"},
                                                           {gpu::kKernel_conv_patch_f32, "conv_patch_f32"},
                                                           {gpu::kKernel_matmul_f32, "matmul_f32"},
                                                           {gpu::kKernel_unary_f32, "unary_f32"}};
    const auto name = kNames.find(d.kernel);
    std::string row = name != kNames.end() ? name->second : "kernel " + std::to_string(d.kernel);
    std::vector<uint32_t> constants = d.constants;
    while (!constants.empty() && constants.back() == 0) constants.pop_back();
    for (const uint32_t c : constants) row += " " + std::to_string(c);
    return row;
}

void expect_carried(gpu::GraphMaker& g) {
    std::ifstream in(std::filesystem::path(BP_TEST_SOURCE_DIR) / "backends/opencl/carried.cmake");
    const std::string rows{std::istreambuf_iterator<char>(in), {}};
    for (const gpu::Dispatch& d : g.plan(card(), BP_MATH_DEFAULT).dispatches)
        EXPECT_NE(rows.find('"' + row_of(d) + '"'), std::string::npos) << row_of(d) << ": " << d.label;
}

TEST(CarriedKernels, AreWhatConvolutionsOfSmallAndLargePicturesAreLoweredTo) {
    struct Case {
        int64_t in, out, kernel, size;
    };
    const std::vector<int64_t> pads{1, 1, 1, 1};
    for (const Case& c : {Case{64, 64, 3, 64}, Case{64, 64, 3, 512}}) {
        gpu::GraphMaker g;
        const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, c.in, c.size, c.size});
        const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {c.out, c.in, c.kernel, c.kernel}),
                       b = g.tensor(BP_ROLE_WEIGHT, {c.out});
        const uint32_t sum = g.tensor(BP_ROLE_TEMPORARY, {1, c.out, c.size, c.size});
        const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {1, c.out, c.size, c.size});
        g.node(BP_OP_conv, {x, w, b}, sum, {gpu::list(BP_ATTR_pads, pads)});
        g.node(BP_OP_relu, {sum}, y);
        expect_carried(g);
    }
}

TEST(CarriedKernels, AreWhatTheTrialOfADeviceIsLoweredTo) {
    gpu::GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {3, 4}), w = g.tensor(BP_ROLE_WEIGHT, {4, 5});
    const uint32_t z = g.tensor(BP_ROLE_INPUT, {3, 5}), product = g.tensor(BP_ROLE_TEMPORARY, {3, 5});
    const uint32_t sum = g.tensor(BP_ROLE_TEMPORARY, {3, 5}), y = g.tensor(BP_ROLE_OUTPUT, {3, 5});
    g.node(BP_OP_matmul, {x, w}, product);
    g.node(BP_OP_add, {product, z}, sum);
    g.node(BP_OP_relu, {sum}, y);
    expect_carried(g);
}

}  // namespace
}  // namespace backplane::opencl
