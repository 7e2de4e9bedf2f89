// Resize of feature maps: nearest (any plain type) and linear (f32, f16). Positions and weights are worked out here in float64.
#include "common/gpu/ops/cast.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/resize_taps.hpp"

namespace backplane::gpu::ops::resize {

namespace {

// As the kernels read them.
void append(std::vector<uint32_t>& to, const backend::Taps& taps) {
    for (size_t i = 0; i < taps.first.size(); ++i) {
        to.push_back(static_cast<uint32_t>(taps.first[i]));
        if (taps.second.empty()) continue;
        to.push_back(static_cast<uint32_t>(taps.second[i]));
        to.push_back(word(taps.weight[i]));
    }
}

void add_resize(Lowering& to, const Node& node) {
    std::vector<int64_t> in = to[node.inputs[0]].dim;
    std::vector<int64_t> out = to[node.output].dim;
    if (in.size() == 3) in.insert(in.begin() + 2, 1), out.insert(out.begin() + 2, 1);  // one axis: maps of one row
    const uint32_t dtype = to[node.output].dtype;
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    if (n == 0) return;
    const bool linear = node.as<backplane::ops::ResizeAttributes>().mode == backplane::ops::ResizeMode::linear;
    std::vector<uint32_t> taps;
    append(taps, backend::taps_of(node, in[2], out[2]));
    append(taps, backend::taps_of(node, in[3], out[3]));
    const uint32_t kernel = linear ? variant_for_type(kKernel_resize_linear_f32, kKernel_resize_linear_f16, dtype)
                                   : variant_for(kKernel_resize_nearest_1, sdk::dtype_info(dtype).bytes);
    const ValueId table = to.plan.constant(taps);
    to.each(step_label(to, node), kernel, n, {to.reads(node.inputs[0]), to.reads(table, 4), to.writes(node.output)},
            ResizeParameters{
                .rows_in = word(in[2]), .columns_in = word(in[3]), .rows_out = word(out[2]), .columns_out = word(out[3])});
}

void lower(Lowering& to, const Node& node) {
    const bool linear = node.as<backplane::ops::ResizeAttributes>().mode == backplane::ops::ResizeMode::linear;
    if (!linear || to[node.output].dtype != BP_BF16) return add_resize(to, node);
    Node wide = node;
    wide.inputs[0] = to.plan.temporary(BP_F32, to[node.inputs[0]].dim);
    wide.output = to.plan.temporary(BP_F32, to[node.output].dim);
    cast::add_cast(to, node.inputs[0], wide.inputs[0]);
    add_resize(to, wide);
    cast::add_cast(to, wide.output, node.output);
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& in = plan[node.inputs[0]];
    if (in.dim.size() == 5) return {BP_WHY_SHAPE, node.text() + " resizes one or two axes here, not three: " + in.text()};
    const bool linear = node.as<backplane::ops::ResizeAttributes>().mode == backplane::ops::ResizeMode::linear;
    if (linear && in.dtype != BP_F32 && !is_half(in.dtype))
        return {BP_WHY_DTYPE, node.text() + " interpolates floats, not " + in.text()};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_resize, Types::moves, 0, check, lower}};

}  // namespace

const OpFamily ops_resize = {table, std::size(table)};

}  // namespace backplane::gpu::ops::resize
