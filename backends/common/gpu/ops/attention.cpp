// Attention, as one kernel: its scores are never in memory.
#include "common/gpu/ops/cast.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/strided.hpp"

namespace backplane::gpu::ops::attention {

namespace {

constexpr int64_t kMostWidth = 256;  // of a head of v: sums of its rows are in registers

// How the kernel is cut: rows of a workgroup, keys of a tile, how deep q and k lie in shared memory, and how many keys of v.
struct Cut {
    uint32_t rows, keys, depth, held, width;
    [[nodiscard]] uint32_t invocations() const { return rows / 4 * (keys / 4); }
};

constexpr int64_t kFewRows = 4;
constexpr int64_t kManyBlocks = 120;  // of 64 rows, to keep the device busy

Cut choose_cut(const Abilities& can, int64_t rows, int64_t pairs, int64_t keys, int64_t width, bool relative) {
    const bool large = !can.software && can.most_invocations >= 256 && can.shared_bytes >= 32768;  // all else takes 16 KiB
    const auto steps = static_cast<uint32_t>((width + 63) / 64);
    if (rows <= kFewRows) {
        const uint32_t wide = steps == 3 ? 256 : 64 * steps;  // halves of the invocations share keys
        return large && keys > 256 ? Cut{4, 512, 8, 4096 / wide, wide} : Cut{4, 256, 8, 2048 / wide, wide};
    }
    const bool many = large && rows > 32 && (can.least_patches == 0 || pairs * up(rows, 64) >= kManyBlocks);
    if (many) return {64, 64, 16, steps == 3 ? 8 : 32 / steps, 64 * steps};
    if (relative) return {32, 64, 8, steps == 1 ? 16U : steps == 2 ? 8U : 4U, 64 * steps};
    return {32, 64, 16, steps == 1 ? 16U : steps == 4 ? 4U : 8U, 64 * steps};
}

// As attention_workgroup is cut: it takes whole tiles. No rows: it cannot, or there are too few for it.
Cut choose_workgroup_cut(const Lowering& to, const Node& node, int64_t rows, int64_t pairs) {
    const std::vector<int64_t>& k = to[node.inputs[1]].dim;
    const int64_t width = to[node.output].dim[3];
    constexpr uint32_t kKeys = 64;
    if (!to.can.workgroup_matrices || to.plan.math == BP_MATH_STRICT || to[node.inputs[0]].dtype != BP_F16) return {};
    if (node.input(5) != kNone) return {};  // relative positions: what a matrix holds cannot be moved along its rows
    if (rows < 32 || k[2] < kKeys || k[3] % 16 != 0 || width % 16 != 0 || k[3] > kMostWidth) return {};
    const bool narrow = k[3] <= 64 && width <= 64;
    const uint32_t down = narrow && pairs * (rows / 128) >= kManyBlocks ? 128 : rows >= 64 ? 64 : 32;
    return {down, kKeys, word(k[3]), 0, word(width)};
}

uint32_t variant(uint32_t dtype, bool truth) {
    return truth ? variant_for_type(kKernel_attention_f32_bool, kKernel_attention_f16_bool, dtype)
                 : variant_for_type(kKernel_attention_f32, kKernel_attention_f16, dtype);
}

// The mask in a type that the kernel reads; kNone: there is none.
ValueId read_mask(Lowering& to, const Node& node) {
    const ValueId mask = node.input(3);
    if (mask == kNone || to[mask].dtype == BP_BOOL || to[mask].dtype == to[node.inputs[0]].dtype) return mask;
    const ValueId made = to.plan.temporary(to[node.inputs[0]].dtype, std::vector<int64_t>(to[mask].dim));
    cast::add_cast(to, mask, made);
    return made;
}

void lower(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    const ValueId mask = read_mask(to, node);  // it may add values: what is taken by reference comes after
    const ValueId lengths = node.input(4);
    const ValueId in = node.inputs[0];
    const std::vector<int64_t>& q = to[in].dim;
    const std::vector<int64_t>& k = to[node.inputs[1]].dim;
    const int64_t width = to[node.output].dim[3];
    const auto a = node.as<backplane::ops::AttentionAttributes>();
    const ValueId positions = node.input(5);
    const bool relative = positions != kNone;
    const int64_t sharing = q[1] / k[1];
    // Those that share a head of k have positions of their own, and biases: a block of rows is of one of them.
    const int64_t heads = relative ? q[1] : k[1];
    const int64_t pairs = q[0] * heads;
    const int64_t rows = relative ? q[2] : sharing * q[2];
    const Cut whole = choose_workgroup_cut(to, node, rows, pairs);
    const Cut cut = whole.rows != 0 ? whole : choose_cut(to.can, rows, pairs, k[2], width, relative);
    const bool truth = mask != kNone && to[mask].dtype == BP_BOOL;
    const int64_t blocks = up(rows, cut.rows);
    AttentionParameters parameters{
        .pairs = word(pairs),
        .blocks = word(blocks),
        .rows = word(rows),
        .queries = word(q[2]),
        .heads = word(heads),
        .keys = word(k[2]),
        .depth = word(q[3]),
        .width = word(width),
        .scale = static_cast<float>(a.scale_of(q[3])),
        .softcap = static_cast<float>(a.softcap),
        .causal = a.causal ? 1U : 0U,
        .window = a.window < k[2] + q[2] ? word(a.window) : 0,  // a wider one hides nothing
        .length_words = words_of_index(to, lengths),
        .sharing = relative ? word(sharing) : 1U,
        .padded = a.padded ? 1U : 0U,
        .distances = relative ? word(to[positions].dim[1]) : 0U,
        .added = (node.input(6) != kNone ? ATTENTION_BIAS_U : 0U) | (node.input(7) != kNone ? ATTENTION_BIAS_V : 0U)};
    if (mask != kNone) {
        const std::vector<int64_t> steps = broadcast_strides(to[mask], {q[0], q[1], q[2], k[2]});
        parameters.masked = truth ? 2 : 1;
        parameters.mask_batch = word(steps[0]);
        parameters.mask_head = word(steps[1]);
        parameters.mask_query = word(steps[2]);
        parameters.mask_key = word(steps[3]);
    }
    std::vector<Operand> operands{to.reads(in), to.reads(node.inputs[1]), to.reads(node.inputs[2]),
                                  to.reads(mask != kNone ? mask : in),
                                  lengths != kNone ? to.reads(lengths, 4) : to.reads(in)};
    std::vector<uint32_t> constants{cut.rows, cut.keys, cut.depth};
    if (whole.rows == 0) {
        for (size_t i = 5; i < 8; ++i) operands.push_back(to.reads(node.input(i) != kNone ? node.input(i) : in));
        constants.push_back(cut.held);
    }
    operands.push_back(to.writes(node.output));
    constants.push_back(cut.width);
    if (whole.rows == 0) constants.push_back(relative ? 1 : 0);
    to.rows(step_label(to, node), whole.rows != 0 ? kKernel_attention_workgroup_f16 : variant(to[in].dtype, truth),
            static_cast<uint64_t>(pairs * blocks), whole.rows != 0 ? kWorkgroupOfMatrices : cut.invocations(),
            std::move(operands), words_of(parameters), constants);
    to.plan.dispatches.back().work = 2.0 * static_cast<double>(pairs * rows * k[2] * ((relative ? 2 : 1) * q[3] + width));
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& v = plan[node.inputs[2]];
    const ValueId mask = node.input(3);
    if (v.dim[3] > kMostWidth)
        return {BP_WHY_LIMIT, node.text() + ": heads of " + std::to_string(v.dim[3]) + " numbers in " + v.text() +
                                  ", kernels here take at most " + std::to_string(kMostWidth)};
    if (mask != kNone && plan[mask].dtype != BP_BOOL && plan[mask].dtype != BP_F32 && !is_half(plan[mask].dtype))
        return {BP_WHY_DTYPE, node.text() + " is not done for a mask " + plan[mask].text()};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_attention, Types::computes, 1U << 3 | 1U << 4, check, lower}};

}  // namespace

const OpFamily ops_attention = {table, std::size(table)};

}  // namespace backplane::gpu::ops::attention
