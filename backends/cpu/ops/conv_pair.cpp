// Two convolutions as one step (fusion.cpp): a few rows of the map between them at a time, which stay in the thread's second-level cache.
#include <algorithm>
#include <cstring>

#include "ops/conv_geometry.hpp"
#include "ops/planar_conv.hpp"
#include "ops/table.hpp"
#include "weights.hpp"

namespace backplane::cpu::ops::conv_pair {

namespace {

using conv::Geometry;

// Floats of the map between that a thread has at a time, about; rows that two ranges read are made twice.
constexpr int64_t kFloatsBetween = 3 << 16;
constexpr int64_t kFewestRows = 2;

struct Half {
    Geometry g;
    std::vector<PostOp> post;
    ValueId weights = kNone;
};

struct Pair {
    Half first, second;
    ValueId in = kNone, out = kNone, zeros = kNone, mask = kNone;
    int64_t mask_sample = 0, mask_row = 0;  // elements from one sample and row to the next
    int64_t rows = 0;                       // of the result that a chunk makes
};

// Rows of the map between that rows `begin` to `end` of the result read.
struct Rows {
    int64_t begin, end;
};
Rows rows_between(const ConvTask& t, int64_t begin, int64_t end) {
    const int64_t first = begin * t.stride_h - t.pad_top;
    const int64_t last = (end - 1) * t.stride_h - t.pad_top + (t.kernel_h - 1) * t.dilation_h;
    const int64_t from = std::clamp<int64_t>(first, 0, t.height);
    return {from, std::clamp<int64_t>(last + 1, from, t.height)};
}

int64_t most_rows_between(const ConvTask& t, int64_t rows) {
    return std::min(t.height, (rows - 1) * t.stride_h + (t.kernel_h - 1) * t.dilation_h + 1);
}

Half half_of(Lowering& to, const Node& node, const char* kind, int64_t floats) {
    Half half{conv::geometry_of(to.plan, node), node.post};
    const Geometry& g = half.g;
    half.weights = to.packed(node.inputs[1], layout_id(conv::packing_text(kind, g, to.kernels.conv)),
                             static_cast<uint64_t>(floats) * sizeof(float),
                             [g, k = &to.kernels.conv](const std::byte* plain, std::byte* packed, ThreadPool&) {
                                 conv::pack_slices(g, *k, plain, reinterpret_cast<float*>(packed));
                             });
    return half;
}

// Some rows of the first convolution's result, as a map of its own.
void make_rows(const Pair& pair, const Kernels& k, const Run& run, ConvTask task, int64_t sample, Rows rows, float* into) {
    const int64_t row = task.out_width * task.out_stride;
    task.segment[0].data += sample * task.height * task.width * task.segment[0].stride;
    task.pad_top -= rows.begin * task.stride_h;
    task.out_height = rows.end - rows.begin;
    task.out = into;
    const int64_t pixels = task.out_height * task.out_width;
    if (pixels > 0) k.conv.direct(task, 0, pixels, 0, task.out_channels);
    if (pair.mask == kNone) return;
    const float* mask = run.at<const float>(pair.mask) + sample * pair.mask_sample;
    for (int64_t i = 0; i < task.out_height; ++i, into += row)
        if (const float by = mask[(rows.begin + i) * pair.mask_row]; by != 1)
            k.elementwise.binary[BP_OP_mul](into, 1, &by, 0, into, row);
}

void take_rows(const Kernels& k, ConvTask task, int64_t sample, int64_t begin, int64_t end, Rows rows, const float* from) {
    const int64_t pixel = (sample * task.out_height + begin) * task.out_width;
    task.segment[0].data = from;
    task.pad_top += rows.begin - begin * task.stride_h;
    task.height = rows.end - rows.begin;
    task.out += pixel * task.out_stride;
    task.out_height = end - begin;
    for (int32_t o = 0; o < task.epilogue.count; ++o)
        if (EpilogueOp& op = task.epilogue.ops[o]; op.kind == kEpilogueAdd) op.data += pixel * op.stride;
    k.conv.depthwise(task, 0, task.out_height, 0, task.out_channels);
}

ConvTask bound(const Half& half, const Pair& pair, const Plan& plan, const Run& run) {
    ConvTask task = half.g.task;
    task.weights = run.at<const float>(half.weights);
    task.zeros = run.at<const float>(pair.zeros);
    task.epilogue = epilogue_of(half.post, plan, run, task.out_stride);
    return task;
}

void compute(const Pair& pair, const Plan& plan, const Kernels& k, const Run& run) {
    std::memset(run.at<std::byte>(pair.zeros), 0, plan[pair.zeros].bytes);
    ConvTask first = bound(pair.first, pair, plan, run);
    first.segment[0].data = run.at<const float>(pair.in);
    ConvTask second = bound(pair.second, pair, plan, run);
    second.channels = second.out_channels = second.segment[0].channels = pair.second.g.groups;
    second.out = run.at<float>(pair.out);
    const int64_t of_sample = conv::parts(second.out_height, pair.rows);
    run.parallel(pair.second.g.batch * of_sample, [&](int64_t i, std::byte* scratch) {
        const int64_t sample = i / of_sample, begin = i % of_sample * pair.rows;
        const int64_t end = std::min(second.out_height, begin + pair.rows);
        const Rows rows = rows_between(second, begin, end);
        auto* between = reinterpret_cast<float*>(scratch);
        make_rows(pair, k, run, first, sample, rows, between);
        take_rows(k, second, sample, begin, end, rows, between);
    });
}

void lower(Lowering& to, const Node& node) {
    const ConvPair nodes = to.plan.pairs[node.part];
    if (to[node.output].elements() == 0) return;
    Pair pair;
    const ConvKernels& k = to.kernels.conv;
    const Geometry g = conv::geometry_of(to.plan, nodes.first);
    pair.first = half_of(to, nodes.first, "direct", conv::direct_floats(g, k));
    pair.second = half_of(to, nodes.second, "depthwise", to[nodes.second.inputs[1]].elements());
    pair.second.post = node.post;
    pair.in = node.inputs[0];
    pair.out = node.output;
    pair.mask = nodes.masked ? node.inputs[3] : kNone;
    if (pair.mask != kNone) {
        const std::vector<int64_t>& dim = to[pair.mask].dim;
        pair.mask_row = dim[2] > 1 ? 1 : 0;
        pair.mask_sample = dim[0] > 1 ? dim[2] : 0;
    }
    const ConvTask& t = pair.second.g.task;
    const int64_t row = t.width * pair.second.g.groups;
    int64_t rows = std::max<int64_t>(1, (kFloatsBetween / row - t.kernel_h) / t.stride_h + 1);
    const int64_t of_thread = conv::parts(pair.second.g.batch * t.out_height, int64_t{4} * to.plan.threads);
    pair.rows = std::clamp<int64_t>(of_thread, std::min(rows, kFewestRows), rows);
    to.lane_scratch(static_cast<uint64_t>(most_rows_between(t, pair.rows) * row) * sizeof(float));
    pair.zeros = to.scratch(static_cast<uint64_t>(std::max<int64_t>(16, to[pair.in].dim[1])) * sizeof(float));
    std::vector<ValueId> reads = node.inputs;
    reads.erase(reads.begin() + 1, reads.begin() + 3);
    for (const ValueId id : epilogue_reads(node)) reads.push_back(id);
    reads.insert(reads.end(), {pair.first.weights, pair.second.weights});
    to.step("Conv direct " + to[node.inputs[1]].text() + epilogue_text(nodes.first) + (nodes.masked ? ", Mul" : "") +
                ", Conv depthwise " + to[node.inputs[2]].text() + " -> " + to[node.output].text() + epilogue_text(node),
            reads, {node.output},
            [pair, plan = &to.plan, k = &to.kernels](const Run& run) { compute(pair, *plan, *k, run); });
}

constexpr OpLowering table[] = {{kOpConvPair, Types::computes, Wants::channels_last, 1u << 1 | 1u << 2, nullptr, lower}};

}  // namespace

const OpFamily ops_conv_pair = {table, std::size(table)};

}  // namespace backplane::cpu::ops::conv_pair
