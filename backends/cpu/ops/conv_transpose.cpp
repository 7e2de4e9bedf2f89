// Transposed convolution. Of a stride of s every s-th element of the result along an axis meets the same taps: s phases, each a convolution with
// steps of 1 that writes every s-th pixel, so that no product is made in vain and nothing is added up in memory. Of three axes the planes that
// meet a plane of the result are summed one after the other.
#include <cstring>
#include <numeric>

#include "ops/table.hpp"
#include "weights.hpp"

namespace backplane::cpu::ops::conv_transpose {

namespace {

struct Axis {
    int64_t extent = 1, result = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;
};

// Elements `phase`, `phase` + stride, ... of the result: element q is the sum over j of tap first + j * step by x at begin + q - j * back.
struct Phase {
    int64_t results = 0, taps = 0, first = 0, step = 1, begin = 0, back = 0;
};

Phase phase_of(const Axis& a, int64_t phase) {
    Phase p;
    p.results = phase < a.result ? (a.result - phase + a.stride - 1) / a.stride : 0;
    const int64_t at = phase + a.pad;
    const auto meets = [&](int64_t tap) { return (at - tap * a.dilation) % a.stride == 0; };
    while (p.first < std::min(a.stride, a.kernel) && !meets(p.first)) ++p.first;
    p.step = a.stride / std::gcd(a.stride, a.dilation);
    if (p.first >= a.kernel || !meets(p.first)) return p;
    p.taps = (a.kernel - p.first + p.step - 1) / p.step;
    p.begin = (at - p.first * a.dilation) / a.stride;
    p.back = p.step * a.dilation / a.stride;
    return p;
}

// A phase of rows and one of columns, and where its weights begin among those of a plane of the filters.
struct Part {
    Phase rows, columns;
    int64_t first_row = 0, first_column = 0, weights = 0;
    [[nodiscard]] int64_t taps() const { return rows.taps * columns.taps; }
    [[nodiscard]] int64_t pixels() const { return rows.results * columns.results; }
};

struct Geometry {
    Axis axis[3];                                              // the outer ones of extent 1 where there are fewer
    int64_t batch = 0, groups = 1, channels = 0, outputs = 0;  // the last two of a group
    std::vector<Part> parts;
    int64_t plane_floats = 0;  // of the packed weights of one plane of the filters
    uint32_t weight_dtype = BP_F32;
    [[nodiscard]] bool depthwise() const { return channels == 1 && outputs == 1 && groups > 1; }
    // Packed weights of one group and one tap.
    [[nodiscard]] int64_t tap_floats(int64_t lanes) const {
        return depthwise() ? 1 : channels * padded_columns(outputs, lanes);
    }
};

Geometry geometry_of(const Lowering& to, const Node& node) {
    Geometry g;
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    const size_t axes = x.dim.size() - 2;
    const auto how = node.as<backplane::ops::ConvTransposeAttributes>().filled(static_cast<uint32_t>(axes));
    for (size_t a = 0; a < axes; ++a)
        g.axis[3 - axes + a] = {x.dim[2 + a], y.dim[2 + a], w.dim[2 + a], how.strides[a], how.pads[a], how.dilations[a]};
    g.batch = x.dim[0];
    g.groups = how.group;
    g.channels = x.dim[1] / g.groups;
    g.outputs = w.dim[1];
    g.weight_dtype = w.dtype;
    for (int64_t row = 0; row < std::min(g.axis[1].stride, g.axis[1].result); ++row)
        for (int64_t column = 0; column < std::min(g.axis[2].stride, g.axis[2].result); ++column) {
            g.parts.push_back({phase_of(g.axis[1], row), phase_of(g.axis[2], column), row, column, g.plane_floats});
            g.plane_floats += g.groups * g.parts.back().taps() * g.tap_floats(to.kernels.conv.lanes);
        }
    return g;
}

// Weights are [channel][output][plane][row][column]; kernels want [block][tap][channel][columns] of each group, or [tap][channel] of one
// filter a channel. Taps go backwards: a later one meets an earlier element of x.
void pack_part(const Geometry& g, const Part& part, const ConvKernels& k, const std::vector<float>& w, int64_t plane,
               float* out) {
    const int64_t plane_taps = g.axis[1].kernel * g.axis[2].kernel;
    const auto place = [&](int64_t tap) {
        const int64_t row = part.rows.first + (part.rows.taps - 1 - tap / part.columns.taps) * part.rows.step;
        const int64_t column = part.columns.first + (part.columns.taps - 1 - tap % part.columns.taps) * part.columns.step;
        return plane * plane_taps + row * g.axis[2].kernel + column;
    };
    const int64_t filter = g.axis[0].kernel * plane_taps;
    if (g.depthwise()) {
        for (int64_t tap = 0; tap < part.taps(); ++tap)
            for (int64_t c = 0; c < g.groups; ++c) *out++ = w[static_cast<size_t>(c * filter + place(tap))];
        return;
    }
    for (int64_t group = 0; group < g.groups; ++group)
        pack_blocks(part.taps() * g.channels, g.outputs, k.block, k.lanes, out + group * part.taps() * g.tap_floats(k.lanes),
                    [&](int64_t row, int64_t o) {
                        const int64_t channel = group * g.channels + row % g.channels;
                        return w[static_cast<size_t>((channel * g.outputs + o) * filter + place(row / g.channels))];
                    });
}

void pack(const Geometry& g, const ConvKernels& k, const std::byte* plain, float* out) {
    const int64_t filter = g.axis[0].kernel * g.axis[1].kernel * g.axis[2].kernel;
    const auto w = decode(plain, g.weight_dtype, g.groups * g.channels * g.outputs * filter);
    for (int64_t plane = 0; plane < g.axis[0].kernel; ++plane)
        for (const Part& part : g.parts) pack_part(g, part, k, w, plane, out + plane * g.plane_floats + part.weights);
}

std::string packing_text(const Geometry& g, const ConvKernels& k) {
    std::string out = "conv_transpose/" + std::to_string(k.lanes) + "x" + std::to_string(k.block);
    for (const int64_t n : {int64_t{g.weight_dtype}, g.groups, g.channels, g.outputs}) out += "," + std::to_string(n);
    for (const Axis& a : g.axis)
        for (const int64_t n : {a.kernel, a.stride, a.pad, a.dilation, std::min(a.stride, a.result)})
            out += "," + std::to_string(n);
    return out;
}

// One phase over one plane of the input: what the task says beside the addresses.
ConvTask task_of(const Geometry& g, const Part& part) {
    ConvTask t;
    t.height = g.axis[1].extent, t.width = g.axis[2].extent;
    t.out_height = part.rows.results, t.out_width = part.columns.results;
    t.kernel_h = part.rows.taps, t.kernel_w = part.columns.taps;
    t.dilation_h = part.rows.back, t.dilation_w = part.columns.back;
    t.pad_top = (part.rows.taps - 1) * part.rows.back - part.rows.begin;
    t.pad_left = (part.columns.taps - 1) * part.columns.back - part.columns.begin;
    t.channels = g.channels, t.out_channels = g.outputs;
    t.segments = 1;
    t.segment[0] = {nullptr, g.channels, g.channels * g.groups};
    t.out_stride = g.outputs * g.groups;
    t.out_row = g.axis[1].stride * g.axis[2].result, t.out_column = g.axis[2].stride;
    if (g.depthwise()) t.channels = t.out_channels = t.segment[0].channels = g.groups;
    return t;
}

// Work of a thread at a time: pixels [begin, end) of a part, or rows where there is one filter a channel.
struct Piece {
    size_t part;
    int64_t begin, end;
};

std::vector<Piece> pieces_of(const Geometry& g, const ConvKernels& k) {
    std::vector<Piece> out;
    for (size_t i = 0; i < g.parts.size(); ++i) {
        const int64_t count = g.depthwise() ? g.parts[i].rows.results : g.parts[i].pixels();
        // Whole tiles, few enough that their input stays in the cache while the blocks of columns pass over it.
        const int64_t size = g.depthwise() ? 1 : k.rows * 16;
        for (int64_t at = 0; at < count; at += size) out.push_back({i, at, std::min(count, at + size)});
    }
    return out;
}

// A piece of plane `plane` of image n, all planes of x that meet it. `task` has the addresses and the epilogue of the whole.
void compute(const Geometry& g, const ConvKernels& k, ConvTask task, const Piece& piece, int64_t n, int64_t plane,
             int64_t group) {
    const Part& part = g.parts[piece.part];
    const Axis& front = g.axis[0];
    const int64_t pixel =
        ((n * front.result + plane) * g.axis[1].result + part.first_row) * g.axis[2].result + part.first_column;
    const int64_t channel = group * g.outputs;
    task.out += pixel * task.out_stride + channel;
    for (int32_t i = 0; i < task.epilogue.count; ++i) {
        EpilogueOp& op = task.epilogue.ops[i];
        if (op.data != nullptr) op.data += channel + (op.kind == kEpilogueAdd ? pixel * op.stride : 0);
    }
    const Epilogue post = task.epilogue;
    const float* x = task.segment[0].data + group * g.channels;
    const float* weights = task.weights + part.weights + group * part.taps() * g.tap_floats(k.lanes);
    const auto run = [&] { (g.depthwise() ? k.depthwise : k.direct)(task, piece.begin, piece.end, 0, task.out_channels); };
    const Phase planes = phase_of(front, plane % front.stride);
    const int64_t last = planes.begin + plane / front.stride;  // plane of x that the first tap meets
    bool written = false;
    for (int64_t j = 0; j < planes.taps; ++j) {
        const int64_t from = last - j * planes.back;
        if (from < 0 || from >= front.extent) continue;
        const bool final = j + 1 == planes.taps || from - planes.back < 0;
        task.segment[0].data = x + (n * front.extent + from) * task.height * task.width * task.segment[0].stride;
        task.weights = weights + (planes.first + j * planes.step) * g.plane_floats;
        task.epilogue.count = 0;
        if (written) task.epilogue.ops[task.epilogue.count++] = {kEpilogueAdd, 0, 0, 0, task.out, task.out_stride};
        for (int32_t o = 0; final && o < post.count; ++o) task.epilogue.ops[task.epilogue.count++] = post.ops[o];
        run();
        written = true;
    }
    if (written) return;
    task.kernel_h = task.kernel_w = 0;  // nothing meets it: zeros, and what follows
    task.epilogue = post;
    run();
}

void lower(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    const Geometry g = geometry_of(to, node);
    const ConvKernels* k = &to.kernels.conv;
    const ValueId x = node.inputs[0];
    const ValueId y = node.output;
    const ValueId weights =
        to.packed(node.inputs[1], layout_id(packing_text(g, *k)),
                  std::max<uint64_t>(static_cast<uint64_t>(g.axis[0].kernel * g.plane_floats), 1) * sizeof(float),
                  [=](const std::byte* plain, std::byte* packed, ThreadPool&) {
                      pack(g, *k, plain, reinterpret_cast<float*>(packed));
                  });
    const uint64_t zero_bytes = static_cast<uint64_t>(std::max<int64_t>(16, g.channels * g.groups)) * sizeof(float);
    const ValueId zeros = to.scratch(zero_bytes);
    std::vector<ValueId> reads = epilogue_reads(node);
    reads.insert(reads.end(), {x, weights});
    const std::vector<Piece> pieces = pieces_of(g, *k);
    const Plan* plan = &to.plan;
    const std::vector<PostOp> post = node.post;
    const std::string kind = g.depthwise() ? "depthwise " : "phases ";
    to.step("ConvTranspose " + kind + to[node.inputs[1]].text() + " -> " + to[y].text() + epilogue_text(node), reads, {y},
            [=](const Run& run) {
                std::memset(run.at<std::byte>(zeros), 0, zero_bytes);
                const int64_t groups = g.depthwise() ? 1 : g.groups;
                const int64_t planes = g.batch * g.axis[0].result;
                const auto count = static_cast<int64_t>(pieces.size());
                run.parallel(planes * groups * count, [&](uint32_t i, std::byte*) {
                    const Piece& piece = pieces[static_cast<size_t>(i % count)];
                    ConvTask task = task_of(g, g.parts[piece.part]);
                    task.segment[0].data = run.at<const float>(x);
                    task.weights = run.at<const float>(weights);
                    task.zeros = run.at<const float>(zeros);
                    task.out = run.at<float>(y);
                    task.epilogue = epilogue_of(post, *plan, run, task.out_stride);
                    const int64_t plane = i / count / groups;
                    compute(g, *k, task, piece, plane / g.axis[0].result, plane % g.axis[0].result, i / count % groups);
                });
            });
}

constexpr OpLowering table[] = {
    {BP_OP_conv_transpose, Types::computes, Wants::channels_last, 1u << 1, check_filters, lower}};

}  // namespace

const OpFamily ops_conv_transpose = {table, std::size(table)};

}  // namespace backplane::cpu::ops::conv_transpose
