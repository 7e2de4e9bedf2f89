// Ops that move elements or compute with them as their attributes say: casts and refusals are those of what they do.
#include <gtest/gtest.h>

#include "graph_maker.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {
namespace {

Plan scatter(uint32_t dtype, int64_t reduction, bool longs = true) {
    GraphMaker g;
    const uint32_t data = g.tensor(BP_ROLE_INPUT, {7, 5}, dtype);
    const uint32_t indices = g.tensor(BP_ROLE_INPUT, {3, 1}, BP_I32);
    const uint32_t updates = g.tensor(BP_ROLE_INPUT, {3, 5}, dtype);
    g.node(BP_OP_scatter_nd, {data, indices, updates}, g.tensor(BP_ROLE_OUTPUT, {7, 5}, dtype),
           {integer(BP_ATTR_reduction, reduction)});
    return g.plan(longs);
}

Plan resize(uint32_t dtype, int64_t mode) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 2, 3, 3}, dtype);
    const std::vector<int64_t> sizes = {6, 6};
    g.node(BP_OP_resize, {x}, g.tensor(BP_ROLE_OUTPUT, {1, 2, 6, 6}, dtype),
           {list(BP_ATTR_sizes, sizes), integer(BP_ATTR_mode, mode)});
    return g.plan();
}

int64_t casts_in(const Plan& plan) {
    return std::count_if(plan.dispatches.begin(), plan.dispatches.end(),
                         [](const Dispatch& d) { return d.kernel == kKernel_cast; });
}

TEST(Types, WholeNumbersOf64BitsAreMovedByADeviceThatDoesNotComputeWithThem) {
    EXPECT_NO_THROW(scatter(BP_I64, BP_REDUCTION_NONE, false));
    EXPECT_THROW(scatter(BP_I64, BP_REDUCTION_ADD, false), sdk::Failure);
    EXPECT_NO_THROW(scatter(BP_I64, BP_REDUCTION_ADD));
    EXPECT_NO_THROW(scatter(BP_F64, BP_REDUCTION_NONE));
    EXPECT_THROW(scatter(BP_F64, BP_REDUCTION_ADD), sdk::Failure);
}

TEST(Types, WhatIsNoFloat32OfKernelsIsCastWhereItIsComputedWith) {
    EXPECT_EQ(casts_in(scatter(BP_BF16, BP_REDUCTION_NONE)), 0);
    EXPECT_EQ(casts_in(scatter(BP_BF16, BP_REDUCTION_ADD)), 3);
    EXPECT_EQ(casts_in(scatter(BP_F16, BP_REDUCTION_ADD)), 0);
    EXPECT_EQ(casts_in(resize(BP_BF16, BP_RESIZE_NEAREST)), 0);
    EXPECT_EQ(casts_in(resize(BP_BF16, BP_RESIZE_LINEAR)), 2);
    EXPECT_THROW(resize(BP_I32, BP_RESIZE_LINEAR), sdk::Failure);
    EXPECT_NO_THROW(resize(BP_I32, BP_RESIZE_NEAREST));
}

TEST(Types, OperandsBehindThe32ndAreThoseOfNoBit) {
    GraphMaker g;
    std::vector<uint32_t> parts;
    for (int i = 0; i < 70; ++i) parts.push_back(g.tensor(BP_ROLE_INPUT, {2, 3}, BP_I8));
    g.node(BP_OP_concat, parts, g.tensor(BP_ROLE_OUTPUT, {140, 3}, BP_I8), {integer(BP_ATTR_axis, 0)});
    EXPECT_EQ(g.plan().dispatches.size(), 70U);
}

TEST(Types, PlacesOfRegionsAreFoundInFloat64WhereTheDeviceHasIt) {
    const std::vector<int64_t> sizes = {2, 3};
    const auto made = [&](uint32_t dtype, bool doubles) {
        GraphMaker g;
        g.node(BP_OP_roi_align,
               {g.tensor(BP_ROLE_INPUT, {1, 2, 5, 5}, dtype), g.tensor(BP_ROLE_INPUT, {4, 4}, dtype),
                g.tensor(BP_ROLE_INPUT, {4}, BP_I64)},
               g.tensor(BP_ROLE_OUTPUT, {4, 2, 2, 3}, dtype), {list(BP_ATTR_sizes, sizes)});
        Abilities can;
        can.halves = can.bytes = can.longs = true;
        can.doubles = doubles;
        can.most_range = 1 << 20;
        return g.plan(can);
    };
    EXPECT_THROW(made(BP_F32, false), sdk::Failure);
    EXPECT_EQ(made(BP_F32, true).dispatches.front().kernel, kKernel_roi_align_f32);
    EXPECT_EQ(made(BP_F16, true).dispatches.front().kernel, kKernel_roi_align_f16);
    EXPECT_EQ(casts_in(made(BP_BF16, true)), 3) << "of the map, the regions and the result";
}

// The kernel that turns heads of f16, of `size` elements each, that are made before or bound by the host.
uint32_t turned_by(int64_t size, bool made) {
    GraphMaker g;
    const std::vector<int64_t> dim{2, 7, 4, size}, turned{2, 4, 7, size}, order{0, 2, 1, 3};
    const auto between = [&](const std::vector<int64_t>& of) { return g.tensor(BP_ROLE_TEMPORARY, of, BP_F16); };
    const uint32_t x = g.tensor(BP_ROLE_INPUT, dim, BP_F16);
    const uint32_t from = made ? between(dim) : x;
    if (made) g.node(BP_OP_abs, {x}, from);
    const uint32_t into = between(turned);
    g.node(BP_OP_transpose, {from}, into, {list(BP_ATTR_perm, order)});
    g.node(BP_OP_abs, {into}, g.tensor(BP_ROLE_OUTPUT, turned, BP_F16));
    const Plan plan = g.plan();
    EXPECT_EQ(plan.dispatches.size(), made ? 3U : 2U);
    return plan.dispatches[made ? 1 : 0].kernel;
}

TEST(Types, RowsOfWholeEightsOfBytesAreMovedSoWhereTheHostDoesNotSayWhereTheyBegin) {
    EXPECT_EQ(turned_by(16, true), kKernel_copy_8);
    EXPECT_EQ(turned_by(6, true), kKernel_copy_4);
    EXPECT_EQ(turned_by(5, true), kKernel_copy_2);
    EXPECT_EQ(turned_by(16, false), kKernel_copy_2);
}

}  // namespace
}  // namespace backplane::gpu
