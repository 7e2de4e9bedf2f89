#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::softmax {

namespace {

void lower(Lowering& to, const Node& node) {
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

constexpr OpLowering table[] = {{BP_OP_softmax, Types::computes, 0, nullptr, lower},
                                {BP_OP_log_softmax, Types::computes, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_softmax = {table, std::size(table)};

}  // namespace backplane::gpu::ops::softmax
