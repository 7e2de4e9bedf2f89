#include "common/gpu/ops/conv_warpgroups.hpp"

#include <algorithm>

#include "common/gpu/ops/conv.hpp"
#include "common/gpu/ops/conv_product.hpp"
#include "common/gpu/ops/moves.hpp"

namespace backplane::gpu::ops::conv {

namespace {

// A workgroup of conv_warpgroup makes 64 output channels of 8 x 64 pixels from 16 channels at a time, so many of which are in shared memory.
constexpr int64_t kOutputsOfWarpgroups = 64, kRowsOfWarpgroups = 8, kColumnsOfWarpgroups = 64, kDepthOfWarpgroups = 16;
constexpr uint32_t kWarpgroups = 384;  // invocations: a third of them fills shared memory, the others multiply

uint32_t stages_of_warpgroups(uint32_t kernel_h) { return kernel_h == 1 ? 12 : kernel_h == 3 ? 8 : 6; }

// Where a pixel is made of that pixel alone the map is rows of whatever length suits.
ConvParameters as_warpgroups_see(ConvParameters p) {
    if (!is_pointwise(p) || p.width % kColumnsOfWarpgroups != 0) return p;
    p.height = p.out_height = p.width / kColumnsOfWarpgroups;
    p.width = p.out_width = kColumnsOfWarpgroups;
    return p;
}

int64_t warpgroup_tiles(const ConvParameters& p) {
    return up(p.out_height, kRowsOfWarpgroups) * up(p.out_width, kColumnsOfWarpgroups) * up(p.outputs, kOutputsOfWarpgroups);
}

// What both kernels ask for, of maps that lie as they want them.
bool may_use_warpgroups(const Lowering& to, const Node& node, const ConvParameters& p) {
    const Value& w = to[node.inputs[1]];
    if (!to.can.warpgroups || is_deep(p) || !has_unit_steps(p) || to.plan.math == BP_MATH_STRICT) return false;
    if (to[node.inputs[0]].dtype != BP_F16 || w.dtype != BP_F16 || epilogue_function(node) != 0) return false;
    if (p.kernel_h != 1 && p.kernel_h != 3 && p.kernel_h != 5) return false;
    const int64_t groups = groups_of(node);
    // Tails of the filters are filled up; kernels count in 32 bits.
    if (up(w.dim[0] / groups, 64) * 64 * up(w.dim[1], 16) * 16 * groups * taps_of(p) >= INT32_MAX) return false;
    if (to.can.least_patches == 0) return true;
    constexpr int64_t kFewOutputs = 32;  // what fewer leave idle costs less than reading the map does
    const int64_t made = warpgroup_tiles(p) * kOutputsOfWarpgroups * kRowsOfWarpgroups * kColumnsOfWarpgroups;
    const int64_t wanted = pixels_of(p) * std::max<int64_t>(p.outputs, kFewOutputs);
    return 2 * made <= 5 * wanted && warpgroup_tiles(p) * to[node.output].dim[0] * groups >= to.can.units / 4;
}

bool suits_warpgroups(const Lowering& to, const Node& node, const ConvParameters& p) {
    constexpr uint32_t kMostShift = 2;  // from a pixel of the map to the result
    if (p.pad_left > kMostShift || p.kernel_w > p.pad_left + kMostShift + 1) return false;
    if (p.width % 8 != 0 || p.out_width % 8 != 0) return false;  // the device copies, and invocations store, whole eights
    return may_use_warpgroups(to, node, p);
}

// The same of a map in bundles.
bool suits_bundles(const Lowering& to, const Node& node, const ConvParameters& p, bool made) {
    if (p.kernel_w != p.kernel_h || p.groups != 1 || p.channels % 64 != 0) return false;
    return (made ? p.outputs % 64 == 0 : p.out_width % 8 == 0) && may_use_warpgroups(to, node, p);
}

// A map of planes in bundles.
ValueId in_bundles(Lowering& to, ValueId map) {
    const std::vector<int64_t> dim = to[map].dim;
    const int64_t pixels = dim[2] * dim[3];
    const ValueId made = to.plan.temporary(BP_F16, std::vector<int64_t>(dim));
    moves::add_copy(to, "Conv map " + to[map].text() + " in bundles", {dim[0], dim[1] / 64, 64, pixels},
                    {map, 0, {dim[1] * pixels, 64 * pixels, pixels, 1}}, {made, 0, {dim[1] * pixels, 64 * pixels, 1, 64}});
    return made;
}

Operand filters_of_warpgroups(Lowering& to, const Node& node, const ConvParameters& p) {
    const int64_t slices = up(p.channels, kDepthOfWarpgroups);
    const int64_t blocks = up(p.outputs, kOutputsOfWarpgroups);
    const int64_t made = groups_of(node) * blocks * slices * taps_of(p);
    return lay_out_filters(to, node,
                           {.kernel = kKernel_conv_warpgroup_filters,
                            .invocations = kLocal,
                            .rows = kOutputsOfWarpgroups,
                            .tiles = made,
                            .workgroups = made,
                            .parameters = {.down = p.kernel_h, .slices = word(slices), .blocks = word(blocks)}});
}

// Adds a dispatch of either kernel: what is there at once goes through all tiles.
void add_to_warpgroups(Lowering& to, Dispatch d, const ConvParameters& p) {
    d.groups[0] = std::min(word(warpgroup_tiles(p)), std::max(1U, to.can.units / d.groups[2]));
    d.groups[1] = 1;
    to.add(std::move(d));
}

void lower_on_planes(Lowering& to, const Node& node, const ConvParameters& p) {
    Dispatch d = product_of(to, node, "matrix units of warpgroups", kKernel_conv_warpgroup_f16, p, kOutputsOfWarpgroups,
                            warpgroup_tiles(p), kWarpgroups,
                            {p.kernel_h, stages_of_warpgroups(p.kernel_h), to[node.output].bundled ? 1U : 0U});
    d.operands[1] = filters_of_warpgroups(to, node, p);
    add_to_warpgroups(to, std::move(d), p);
}

// conv_warpgroup_bundles: slices of pixels and of filters in shared memory.
struct BundleStages {
    uint32_t pixels, filters;
};
BundleStages stages_of_bundles(uint32_t kernel) {
    return kernel == 1 ? BundleStages{5, 8} : kernel == 3 ? BundleStages{3, 4} : BundleStages{2, 4};
}

void lower_on_bundles(Lowering& to, const Node& node, const ConvParameters& p) {
    ValueId first = node.inputs[0];
    ValueId second = first;
    if (to[first].in_parts) {
        const Node& joined = to.plan.nodes[to.readers.maker(first)];
        first = joined.inputs[0];
        second = joined.inputs[1];
    }
    const auto split = word(to[first].dim[1] / 64);
    const bool made = to[node.output].bundled;
    if (!to[first].bundled) first = second = in_bundles(to, first);
    const BundleStages stages = stages_of_bundles(p.kernel_h);
    Dispatch d = product_of(to, node, "matrix units of warpgroups, bundles", kKernel_conv_warpgroup_bundles_f16, p,
                            kOutputsOfWarpgroups, warpgroup_tiles(p), kWarpgroups,
                            {p.kernel_h, stages.pixels, made ? 1U : 0U, stages.filters, split});
    d.operands[0] = to.reads(first);
    d.operands[1] = filters_of_warpgroups(to, node, p);
    d.operands.insert(d.operands.end() - 1, to.reads(second));
    add_to_warpgroups(to, std::move(d), p);
}

// A map that lies so, or, where kernels are wanted wherever they are right, any.
bool goes_to_bundles(const Lowering& to, const Node& node, const ConvParameters& p) {
    if (to[node.inputs[0]].bundled) return true;
    return to.can.least_patches == 0 && !to[node.output].bundled && to[node.inputs[0]].dim.size() == 4 &&
           suits_bundles(to, node, p, false);
}

}  // namespace

bool lower_on_warpgroups(Lowering& to, const Node& node, const ConvParameters& parameters) {
    const auto p = as_warpgroups_see(parameters);
    if (goes_to_bundles(to, node, p)) {
        lower_on_bundles(to, node, p);
        return true;
    }
    if (!suits_warpgroups(to, node, p)) return false;
    lower_on_planes(to, node, p);
    return true;
}

bool takes_bundles(const Lowering& to, const Node& node, bool made) {
    return suits_bundles(to, node, as_warpgroups_see(geometry_of(to, node)), made);
}

bool makes_bundles(const Lowering& to, const Node& node) {
    const auto p = as_warpgroups_see(geometry_of(to, node));
    return p.groups == 1 && p.outputs % 64 == 0 && suits_warpgroups(to, node, p);
}

}  // namespace backplane::gpu::ops::conv
