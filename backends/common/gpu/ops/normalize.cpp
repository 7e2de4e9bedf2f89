// LayerNorm, RMSNormalization, GroupNorm, InstanceNorm and BatchNorm.
#include "common/gpu/ops/table.hpp"
#include "common/reduction.hpp"

namespace backplane::gpu::ops::normalize {

namespace {

// Rows of n, and which element of scale and bias element i of row r takes: (r % groups) * per_row + i / divisor.
struct Rows {
    int64_t n = 1, groups = 1, per_row = 0, divisor = 1;
    bool centred = true;
    double epsilon = 0;
};

void add_rows(Lowering& to, const Node& node, const Rows& r) {
    const ValueId in = node.inputs[0];
    const int64_t total = to[in].elements();
    if (total == 0) return;
    const ValueId scale = node.input(1);
    const ValueId bias = r.centred ? node.input(2) : kNone;
    const uint32_t flags =
        (r.centred ? NORM_CENTRED : 0U) | (scale != kNone ? NORM_SCALE : 0U) | (bias != kNone ? NORM_BIAS : 0U);
    to.rows(step_label(to, node), variant_for_type(kKernel_norm_f32, to[in].dtype), static_cast<uint64_t>(total / r.n),
            r.n >= 128 ? 128 : 32, {to.reads(in), to.reads_or(scale, in), to.reads_or(bias, in), to.writes(node.output)},
            words_of(NormParameters{.rows = word(total / r.n),
                                    .n = word(r.n),
                                    .epsilon = static_cast<float>(r.epsilon),
                                    .flags = flags,
                                    .groups = word(r.groups),
                                    .per_row = word(r.per_row),
                                    .divisor = word(r.divisor)}));
}

void lower_rows(Lowering& to, const Node& node) {
    const Value& in = to[node.inputs[0]];
    Rows r;
    const auto how = node.as<backplane::ops::RowNormAttributes>();
    for (auto d = static_cast<size_t>(how.axis); d < in.dim.size(); ++d) r.n *= in.dim[d];
    r.centred = node.op == BP_OP_layer_norm;
    r.epsilon = how.epsilon;
    add_rows(to, node, r);
}

int64_t pixels_of(const Value& value) { return strides_of(value)[1]; }

void lower_group_norm(Lowering& to, const Node& node) {
    const Value& in = to[node.inputs[0]];
    Rows r;
    const auto how = backend::groups_of(node, in.dim[1]);
    r.groups = how.groups;
    r.epsilon = how.epsilon;
    r.per_row = in.dim[1] / r.groups;
    r.divisor = pixels_of(in);
    r.n = r.per_row * r.divisor;
    add_rows(to, node, r);
}

void lower_batch_norm(Lowering& to, const Node& node) {
    const Value& in = to[node.inputs[0]];
    const auto n = static_cast<uint64_t>(in.elements());
    std::vector<Operand> operands;
    for (size_t k = 0; k < 5; ++k) operands.push_back(to.reads(node.inputs[k]));
    operands.push_back(to.writes(node.output));
    to.each(step_label(to, node), variant_for_type(kKernel_batch_norm_f32, in.dtype), n, operands,
            BatchNormParameters{.channels = word(in.dim[1]),
                                .pixels = word(pixels_of(in)),
                                .epsilon = static_cast<float>(node.as<backplane::ops::BatchNormAttributes>().epsilon)});
}

constexpr OpLowering table[] = {
    {BP_OP_layer_norm, Types::computes, 0, nullptr, lower_rows},
    {BP_OP_rms_norm, Types::computes, 0, nullptr, lower_rows},
    {BP_OP_group_norm, Types::computes, 0, nullptr, lower_group_norm},
    {BP_OP_instance_norm, Types::computes, 0, nullptr, lower_group_norm},
    {BP_OP_batch_norm, Types::computes, 0, nullptr, lower_batch_norm},
};

}  // namespace

const OpFamily ops_normalize = {table, std::size(table)};

}  // namespace backplane::gpu::ops::normalize
