// Unary and binary element-wise ops, numpy broadcast.
#include <algorithm>
#include <cmath>

#include "common/elementwise.hpp"
#include "common/fusion.hpp"
#include "common/gpu/chain.hpp"
#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/saturated.hpp"

namespace backplane::gpu::ops::elementwise {

namespace {

void lower_unary(Lowering& to, const Node& node) {
    const uint32_t dtype = to[node.output].dtype;
    const uint32_t kernel = variant_for_number(kKernel_unary_f32, dtype);
    if (is_whole(dtype)) {
        const auto bounds =
            node.op == BP_OP_clip ? node.as<backplane::ops::ClipAttributes>() : backplane::ops::ClipAttributes{};
        UnaryIntegerParameters parameters{.op = node.op};
        const std::array whole{backend::element_of(std::ceil(bounds.least), dtype),
                               backend::element_of(std::floor(bounds.most), dtype)};
        static_assert(sizeof whole == sizeof parameters.bounds);
        std::memcpy(parameters.bounds, &whole, sizeof whole);
        to.each(node, kernel, parameters);
    } else {
        const PostOp function = backend::function_post(node);
        to.each(node, kernel, UnaryParameters{.a = function.a, .b = function.b}, {node.op});
    }
    to.plan.dispatches.back().alone = true;
}

// As the kernel takes four elements of a result at once (FOURS); 0: it takes one. The nest becomes one over fours where it must be one.
uint32_t fours_of(LoopNest& nest) {
    if (nest.size.empty() || nest.size.back() % 4 != 0) return 0;
    constexpr uint32_t kInOrder = 1, kOfNest = 2;
    if (nest.size.size() == 1 && nest.stride[0][0] == 1 && nest.stride[1][0] == 1) return kInOrder;
    const auto suits = [](const std::vector<int64_t>& strides) {
        const auto whole = [](int64_t s) { return s % 4 == 0; };
        return strides.back() == 0 || (strides.back() == 1 && std::all_of(strides.begin(), strides.end() - 1, whole));
    };
    if (!suits(nest.stride[0]) || !suits(nest.stride[1])) return 0;
    nest.size.back() /= 4;
    for (auto& strides : nest.stride) strides.back() *= 4;
    return kOfNest;
}

void lower_binary(Lowering& to, const Node& node) {
    const Value& out = to[node.output];
    const auto n = static_cast<uint64_t>(out.elements());
    LoopNest nest(out.dim, broadcast_strides(to[node.inputs[0]], out.dim), broadcast_strides(to[node.inputs[1]], out.dim));
    const bool truncates = node.op == BP_OP_mod && node.as<backplane::ops::ModAttributes>().fmod;
    BinaryParameters parameters{.op = node.op, .truncates = truncates ? 1U : 0U};
    const uint32_t fours = is_whole(out.dtype) ? 0 : fours_of(nest);
    nest.write_to(parameters.nest);
    to.each(step_label(to, node), variant_for_number(kKernel_binary_f32, out.dtype), fours != 0 ? n / 4 : n,
            to.operands_of(node), parameters,
            is_whole(out.dtype) ? std::vector<uint32_t>{} : std::vector<uint32_t>{node.op, fours});
    to.plan.dispatches.back().alone = true;
}

// A step of a chain that reads `other`, one of the operands behind the first.
void add_other(Lowering& to, std::vector<Operand>& operands, uint32_t* step, ValueId other,
               const std::vector<int64_t>& dim) {
    const auto found =
        std::find_if(operands.begin() + 1, operands.end(), [&](const Operand& o) { return o.value == other; });
    step[0] |= static_cast<uint32_t>(found - operands.begin()) << CHAIN_OTHER_SHIFT;
    if (found == operands.end()) operands.push_back(to.reads(other));
    const std::optional<Repeats> repeats = repeats_of(to[other], dim);
    step[1] = repeats->inner;
    step[2] = repeats->count;
}

void lower_chain(Lowering& to, const Node& node) {
    const Value& out = to[node.output];
    std::vector<PostOp> steps = node.post;
    steps.insert(steps.begin(), node.inputs.size() == 2 ? PostOp{PostOp::binary, node.op, 0, 0, node.inputs[1]}
                                                        : backend::function_post(node));
    const std::optional<Repeats> repeats = repeats_of(to[node.inputs[0]], out.dim);
    ChainParameters parameters{
        .steps = static_cast<uint32_t>(steps.size()), .inner = repeats->inner, .count = repeats->count};
    std::vector<Operand> operands{to.reads(node.inputs[0])};
    std::string label;
    for (size_t k = 0; k < steps.size(); ++k) {
        uint32_t* words = &parameters.list[k * CHAIN_STEP_WORDS];
        label.append(sdk::op_name(steps[k].op)).append(k + 1 < steps.size() ? ", " : " ");
        words[0] = steps[k].op;
        if (steps[k].kind == PostOp::binary) {
            if (steps[k].a != 0) words[0] |= CHAIN_FIRST;
            add_other(to, operands, words, steps[k].value, out.dim);
        } else {
            words[1] = word(steps[k].a);
            words[2] = word(steps[k].b);
        }
    }
    while (operands.size() <= CHAIN_OTHERS) operands.push_back(to.reads_or(kNone, node.inputs[0]));
    operands.push_back(to.writes(node.output));
    const auto n = static_cast<uint64_t>(out.elements());
    to.each(label + out.text(), variant_for_type(kKernel_chain_f32, out.dtype), n, std::move(operands), parameters);
    to.plan.dispatches.back().work *= static_cast<double>(steps.size());
    to.plan.dispatches.back().alone = true;
}

void lower_one(Lowering& to, const Node& node) { node.post.empty() ? lower_unary(to, node) : lower_chain(to, node); }
void lower_two(Lowering& to, const Node& node) { node.post.empty() ? lower_binary(to, node) : lower_chain(to, node); }

constexpr OpLowering unary(uint32_t op) { return {op, Types::numbers, 0, nullptr, lower_one}; }
constexpr OpLowering binary(uint32_t op) { return {op, Types::numbers, 0, nullptr, lower_two}; }

constexpr auto table = backend::elementwise_rows<OpLowering>(unary, binary);

}  // namespace

const OpFamily ops_elementwise = {table.data(), table.size()};

}  // namespace backplane::gpu::ops::elementwise
