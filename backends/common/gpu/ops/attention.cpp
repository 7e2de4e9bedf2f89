// Attention, as one kernel: its scores are never in memory.
#include "common/gpu/ops/attention.hpp"

#include <algorithm>
#include <optional>

#include "common/gpu/ops/attention_cut.hpp"
#include "common/gpu/ops/moves.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/strided.hpp"

namespace backplane::gpu::ops::attention {

namespace {

// The mask in a type that the kernel reads; kNone: there is none.
ValueId read_mask(Lowering& to, const Node& node) {
    const ValueId mask = node.input(3);
    if (mask == kNone || to[mask].dtype == BP_BOOL || to[mask].dtype == to[node.inputs[0]].dtype) return mask;
    const ValueId made = to.plan.temporary(to[node.inputs[0]].dtype, std::vector<int64_t>(to[mask].dim));
    moves::add_cast(to, mask, made);
    return made;
}

// What biases add to scores, as kernels on the matrix units want it; kNone: nothing.
ValueId make_biases(Lowering& to, const Node& node, const AttentionParameters& p, const View& keys) {
    if (p.added == 0) return kNone;
    const AttentionBiasesParameters parameters{.lines = p.pairs * p.keys + p.heads * p.distances,
                                               .keys = p.keys,
                                               .heads = p.heads,
                                               .sharing = p.sharing,
                                               .distances = p.distances,
                                               .depth = p.depth,
                                               .pairs = p.pairs,
                                               .added = p.added,
                                               .key_row = word(keys.at.strides[2]),
                                               .key_head = word(keys.at.strides[1]),
                                               .key_batch = word(keys.at.strides[0]),
                                               .key_first = word(keys.at.offset)};
    const ValueId made = to.plan.temporary(BP_F32, {parameters.lines});
    constexpr int64_t kLines = kLocal / 8;  // of a workgroup
    const auto read = [&](size_t i) { return to.reads_or(node.input(i), node.inputs[0]); };
    to.rows("Attention biases", kKernel_attention_biases_f16, static_cast<uint64_t>(up(parameters.lines, kLines)), kLocal,
            {to.reads(node.inputs[1]), read(5), read(6), read(7), to.writes(made)}, words_of(parameters));
    to.plan.dispatches.back().work = 2.0 * parameters.lines * p.depth;
    return made;
}

// Whose sizes are those of the result's and the operands' views.
Sizes sizes_of(const Plan& plan, const Node& node, const std::array<View, 4>& views) {
    const ValueId mask = node.input(3), positions = node.input(5);
    const std::vector<int64_t>& q = views[0].dim;
    const std::vector<int64_t>& k = views[1].dim;
    const bool relative = positions != kNone;
    // Those that share a head of k have positions of their own, and biases: a block of rows is of one of them.
    const int64_t heads = relative ? q[1] : k[1];
    return {.pairs = q[0] * heads,
            .rows = relative ? q[2] : q[1] / k[1] * q[2],
            .keys = k[2],
            .depth = q[3],
            .width = views[3].dim[3],
            .dtype = plan[node.output].dtype,
            .truth = mask != kNone && plan[mask].dtype == BP_BOOL,
            .relative = relative,
            .cached = is_block(plan[node.inputs[1]].dtype),
            .distances = relative ? plan[positions].dim[1] : 0};
}

View dense(const Plan& plan, ValueId id) { return {plan[id].dim, {id, 0, strides_of(plan[id])}}; }

std::array<View, 4> views_of(const Plan& plan, const Node& node) {
    const auto found = plan.views.find(node.output);
    if (found != plan.views.end()) return found->second;
    return {dense(plan, node.inputs[0]), dense(plan, node.inputs[1]), dense(plan, node.inputs[2]), dense(plan, node.output)};
}

// Rows of queries that share a head of k follow each other where they lie dense.
std::vector<uint32_t> words_of_views(const std::array<View, 4>& views, const Sizes& s) {
    std::vector<uint32_t> words;
    for (size_t i = 0; i < views.size(); ++i) {
        const backend::StridedView& at = views[i].at;
        const bool of_rows = (i == 0 || i == 3) && !s.relative;
        const int64_t sharing = of_rows ? s.rows / views[0].dim[2] : 1;
        for (const int64_t w : {at.strides[2], at.strides[1] * sharing, at.strides[0], at.offset}) words.push_back(word(w));
    }
    return words;
}

void lower(Lowering& to, const Node& node) {
    const ValueId mask = read_mask(to, node);  // it may add values: what is taken by reference comes after
    const ValueId lengths = node.input(4);
    const ValueId in = node.inputs[0];
    const std::array<View, 4> views = views_of(to.plan, node);
    const Sizes sizes = sizes_of(to.plan, node, views);
    const auto& [pairs, rows, keys, depth, width, dtype, truth, relative, cached, distances] = sizes;
    const std::vector<int64_t>& q = views[0].dim;
    const auto a = node.as<backplane::ops::AttentionAttributes>();
    const int64_t sharing = q[1] / views[1].dim[1];
    const Cut cut = choose(to.can, to.plan.math, sizes);
    const int64_t blocks = up(rows, cut.rows);
    AttentionParameters parameters{
        .pairs = word(pairs),
        .blocks = word(blocks),
        .rows = word(rows),
        .queries = word(q[2]),
        .heads = word(pairs / q[0]),
        .keys = word(keys),
        .depth = word(depth),
        .width = word(width),
        .scale = static_cast<float>(a.scale_of(q[3])),
        .softcap = static_cast<float>(a.softcap),
        .causal = a.causal ? 1U : 0U,
        .window = a.window < keys + q[2] ? word(a.window) : 0,  // a wider one hides nothing
        .length_words = words_of_index(to, lengths),
        .sharing = relative ? word(sharing) : 1U,
        .padded = a.padded ? 1U : 0U,
        .distances = word(distances),
        .added = (node.input(6) != kNone ? ATTENTION_BIAS_U : 0U) | (node.input(7) != kNone ? ATTENTION_BIAS_V : 0U)};
    if (mask != kNone) {
        const std::vector<int64_t> steps = broadcast_strides(to[mask], {q[0], q[1], q[2], keys});
        parameters.masked = truth ? MASKED_BY_TRUTHS : MASKED_BY_NUMBERS;
        parameters.mask_batch = word(steps[0]);
        parameters.mask_head = word(steps[1]);
        parameters.mask_query = word(steps[2]);
        parameters.mask_key = word(steps[3]);
    }
    const ValueId biases = cut.takes_biases() ? make_biases(to, node, parameters, views[1]) : kNone;
    const uint32_t element = cached ? 2 : 0;  // that kernels read: words of 16 bits
    std::vector<Operand> operands{to.reads(in), to.reads(node.inputs[1], element), to.reads(node.inputs[2], element),
                                  to.reads_or(mask, in, mask != kNone && cut.takes_any_mask() ? 1 : 0),
                                  to.reads_or(lengths, in, 4)};
    const size_t last = cut.of_tiles() ? 5 : cut.takes_biases() ? 6 : 8;
    for (size_t i = 5; i < last; ++i) operands.push_back(to.reads_or(node.input(i), in));
    if (cut.takes_biases()) operands.push_back(to.reads_or(biases, in));
    operands.push_back(to.writes(node.output));
    std::vector<uint32_t> words = words_of(parameters);
    if (cut.is_for_warpgroups())
        for (const uint32_t w : words_of_views(views, sizes)) words.push_back(w);
    to.rows(step_label(to, node), cut.kernel, static_cast<uint64_t>(pairs * blocks), cut.invocations, std::move(operands),
            std::move(words), cut.constants);
    to.plan.dispatches.back().work = 2.0 * static_cast<double>(pairs * rows * keys * ((relative ? 2 : 1) * depth + width));
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

// Dense axes of `from` as those of `to`, where a stride each says it: axes of from are cut into several, or joined where they lie as one.
std::optional<std::vector<int64_t>> reshaped(const std::vector<int64_t>& from, const std::vector<int64_t>& strides,
                                             const std::vector<int64_t>& to) {
    std::vector<int64_t> out(to.size(), 0);
    size_t a = 0, b = 0;
    while (a < from.size() && b < to.size()) {
        const size_t first_a = a, first_b = b;
        int64_t left = from[a++], right = to[b++];
        while (left != right) {
            if (left < right ? a == from.size() : b == to.size()) return std::nullopt;
            (left < right ? left : right) *= left < right ? from[a++] : to[b++];
        }
        for (size_t d = first_a; d + 1 < a; ++d)
            if (strides[d] != strides[d + 1] * from[d + 1]) return std::nullopt;
        int64_t step = strides[a - 1];
        for (size_t d = b; d-- > first_b; step *= to[d]) out[d] = step;
    }
    for (; a < from.size(); ++a)
        if (from[a] != 1) return std::nullopt;
    for (; b < to.size(); ++b)
        if (to[b] != 1) return std::nullopt;
    return out;
}

// The value as part of what it was cut out of, and turned, where each element has a place there.
View view_of(const Plan& plan, const backend::Readers& readers, ValueId id) {
    const uint32_t maker = readers.maker(id);
    const Node* node = maker == kNone ? nullptr : &plan.nodes[maker];
    if (node == nullptr || (node->op != BP_OP_reshape && node->op != BP_OP_transpose && node->op != BP_OP_slice))
        return dense(plan, id);
    const View of = view_of(plan, readers, node->inputs[0]);
    View view{plan[id].dim, of.at};
    if (node->op == BP_OP_reshape) {
        std::optional<std::vector<int64_t>> strides = reshaped(of.dim, of.at.strides, view.dim);
        if (!strides) return dense(plan, id);
        view.at.strides = std::move(*strides);
    } else {
        const backend::StridedView part =
            node->op == BP_OP_slice ? backend::sliced(*node, of.at.strides) : backend::transposed(*node, of.at.strides);
        view.at.strides = part.strides;
        view.at.offset += part.offset;
    }
    return view;
}

// As the device copies it: elements follow each other, and all else begins at multiples of 16 bytes.
bool can_be_copied(const View& view) {
    const auto whole = [](int64_t s) { return s > 0 && s % 8 == 0; };
    const std::vector<int64_t>& strides = view.at.strides;
    return strides[3] == 1 && view.at.offset % 8 == 0 && std::all_of(strides.begin(), strides.end() - 1, whole);
}

constexpr OpLowering table[] = {{BP_OP_attention, Types::computes, 1U << 3 | 1U << 4, check, lower, 1U << 1 | 1U << 2}};

}  // namespace

void take_as_they_lie(Plan& plan, const Abilities& can) {
    if (!can.warpgroups) return;
    const backend::Readers readers(plan);
    for (uint32_t i = 0; i < plan.nodes.size(); ++i) {
        const Node& node = plan.nodes[i];
        if (node.op != BP_OP_attention || plan[node.output].elements() == 0 || plan.views.count(node.output) != 0) continue;
        std::array<View, 4> views = views_of(plan, node);
        const Sizes sizes = sizes_of(plan, node, views);
        const bool one_each = sizes.relative || views[0].dim[1] == views[1].dim[1];
        if (!one_each || !choose(can, plan.math, sizes).is_for_warpgroups()) continue;
        Node taken = node;
        for (size_t k = 0; k < 3; ++k) {
            View view = view_of(plan, readers, node.inputs[k]);
            if (!can_be_copied(view)) continue;
            taken.inputs[k] = view.at.value;
            views[k] = std::move(view);
        }
        // A Transpose behind it: it is written as that would put it.
        const uint32_t after = readers.only(node.output);
        const bool turned =
            after != kNone && plan.nodes[after].op == BP_OP_transpose && plan[node.output].role == BP_ROLE_TEMPORARY;
        if (turned) {
            const Node& transpose = plan.nodes[after];
            const std::vector<int64_t> to = strides_of(plan[transpose.output]);
            View view{plan[node.output].dim, {transpose.output, 0, std::vector<int64_t>(4)}};
            const std::vector<size_t> order = backend::transpose_order(transpose, 4);
            for (size_t d = 0; d < 4; ++d) view.at.strides[order[d]] = to[d];
            if (can_be_copied(view)) {
                taken.output = transpose.output;
                views[3] = std::move(view);
            }
        }
        const ValueId made = taken.output;
        plan.nodes[made == node.output ? i : after] = std::move(taken);
        plan.views[made] = std::move(views);
    }
}

const OpFamily ops_attention = {table, std::size(table)};

}  // namespace backplane::gpu::ops::attention
