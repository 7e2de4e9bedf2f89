// Attention: a task is a block of queries of one head.
#include <algorithm>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::attention {

namespace {

// Relative positions as blocks of queries read them: number by number, along a row from the smallest distance to the largest.
struct Positions {
    ValueId turned = kNone;
    int64_t row = 0;   // from one number of a head's to the next
    int64_t zero = 0;  // where in a row distance 0 is
};

Positions turn_positions(Lowering& to, const Node& node) {
    const ValueId given = node.input(5);
    if (given == kNone) return {};
    const int64_t heads = to[given].dim[0];
    const int64_t rows = to[given].dim[1];
    const int64_t size = to[given].dim[2];
    // An odd number of cache lines: rows that are read together then fall on all sets of a cache.
    constexpr int64_t kLine = 16;
    Positions p;
    p.row = ((rows + 2 * kAttentionBeside + kLine - 1) / kLine | 1) * kLine;
    p.zero = kAttentionBeside + rows / 2;
    p.turned = to.plan.temporary(BP_F32, {heads, size, p.row});
    to.step("nothing beside positions", {}, {p.turned}, [=](const Run& run) {
        float* into = run.at<float>(p.turned);
        for (int64_t i = 0; i < heads * size; ++i, into += p.row) {
            std::fill_n(into, kAttentionBeside, 0.0F);
            std::fill(into + kAttentionBeside + rows, into + p.row, 0.0F);
        }
    });
    add_copy(to, "turn positions", {heads, size, rows}, {given, (rows - 1) * size, {rows * size, 1, -size}},
             {p.turned, kAttentionBeside, {size * p.row, p.row, 1}});
    return p;
}

void lower(Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::AttentionAttributes>();
    const ValueId q = node.inputs[0];
    const ValueId k = node.inputs[1];
    const ValueId v = node.inputs[2];
    const ValueId mask = node.input(3);
    const ValueId given = node.input(4);
    const ValueId bias_u = node.input(6);
    const ValueId bias_v = node.input(7);
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const Positions positions = turn_positions(to, node);
    const int64_t heads = to[q].dim[1];
    const int64_t queries = to[q].dim[2];
    const int64_t shared = to[k].dim[1];
    const int64_t keys = to[k].dim[2];
    AttentionBlock all{};
    all.size = to[q].dim[3];
    all.width = to[v].dim[3];
    all.window = a.window;
    all.causal = a.causal;
    all.scale = static_cast<float>(a.scale_of(all.size));
    all.softcap = static_cast<float>(a.softcap);
    all.position_row = positions.row;
    std::vector<int64_t> stride(4, 0);
    const bool judged = mask != kNone && to[mask].dtype == BP_BOOL;
    if (mask != kNone) stride = backend::broadcast_strides(to[mask], {to[q].dim[0], heads, queries, keys});
    all.mask_row = stride[2];
    all.mask_key = stride[3];
    const WholeNumbers lengths(to, given);
    const int64_t blocks = (queries + kAttentionQueries - 1) / kAttentionQueries;
    const int64_t tasks = to[q].dim[0] * heads * blocks;
    const AttentionKernels kernels = to.kernels.attention;
    const bool cached = is_block(to[k].dtype);
    const uint64_t k_bytes = to[k].bytes / static_cast<uint64_t>(std::max<int64_t>(1, to[k].dim[0] * shared));
    const uint64_t v_bytes = to[v].bytes / static_cast<uint64_t>(std::max<int64_t>(1, to[k].dim[0] * shared));
    to.lane_scratch(static_cast<uint64_t>(kernels.scratch(all.size, all.width, positions.turned != kNone, cached)) *
                    sizeof(float));
    const std::vector<ValueId> reads{q, k, v, mask, given, positions.turned, bias_u, bias_v};
    to.step(step_label(to, node), reads, {out}, [=](const Run& run) {
        run.parallel(tasks, [&](int64_t task, std::byte* scratch) {
            const int64_t head = task / blocks;  // of all samples
            const int64_t sample = head / heads;
            const int64_t row = task % blocks * kAttentionQueries;
            const int64_t of_keys = sample * shared + head % heads / (heads / shared);
            AttentionBlock b = all;
            b.rows = std::min(kAttentionQueries, queries - row);
            b.q = run.at<float>(q) + (head * queries + row) * b.size;
            if (cached) {
                b.k_blocks = run.at<uint8_t>(k) + of_keys * k_bytes;
                b.v_blocks = run.at<uint8_t>(v) + of_keys * v_bytes;
            } else {
                b.k = run.at<float>(k) + of_keys * keys * b.size;
                b.v = run.at<float>(v) + of_keys * keys * b.width;
            }
            b.out = run.at<float>(out) + (head * queries + row) * b.width;
            b.length = lengths.given() ? std::clamp<int64_t>(lengths.in(run)[sample], 0, keys) : keys;
            b.first = a.place_of(b.length, queries, keys) + row;
            const int64_t of_head = head % heads * b.size;
            if (positions.turned != kNone && b.size != 0)  // heads of nothing have no memory
                b.positions = run.at<float>(positions.turned) + of_head * positions.row + positions.zero;
            if (bias_u != kNone && b.size != 0) b.bias_u = run.at<float>(bias_u) + of_head;
            if (bias_v != kNone && b.size != 0) b.bias_v = run.at<float>(bias_v) + of_head;
            const int64_t at = sample * stride[0] + head % heads * stride[1] + row * stride[2];
            if (judged) b.seen = run.at<uint8_t>(mask) + at;
            if (mask != kNone && !judged) b.added = run.at<float>(mask) + at;
            kernels.block(&b, reinterpret_cast<float*>(scratch));
        });
    });
}

// A mask may be bool, lengths are whole numbers; the rest is float32 here.
constexpr OpLowering table[] = {{BP_OP_attention, Types::judges, Wants::row_major, 0, nullptr, lower, 1U << 1 | 1U << 2}};

}  // namespace

const OpFamily ops_attention = {table, std::size(table)};

}  // namespace backplane::cpu::ops::attention
