// Element types: a kernel reads and writes f32 or f16, and computes in float32. A node of other types, or of a mixture, gets casts. The
// result of a judgement stays as it is.
#include <algorithm>

#include "common/gpu/lowering.hpp"

namespace backplane::gpu {

namespace {

// Whole numbers and truths beside operands that are computed with.
bool is_told(const Value& value) { return is_whole(value.dtype) || value.dtype == BP_BOOL; }

}  // namespace

void fit_types(Plan& plan) {
    const auto type_of = [&](const Node& node) -> uint32_t {
        const OpLowering* lowering = find_lowering(node.op);
        const Types types = lowering != nullptr ? lowering->types(node) : Types::moves;
        const bool judges = types == Types::judges;
        const Value& result = plan[node.output];
        if (types == Types::moves || is_told(judges ? plan[node.inputs[0]] : result)) return BP_DTYPE_UNKNOWN;
        const auto is_half_or_told = [&](ValueId in) {
            return in == kNone || plan[in].dtype == BP_F16 || is_told(plan[in]);
        };
        const bool all_half =
            (judges || result.dtype == BP_F16) && std::all_of(node.inputs.begin(), node.inputs.end(), is_half_or_told);
        return all_half ? BP_F16 : BP_F32;
    };
    backend::cast_to_fit(plan, type_of, [&](const Node& node, size_t k) {
        const OpLowering& lowering = *find_lowering(node.op);
        if (k == node.inputs.size()) return lowering.types(node) == Types::judges;
        const Value& given = plan[node.inputs[k]];
        return is_told(given) || (lowering.owns(k) && (given.dtype == BP_F16 || is_block(given.dtype))) ||
               (lowering.takes_blocks(k) && is_block(given.dtype));
    });
}

}  // namespace backplane::gpu
