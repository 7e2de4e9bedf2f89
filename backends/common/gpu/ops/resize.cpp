// Resize of feature maps: nearest (any plain type), linear and cubic (floats). Positions and weights are worked out here in float64.
#include "common/gpu/ops/table.hpp"
#include "common/resize_taps.hpp"

namespace backplane::gpu::ops::resize {

namespace {

// As the kernels read them.
void append(std::vector<uint32_t>& to, const backend::Taps& taps) {
    for (size_t i = 0; i < taps.at.size(); ++i) {
        to.push_back(static_cast<uint32_t>(taps.at[i]));
        if (!taps.weight.empty()) to.push_back(word(taps.weight[i]));
    }
}

void lower(Lowering& to, const Node& node) {
    std::vector<int64_t> in = to[node.inputs[0]].dim;
    std::vector<int64_t> out = to[node.output].dim;
    const bool deep = in.size() == 5;
    while (in.size() < 5)
        in.insert(in.begin() + 2, 1), out.insert(out.begin() + 2, 1);  // one axis is a row, two are a plane
    const uint32_t dtype = to[node.output].dtype;
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    std::vector<uint32_t> taps;
    for (size_t axis = 2; axis < 5; ++axis) append(taps, backend::taps_of(node, in[axis], out[axis]));
    const auto count = word(static_cast<int64_t>(backend::taps_of(node, 1, 1).count));
    const bool nearest = backend::types_of_resize(node) == Types::moves;
    const uint32_t kernel = nearest ? variant_for(kKernel_resize_nearest_1, sdk::dtype_info(dtype).bytes)
                                    : variant_for_type(kKernel_resize_f32, dtype);
    const ValueId table = to.plan.temporary(BP_I32, {static_cast<int64_t>(taps.size())});
    const auto bytes = std::as_bytes(std::span(taps));
    to.plan[table].role = BP_ROLE_CONSTANT;
    to.plan[table].constant.assign(bytes.begin(), bytes.end());
    const std::vector<Operand> operands = {to.reads(node.inputs[0]), to.reads(table, 4), to.writes(node.output)};
    const ResizeParameters parameters{.elements = static_cast<uint32_t>(n),
                                      .planes_in = word(in[2]),
                                      .rows_in = word(in[3]),
                                      .columns_in = word(in[4]),
                                      .planes_out = word(out[2]),
                                      .rows_out = word(out[3]),
                                      .columns_out = word(out[4])};
    if (nearest && out[4] >= kLocal && !to.can.software)
        return to.rows(step_label(to, node), kernel, n / parameters.columns_out, kLocal, operands, words_of(parameters),
                       {count, 1, 1});
    to.each(step_label(to, node), kernel, n, operands, parameters, {count, deep ? count : 1, 0});
}

constexpr OpLowering table[] = {{BP_OP_resize, backend::types_of_resize, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_resize = {table, std::size(table)};

}  // namespace backplane::gpu::ops::resize
