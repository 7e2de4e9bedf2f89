// Gated linear units.
#include "common/gates.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::gated {

namespace {

void lower(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& y = to[node.output];
    const PostOp function = node.post.front();
    const backend::Gated g = backend::gated_of(x, y);
    const auto n = static_cast<uint64_t>(y.elements());
    to.each(std::string("Mul by ") + sdk::op_name(function.op) + " " + y.text(),
            variant_for_type(kKernel_gated_f32, y.dtype), n, {to.reads(node.inputs[0]), to.writes(node.output)},
            GatedParameters{
                .half_size = word(g.half), .gated = node.part == 0 ? 0 : word(g.half), .a = function.a, .b = function.b},
            {function.op});
}

constexpr OpLowering table[] = {{backend::kOpGated, Types::computes, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_gated = {table, std::size(table)};

}  // namespace backplane::gpu::ops::gated
