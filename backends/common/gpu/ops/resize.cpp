// Resize of feature maps: nearest (any plain type) and linear (f32, f16). Positions and weights are worked out here in float64.
#include <algorithm>
#include <cmath>

#include "common/gpu/ops/cast.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu {

namespace {

// Where position i of the result lies in the operand (ops.h).
double coordinate(int64_t i, int64_t in, int64_t out, int64_t mode) {
    const auto x = static_cast<double>(i);
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    if (mode == BP_COORDINATES_ASYMMETRIC) return x * scale;
    if (mode == BP_COORDINATES_HALF_PIXEL) return (x + 0.5) * scale - 0.5;
    return out > 1 ? x * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
}

// For each position of the result: the nearest position, or the two around it and the weight of the second.
void append_taps(std::vector<uint32_t>& to, int64_t in, int64_t out, int64_t mode, bool linear) {
    const auto last = static_cast<double>(in - 1);
    for (int64_t i = 0; i < out; ++i) {
        const double x = coordinate(i, in, out, mode);
        if (!linear) {
            // Whole numbers where they do: x * scale can fall just below the integer it means.
            const double nearest = mode == BP_COORDINATES_ASYMMETRIC   ? static_cast<double>(i * in / out)
                                   : mode == BP_COORDINATES_HALF_PIXEL ? static_cast<double>((2 * i + 1) * in / (2 * out))
                                                                       : std::floor(x + 0.5);
            to.push_back(static_cast<uint32_t>(std::clamp<double>(nearest, 0, last)));
            continue;
        }
        const double clamped = std::clamp<double>(x, 0, last);
        const double low = std::floor(clamped);
        to.push_back(static_cast<uint32_t>(low));
        to.push_back(static_cast<uint32_t>(std::min(low + 1, last)));
        to.push_back(word(static_cast<float>(clamped - low)));
    }
}

void add_resize(Lowering& to, const Node& node) {
    const std::vector<int64_t> in = to[node.inputs[0]].dim;
    const std::vector<int64_t> out = to[node.output].dim;
    const uint32_t dtype = to[node.output].dtype;
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    if (n == 0) return;
    const bool linear = node.integer(BP_ATTR_mode, BP_RESIZE_NEAREST) == BP_RESIZE_LINEAR;
    const int64_t mode = node.integer(BP_ATTR_coordinates, BP_COORDINATES_ASYMMETRIC);
    std::vector<uint32_t> taps;
    append_taps(taps, in[2], out[2], mode, linear);
    append_taps(taps, in[3], out[3], mode, linear);
    const uint32_t kernel = linear ? variant_for_type(kKernel_resize_linear_f32, kKernel_resize_linear_f16, dtype)
                                   : variant_for(kKernel_resize_nearest_1, sdk::dtype_info(dtype).bytes);
    const ValueId table = to.plan.constant(taps);
    to.each(step_label(to, node), kernel, n, {to.reads(node.inputs[0]), to.reads(table, 4), to.writes(node.output)},
            {static_cast<uint32_t>(n), word(in[2]), word(in[3]), word(out[2]), word(out[3])});
}

void lower(Lowering& to, const Node& node) {
    const bool linear = node.integer(BP_ATTR_mode, BP_RESIZE_NEAREST) == BP_RESIZE_LINEAR;
    if (!linear || to[node.output].dtype != BP_BF16) return add_resize(to, node);
    Node wide = node;
    wide.inputs[0] = to.plan.temporary(BP_F32, to[node.inputs[0]].dim);
    wide.output = to.plan.temporary(BP_F32, to[node.output].dim);
    add_cast(to, node.inputs[0], wide.inputs[0]);
    add_resize(to, wide);
    add_cast(to, wide.output, node.output);
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& in = plan[node.inputs[0]];
    const Value& out = plan[node.output];
    const int64_t mode = node.integer(BP_ATTR_mode, BP_RESIZE_NEAREST);
    const int64_t coordinates = node.integer(BP_ATTR_coordinates, BP_COORDINATES_ASYMMETRIC);
    if (mode < BP_RESIZE_NEAREST || mode > BP_RESIZE_LINEAR || coordinates < BP_COORDINATES_ASYMMETRIC ||
        coordinates > BP_COORDINATES_ALIGN_CORNERS)
        return {BP_WHY_ATTRIBUTE, node.text() + " has an unknown mode"};
    if (in.dim.size() != 4 || out.dim.size() != 4)
        return {BP_WHY_SHAPE, node.text() + " takes feature maps [N,C,H,W], not " + in.text()};
    if (mode == BP_RESIZE_LINEAR && in.dtype != BP_F32 && !is_half(in.dtype))
        return {BP_WHY_DTYPE, node.text() + " interpolates floats, not " + in.text()};
    return same_plain_types(plan, node);
}

constexpr OpLowering table[] = {{BP_OP_resize, Types::moves, 0, check, lower}};

}  // namespace

const OpFamily ops_resize = {table, std::size(table)};

}  // namespace backplane::gpu
