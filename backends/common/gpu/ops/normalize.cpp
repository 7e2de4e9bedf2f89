// LayerNorm, RMSNormalization, GroupNorm, InstanceNorm, BatchNorm, Softmax and LogSoftmax.
#include <algorithm>

#include "common/gpu/ops/table.hpp"
#include "common/reduction.hpp"

namespace backplane::gpu::ops::normalize {

namespace {

// Rows of `n`, which may be centred. Element i of row r takes that element of scale and bias: (r % groups) * per_row + i / divisor.
void add_rows(Lowering& to, const Node& node, NormParameters p) {
    const ValueId in = node.inputs[0];
    const ValueId scale = node.input(1);
    const ValueId bias = p.flags == NORM_CENTRED ? node.input(2) : kNone;
    p.flags |= (scale != kNone ? NORM_SCALE : 0U) | (bias != kNone ? NORM_BIAS : 0U);
    p.rows = word(to[in].elements() / p.n);
    to.rows(step_label(to, node), variant_for_type(kKernel_norm_f32, to[in].dtype), p.rows, p.n >= 128 ? 128 : 32,
            {to.reads(in), to.reads_or(scale, in), to.reads_or(bias, in), to.writes(node.output)}, words_of(p));
}

void lower_rows(Lowering& to, const Node& node) {
    const std::vector<int64_t>& dim = to[node.inputs[0]].dim;
    const auto how = node.as<backplane::ops::RowNormAttributes>();
    int64_t n = 1;
    for (auto d = static_cast<size_t>(how.axis); d < dim.size(); ++d) n *= dim[d];
    add_rows(to, node,
             {.n = word(n),
              .epsilon = static_cast<float>(how.epsilon),
              .flags = node.op == BP_OP_layer_norm ? NORM_CENTRED : 0U,
              .groups = 1,
              .divisor = 1});
}

int64_t pixels_of(const Value& value) { return strides_of(value)[1]; }

void lower_group_norm(Lowering& to, const Node& node) {
    const Value& in = to[node.inputs[0]];
    const auto how = backend::groups_of(node, in.dim[1]);
    const int64_t channels = in.dim[1] / std::max<int64_t>(1, how.groups);
    add_rows(to, node,
             {.n = word(channels * pixels_of(in)),
              .epsilon = static_cast<float>(how.epsilon),
              .flags = NORM_CENTRED,
              .groups = word(how.groups),
              .per_row = word(channels),
              .divisor = word(pixels_of(in))});
}

void lower_batch_norm(Lowering& to, const Node& node) {
    const Value& in = to[node.inputs[0]];
    to.each(node, variant_for_type(kKernel_batch_norm_f32, in.dtype),
            BatchNormParameters{.channels = word(in.dim[1]),
                                .pixels = word(pixels_of(in)),
                                .epsilon = static_cast<float>(node.as<backplane::ops::BatchNormAttributes>().epsilon)});
}

void lower_softmax(Lowering& to, const Node& node) {
    const Value& in = to[node.inputs[0]];
    const auto axis = static_cast<size_t>(node.as<backplane::ops::SoftmaxAttributes>().axis);
    const int64_t n = in.dim[axis];
    to.rows(step_label(to, node), variant_for_type(kKernel_softmax_f32, in.dtype), static_cast<uint64_t>(in.elements() / n),
            n >= 128 ? 128 : 32, {to.reads(node.inputs[0]), to.writes(node.output)},
            words_of(SoftmaxParameters{.rows = word(in.elements() / n),
                                       .n = word(n),
                                       .stride = word(strides_of(in)[axis]),
                                       .logarithm = node.op == BP_OP_log_softmax ? 1U : 0U}));
}

constexpr OpLowering table[] = {
    {BP_OP_layer_norm, Types::computes, 0, nullptr, lower_rows},
    {BP_OP_rms_norm, Types::computes, 0, nullptr, lower_rows},
    {BP_OP_group_norm, Types::computes, 0, nullptr, lower_group_norm},
    {BP_OP_instance_norm, Types::computes, 0, nullptr, lower_group_norm},
    {BP_OP_batch_norm, Types::computes, 0, nullptr, lower_batch_norm},
    {BP_OP_softmax, Types::computes, 0, nullptr, lower_softmax},
    {BP_OP_log_softmax, Types::computes, 0, nullptr, lower_softmax},
};

}  // namespace

const OpFamily ops_normalize = {table, std::size(table)};

}  // namespace backplane::gpu::ops::normalize
