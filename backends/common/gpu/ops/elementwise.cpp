// Unary and binary element-wise ops, numpy broadcast.
#include <cmath>
#include <limits>

#include "common/elementwise.hpp"
#include "common/fusion.hpp"
#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::elementwise {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A bound of Clip as the nearest whole number inside it, as two words.
void set_bound(uint32_t* words, double value, uint32_t dtype) {
    const bool narrow = dtype == BP_I32;
    const int64_t least = narrow ? INT32_MIN : INT64_MIN;
    const int64_t most = narrow ? INT32_MAX : INT64_MAX;
    int64_t bound = 0;
    if (value >= std::ldexp(1.0, narrow ? 31 : 63)) {
        bound = most;
    } else {
        bound = value <= static_cast<double>(least) ? least : static_cast<int64_t>(value);
    }
    words[0] = static_cast<uint32_t>(bound);
    words[1] = static_cast<uint32_t>(static_cast<uint64_t>(bound) >> 32);
}

void lower_unary(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const Value& out = to[node.output];
    const auto n = static_cast<uint64_t>(out.elements());
    std::vector<uint32_t> words;
    std::vector<uint32_t> constants = {node.op};  // of whole numbers the op is a parameter
    UnaryParameters parameters{.elements = static_cast<uint32_t>(n)};
    uint32_t kernel = variant_for_type(kKernel_unary_f32, kKernel_unary_f16, out.dtype);
    if (is_whole(out.dtype)) {
        const auto bounds =
            node.op == BP_OP_clip ? node.as<backplane::ops::ClipAttributes>() : backplane::ops::ClipAttributes{};
        kernel = out.dtype == BP_I64 ? kKernel_unary_i64 : kKernel_unary_i32;
        UnaryIntegerParameters whole{.elements = static_cast<uint32_t>(n), .op = node.op};
        constants.clear();
        set_bound(&whole.bounds[0], std::ceil(bounds.least), out.dtype);
        set_bound(&whole.bounds[2], std::floor(bounds.most), out.dtype);
        words = words_of(whole);
    } else {
        const PostOp function = backend::function_post(node);
        parameters.a = function.a;
        parameters.b = function.b;
        words = words_of(parameters);
    }
    to.each(step_label(to, node), kernel, n, {to.reads(in), to.writes(node.output)}, words, constants);
    if (n != 0) to.plan.dispatches.back().alone = true;
}

void lower_binary(Lowering& to, const Node& node) {
    const Value& out = to[node.output];
    const auto n = static_cast<uint64_t>(out.elements());
    const LoopNest nest(out.dim, broadcast_strides(to[node.inputs[0]], out.dim),
                        broadcast_strides(to[node.inputs[1]], out.dim));
    const bool truncates = node.op == BP_OP_mod && node.as<backplane::ops::ModAttributes>().fmod;
    BinaryParameters parameters{.elements = static_cast<uint32_t>(n), .op = node.op, .truncates = truncates ? 1U : 0U};
    nest.write_to(parameters.nest);
    uint32_t kernel = variant_for_type(kKernel_binary_f32, kKernel_binary_f16, out.dtype);
    if (is_whole(out.dtype)) kernel = out.dtype == BP_I64 ? kKernel_binary_i64 : kKernel_binary_i32;
    to.each(step_label(to, node), kernel, n, {to.reads(node.inputs[0]), to.reads(node.inputs[1]), to.writes(node.output)},
            words_of(parameters), is_whole(out.dtype) ? std::vector<uint32_t>{} : std::vector<uint32_t>{node.op});
    if (n != 0) to.plan.dispatches.back().alone = true;
}

constexpr OpLowering unary(uint32_t op) { return {op, Types::numbers, 0, nullptr, lower_unary}; }
constexpr OpLowering binary(uint32_t op) { return {op, Types::numbers, 0, nullptr, lower_binary}; }

constexpr auto table = backend::elementwise_rows<OpLowering>(unary, binary);

}  // namespace

const OpFamily ops_elementwise = {table.data(), table.size()};

}  // namespace backplane::gpu::ops::elementwise
