// Cast: every pair of plain types, and decoding of the block types to floats.
#include <algorithm>

#include "common/gpu/ops/moves.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::cast {

namespace {

// What networks convert at every run: elements in and out of the precision that they are computed in.
bool is_frequent(uint32_t from, uint32_t into) {
    return (from == BP_F32 && into == BP_F16) || (from == BP_F16 && into == BP_F32);
}

bool is_wide(uint32_t dtype) { return dtype == BP_F64 || dtype == BP_I64; }

void lower(Lowering& to, const Node& node) { add_cast(to, node.inputs[0], node.output); }

Verdict check(const Plan& plan, const Node& node) {
    const Value& in = plan[node.inputs[0]];
    const Value& out = plan[node.output];
    if (is_block(in.dtype) && out.dtype == BP_F64)
        return {BP_WHY_DTYPE, node.text() + " does not convert " + in.text() + " to " + out.text()};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_cast, Types::moves, 0, check, lower}};

}  // namespace

const OpFamily ops_cast = {table, std::size(table)};

void add_cast(Lowering& to, ValueId in, ValueId out) {
    const auto n = static_cast<uint64_t>(to[out].elements());
    const uint32_t from = to[in].dtype;
    const uint32_t into = to[out].dtype;
    const std::string label = "Cast " + to[in].text() + " to " + sdk::dtype_info(into).name;
    if (from == into)  // the same bytes, NaNs and all
        return moves::add_copy(to, label, {to[out].elements()}, {in, 0, {1}}, {out, 0, {1}});
    const uint32_t kernel = is_wide(from) || is_wide(into) ? kKernel_cast_wide : kKernel_cast;
    // Elements of 8 bytes as two words; the bytes of blocks.
    const auto unit = [](uint32_t type) { return is_block(type) ? 1 : std::min(4U, sdk::dtype_info(type).bytes); };
    const Operand read = to.reads(in, unit(from));
    const Operand write = to.writes(out, unit(into));
    std::vector<Operand> operands;
    for (const Operand& operand : {read, write})
        for (const uint32_t element : {1U, 2U, 4U}) {
            operands.push_back(operand);
            operands.back().given = operand.element == element;
        }
    to.each(label, kernel, n, std::move(operands), CastParameters{.from = from, .to = into},
            is_frequent(from, into) ? std::vector<uint32_t>{from, into} : std::vector<uint32_t>{CAST_ANY, CAST_ANY});
}

}  // namespace backplane::gpu::ops::cast
