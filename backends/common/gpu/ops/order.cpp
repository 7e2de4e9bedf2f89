// ArgMax, ArgMin, and the positions of TopK; its values are gathered by them.
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::order {

namespace {

void add(Lowering& to, const Node& node, size_t axis, OrderParameters parameters) {
    const ValueId in = node.inputs[0];
    const Value& x = to[in];
    const int64_t n = x.dim[axis];
    const int64_t lines = x.elements() / n;
    parameters.lines = word(lines);
    parameters.n = word(n);
    parameters.stride = word(strides_of(x)[axis]);
    const uint32_t kernel = variant_for_number(kKernel_order_f32, x.dtype);
    const double work = static_cast<double>(x.elements()) * 8 * parameters.k;
    to.rows(step_label(to, node), kernel, static_cast<uint64_t>(lines), n >= 128 ? 128 : 32,
            {to.reads(in), to.writes(node.output, sizeof(uint32_t))}, words_of(parameters));
    to.plan.dispatches.back().work = work;
}

void lower_arg(Lowering& to, const Node& node) {
    const auto how = node.as<backplane::ops::ArgAttributes>();
    add(to, node, static_cast<size_t>(how.axis),
        {.k = 1, .smallest = node.op == BP_OP_arg_min ? 1U : 0U, .last = how.select_last_index ? 1U : 0U});
}

void lower_top(Lowering& to, const Node& node) {
    const auto how = node.as<backplane::ops::TopKAttributes>();
    add(to, node, static_cast<size_t>(how.axis), {.k = word(how.k.value), .smallest = how.largest ? 0U : 1U});
}

constexpr OpLowering table[] = {{BP_OP_arg_max, Types::judges, 0, nullptr, lower_arg},
                                {BP_OP_arg_min, Types::judges, 0, nullptr, lower_arg},
                                {BP_OP_top_k, Types::judges, 0, nullptr, lower_top}};

}  // namespace

const OpFamily ops_order = {table, std::size(table)};

}  // namespace backplane::gpu::ops::order
