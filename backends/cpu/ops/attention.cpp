// Attention: a task is a block of queries of one head.
#include <algorithm>
#include <array>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::attention {

namespace {

// Where the rows of an operand or the result are: of a sample and of a head so many elements apart.
struct Place {
    ValueId value = kNone;
    int64_t offset = 0, sample = 0, head = 0, row = 0;
    [[nodiscard]] int64_t at(int64_t n, int64_t h, int64_t r) const { return offset + n * sample + h * head + r * row; }
};

// `value`: as the op has it; what is another's rows (HeadRows) has a place there.
Place place_of(const Lowering& to, const HeadRows& rows, ValueId value) {
    const std::vector<int64_t>& dim = to[rows.shape != kNone ? rows.shape : value].dim;
    if (rows.shape != kNone) return {value, rows.offset, rows.sample, dim[3], rows.row};
    return {value, 0, dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3]};
}

// Keys and values are read once for each block of queries: rows that are far apart would fall on few sets of a cache.
ValueId side_by_side(Lowering& to, const HeadRows& rows, ValueId value) {
    if (rows.shape == kNone) return value;
    const std::vector<int64_t> dim = to[rows.shape].dim;
    const ValueId copy = to.plan.temporary(BP_F32, dim);
    add_copy(to, "heads " + to[copy].text(), dim, {value, rows.offset, {rows.sample, dim[3], rows.row, 1}},
             {copy, 0, strides_of(to[copy])});
    return copy;
}

void lower(Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::AttentionAttributes>();
    const std::array<HeadRows, 4> given_heads = node.part != 0 ? to.plan.heads[node.part - 1] : std::array<HeadRows, 4>();
    if (to[node.output].elements() == 0) return;
    const Place from = place_of(to, given_heads[0], node.inputs[0]);
    const Place into = place_of(to, given_heads[3], node.output);
    const ValueId q =
        given_heads[0].shape != kNone ? given_heads[0].shape : node.inputs[0];  // of which but the dimensions matter
    const ValueId k = side_by_side(to, given_heads[1], node.inputs[1]);
    const ValueId v = side_by_side(to, given_heads[2], node.inputs[2]);
    const ValueId mask = node.input(3);
    const ValueId given = node.input(4);
    const ValueId bias_u = node.input(6);
    const ValueId bias_v = node.input(7);
    const int64_t heads = to[q].dim[1];
    const int64_t queries = to[q].dim[2];
    const int64_t shared = to[k].dim[1];
    const int64_t keys = to[k].dim[2];
    const ValueId positions = node.input(5);
    AttentionBlock all{};
    all.size = to[q].dim[3];
    all.width = to[v].dim[3];
    all.q_row = from.row;
    all.out_row = into.row;
    all.window = a.window;
    all.causal = a.causal;
    all.scale = static_cast<float>(a.scale_of(all.size));
    all.softcap = static_cast<float>(a.softcap);
    all.position_rows = positions != kNone ? to[positions].dim[1] : 0;
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
    to.lane_scratch(static_cast<uint64_t>(kernels.scratch(all.size, all.width, positions != kNone, cached)) * sizeof(float));
    const std::vector<ValueId> reads{from.value, k, v, mask, given, positions, bias_u, bias_v};
    to.step(step_label(to, node), reads, {into.value}, [=](const Run& run) {
        run.parallel(tasks, [&](int64_t task, std::byte* scratch) {
            const int64_t head = task / blocks;  // of all samples
            const int64_t sample = head / heads;
            const int64_t row = task % blocks * kAttentionQueries;
            const int64_t of_keys = sample * shared + head % heads / (heads / shared);
            AttentionBlock b = all;
            b.rows = std::min(kAttentionQueries, queries - row);
            b.q = run.at<float>(from.value) + from.at(sample, head % heads, row);
            if (cached) {
                b.k_blocks = run.at<uint8_t>(k) + of_keys * k_bytes;
                b.v_blocks = run.at<uint8_t>(v) + of_keys * v_bytes;
            } else {
                b.k = run.at<float>(k) + of_keys * keys * b.size;
                b.v = run.at<float>(v) + of_keys * keys * b.width;
            }
            b.out = run.at<float>(into.value) + into.at(sample, head % heads, row);
            b.length = lengths.given() ? std::clamp<int64_t>(lengths.in(run)[sample], 0, keys) : keys;
            b.first = a.place_of(b.length, queries, keys) + row;
            const int64_t of_head = head % heads * b.size;
            if (positions != kNone && b.size != 0)  // heads of nothing have no memory
                b.positions = run.at<float>(positions) + of_head * b.position_rows;
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
