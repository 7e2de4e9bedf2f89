// Convolution: depthwise, Winograd, or direct. Inputs are the segments of a concatenation that is never made (see fusion.cpp):
// operands 0, 3, 4, ... hold the channels, 1 the weights, 2 the bias until fusion moves it into the epilogue.
#include <memory>
#include <utility>

#include "ops/conv_geometry.hpp"
#include "ops/conv_product.hpp"
#include "ops/planar_conv.hpp"
#include "ops/table.hpp"
#include "weights.hpp"

namespace backplane::cpu::ops::conv {

namespace {

// Winograd's transforms cost about as much as 16 channels of products either way; below, direct convolution is faster.
constexpr int64_t kWinogradChannels = 16;
// Fewer outputs leave lanes empty in either algorithm.
constexpr int64_t kWinogradOutputs = 8;

// U = G g G^T in double: [position][channel][output].
std::vector<double> weight_transform(const WinogradShape& shape) {
    const int finite = shape.size - 1;
    std::vector<double> points = {0};
    for (int i = 0; i < (shape.size - 2) / 2; ++i) points.insert(points.end(), {shape.points[i], -shape.points[i]});
    std::vector<double> g(static_cast<size_t>(int64_t{shape.size} * shape.taps), 0.0);
    for (int i = 0; i < finite; ++i) {
        double value = 1;
        for (int j = 0; j < finite; ++j)
            if (j != i) value /= points[static_cast<size_t>(i)] - points[static_cast<size_t>(j)];
        for (int tap = 0; tap < shape.taps; ++tap, value *= points[static_cast<size_t>(i)])
            g[static_cast<size_t>(int64_t{i} * shape.taps + tap)] = value;
    }
    g.back() = 1;
    return g;
}

void pack_winograd(const Geometry& geometry, const WinogradShape& shape, const ConvKernels& k, const std::byte* plain,
                   float* out, ThreadPool& pool) {
    const ConvTask& t = geometry.task;
    const auto g = weight_transform(shape);
    const int size = shape.size;
    const int taps = shape.taps;
    const auto w = decode(plain, geometry.weight_dtype, t.out_channels * t.channels * taps * taps);
    const int64_t plane = t.channels * t.out_channels;
    std::vector<float> u(static_cast<size_t>(size * size * plane));
    pool.run(static_cast<uint32_t>(t.out_channels), [&](uint32_t o, std::byte*) {
        for (int64_t c = 0; c < t.channels; ++c) {
            const float* filter = w.data() + (o * t.channels + c) * taps * taps;
            double half[8][5] = {};
            for (int i = 0; i < size; ++i)
                for (int x = 0; x < taps; ++x)
                    for (int y = 0; y < taps; ++y)
                        half[i][x] += g[static_cast<size_t>(int64_t{i} * taps + y)] * filter[y * taps + x];
            for (int i = 0; i < size; ++i)
                for (int j = 0; j < size; ++j) {
                    double sum = 0;
                    for (int x = 0; x < taps; ++x) sum += half[i][x] * g[static_cast<size_t>(int64_t{j} * taps + x)];
                    u[static_cast<size_t>((i * size + j) * plane + c * t.out_channels + o)] = static_cast<float>(sum);
                }
        }
    });
    const int64_t floats = t.channels * padded_columns(t.out_channels, k.lanes);
    pool.run(static_cast<uint32_t>(size * size), [&](uint32_t p, std::byte*) {
        const float* from = u.data() + p * plane;
        pack_blocks(t.channels, t.out_channels, k.block, k.lanes, out + p * floats,
                    [&](int64_t c, int64_t o) { return from[c * t.out_channels + o]; });
    });
}

// What all three algorithms share: addresses of a run.
struct Bound {
    std::vector<ValueId> segments;
    ValueId weights, zeros, out;
    std::vector<PostOp> post;

    void bind(ConvTask& task, const Plan& plan, const Run& run) const {
        for (size_t s = 0; s < segments.size(); ++s) task.segment[s].data = run.at<const float>(segments[s]);
        task.weights = run.at<const float>(weights);
        task.zeros = run.at<const float>(zeros);
        task.out = run.at<float>(out);
        task.epilogue = epilogue_of(post, plan, run, task.out_stride);
    }
    [[nodiscard]] std::vector<ValueId> reads() const {
        std::vector<ValueId> all = segments;
        all.push_back(weights);
        for (const PostOp& p : post)
            if (p.value != kNone) all.push_back(p.value);
        return all;
    }
};

// Zeros that stand for what lies outside the input, cleared at each run: the workspace is lent.
ValueId zeros_for(Lowering& to, const Geometry& g) {
    int64_t most = 16;
    for (int64_t s = 0; s < g.task.segments; ++s) most = std::max(most, g.task.segment[s].channels);
    return to.scratch(static_cast<uint64_t>(most) * sizeof(float));
}

void clear_zeros(const Plan& plan, const Run& run, ValueId zeros) {
    std::memset(run.at<std::byte>(zeros), 0, plan[zeros].bytes);
}

// How many of n channels one of about `wanted` parts has, a multiple of `unit`: a map of few pixels has not enough ranges of them for many threads.
int64_t channels_of_part(int64_t n, int64_t unit, int64_t wanted) {
    return parts(parts(n, unit), std::clamp<int64_t>(wanted, 1, parts(n, unit))) * unit;
}

void compute_depthwise(const Run& run, const ConvKernels& k, const ConvTask& task, int64_t rows) {
    // Of fewer channels a chunk would have less to do than it takes to hand it over.
    const int64_t least = std::max<int64_t>(1, 2048 / std::max<int64_t>(1, task.out_width));
    const int64_t unit = parts(least, k.lanes) * k.lanes;
    const int64_t channels = channels_of_part(task.out_channels, unit, parts(kEnoughChunks, rows));
    const int64_t of_row = parts(task.out_channels, channels);
    run.ranges(rows * of_row, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % of_row * channels;
            k.depthwise(task, i / of_row, i / of_row + 1, first, std::min(task.out_channels, first + channels));
        }
    });
}

// `batch` slices that lie one after another.
void compute(const Run& run, const ConvKernels& k, const Geometry& g, const ConvTask& task, int64_t batch) {
    if (is_depthwise(g)) return compute_depthwise(run, k, task, batch * task.out_height);
    // Chunks of whole tiles, small enough that their input stays in the cache while the blocks of columns pass over it.
    const int64_t pixels = batch * g.out_slice();
    const int64_t chunk = k.rows * 16;
    const int64_t ranges = parts(pixels, chunk);
    const int64_t chunks = ranges * g.groups;
    const int64_t columns = channels_of_part(task.out_channels, k.block, parts(kEnoughChunks, chunks));
    const int64_t column_parts = parts(task.out_channels, columns);
    run.parallel(chunks * column_parts, [&](uint32_t i, std::byte*) {
        ConvTask mine = task;
        const int64_t column = i % column_parts * columns;
        const int64_t group = i / column_parts / ranges;
        const int64_t first = i / column_parts % ranges * chunk;
        for (int64_t s = 0; s < mine.segments; ++s) mine.segment[s].data += group * mine.segment[s].channels;
        mine.weights += group * g.taps * mine.channels * padded_columns(mine.out_channels, k.lanes);
        mine.out += group * mine.out_channels;
        for (int32_t o = 0; o < mine.epilogue.count; ++o)
            if (mine.epilogue.ops[o].data != nullptr) mine.epilogue.ops[o].data += group * mine.out_channels;
        k.direct(mine, first, std::min(pixels, first + chunk), column, std::min(mine.out_channels, column + columns));
    });
}

// Three spatial axes: each slice of the result is the sum of convolutions of slices, and what follows comes after the last of them.
// `slice_floats`: of the packed weights of one slice of the filters.
void compute_depth(const Run& run, const ConvKernels& k, const Geometry& g, const ConvTask& task, int64_t slice_floats) {
    const auto compute_one = [&](int64_t n, int64_t d) {
        ConvTask slice = task;
        const int64_t pixel = (n * g.out_depth + d) * g.out_slice();
        slice.out += pixel * task.out_stride;
        Epilogue post = task.epilogue;
        for (int32_t i = 0; i < post.count; ++i)
            if (post.ops[i].kind == kEpilogueAdd) post.ops[i].data += pixel * post.ops[i].stride;
        std::vector<int64_t> taps;
        for (int64_t tap = 0; tap < g.kernel_d; ++tap)
            if (const int64_t at = d * g.stride_d + tap * g.dilation_d - g.pad_front; at >= 0 && at < g.depth)
                taps.push_back(tap);
        if (taps.empty()) {  // all of it beside the map: zeros, and what follows
            slice.height = 0;
            slice.epilogue = post;
            compute(run, k, g, slice, 1);
        }
        for (size_t i = 0; i < taps.size(); ++i) {
            ConvTask part = slice;
            const int64_t at = d * g.stride_d + taps[i] * g.dilation_d - g.pad_front;
            for (int64_t s = 0; s < part.segments; ++s)
                part.segment[s].data += (n * g.depth + at) * g.slice() * part.segment[s].stride;
            part.weights += taps[i] * slice_floats;
            part.epilogue.count = 0;
            if (i > 0) part.epilogue.ops[part.epilogue.count++] = {kEpilogueAdd, 0, 0, 0, part.out, task.out_stride};
            if (i + 1 == taps.size())
                for (int32_t o = 0; o < post.count; ++o) part.epilogue.ops[part.epilogue.count++] = post.ops[o];
            compute(run, k, g, part, 1);
        }
    };
    for (int64_t n = 0; n < g.batch; ++n)
        for (int64_t d = 0; d < g.out_depth; ++d) compute_one(n, d);
}

void lower_direct(Lowering& to, const Node& node, const Geometry& g, Bound bound) {
    const ConvKernels* k = &to.kernels.conv;
    const bool depthwise = is_depthwise(g);
    const char* kind = depthwise ? "depthwise" : "direct";
    const int64_t floats = depthwise ? g.taps * g.groups : direct_floats(g, *k);
    bound.weights = to.packed(node.inputs[1], layout_id(packing_text(kind, g, *k)),
                              static_cast<uint64_t>(g.kernel_d * floats) * sizeof(float),
                              [=](const std::byte* plain, std::byte* packed, ThreadPool&) {
                                  pack_slices(g, *k, plain, reinterpret_cast<float*>(packed));
                              });
    bound.zeros = zeros_for(to, g);
    const bool product = g.groups == 1 && !g.has_depth && is_product(g.task);
    if (product) to.lane_scratch(product_scratch(*k));
    const std::string label = std::string("Conv ") + (product ? "product" : kind) + " " + to[node.inputs[1]].text() +
                              " -> " + to[node.output].text() + epilogue_text(node);
    const Plan* plan = &to.plan;
    to.step(label, bound.reads(), {node.output}, [=, all = &to.kernels](const Run& run) {
        clear_zeros(*plan, run, bound.zeros);
        ConvTask task = g.task;
        bound.bind(task, *plan, run);
        if (depthwise) {
            task.channels = task.out_channels = g.groups;
            task.segment[0].channels = g.groups;
        }
        if (g.has_depth) return compute_depth(run, *k, g, task, floats);
        if (product) return compute_product(run, *all, task, g.batch * g.out_slice());
        compute(run, *k, g, task, g.batch);
    });
}

// Tiles of a call, `most` at most, with which the threads are done first: of a small map the largest calls are enough for some of the threads only, and one
// call more than there are threads takes as long as one more for each. Whole blocks of `rows` of them: others are multiplied as such, too.
int64_t tiles_of_call(int64_t tiles, int64_t most, int64_t rows, int64_t threads) {
    constexpr int64_t kReadingFilters = 1;  // in tiles
    int64_t best = most, least = INT64_MAX;
    for (int64_t some = most / rows * rows; some > 0; some -= rows) {
        const int64_t calls = parts(parts(tiles, some), threads);  // of the thread with the most of them
        const int64_t cost = calls * (some + kReadingFilters);
        if (cost >= least) continue;
        least = cost;
        best = some;
    }
    return best;
}

void lower_winograd(Lowering& to, const Node& node, const Geometry& g, Bound bound, WinogradKind kind) {
    const WinogradShape& shape = kWinogradShapes[kind];
    const Kernels* k = &to.kernels;
    const int size = shape.size;
    const auto floats =
        static_cast<uint64_t>(size * size * g.task.channels * padded_columns(g.task.out_channels, k->conv.lanes));
    const std::string name = "winograd" + std::to_string(shape.outputs) + "x" + std::to_string(shape.taps);
    bound.weights =
        to.packed(node.inputs[1], layout_id(packing_text(name.c_str(), g, k->conv)), floats * sizeof(float),
                  [=](const std::byte* plain, std::byte* packed, ThreadPool& pool) {
                      pack_winograd(g, kWinogradShapes[kind], k->conv, plain, reinterpret_cast<float*>(packed), pool);
                  });
    bound.zeros = zeros_for(to, g);
    to.lane_scratch(static_cast<uint64_t>(winograd_scratch(size, k->winograd.tiles, g.task.channels, g.task.out_channels)) *
                    sizeof(float));
    const int64_t tiles = g.batch * ((g.task.out_height + shape.outputs - 1) / shape.outputs) *
                          ((g.task.out_width + shape.outputs - 1) / shape.outputs);
    const std::string label =
        "Conv " + name + " " + to[node.inputs[1]].text() + " -> " + to[node.output].text() + epilogue_text(node);
    const Plan* plan = &to.plan;
    const int64_t rows =
        2 * g.task.out_channels <= k->conv.block ? 2 * k->conv.rows : k->conv.rows;  // narrow blocks are higher
    to.step(label, bound.reads(), {node.output}, [=](const Run& run) {
        clear_zeros(*plan, run, bound.zeros);
        ConvTask task = g.task;
        bound.bind(task, *plan, run);
        const int64_t some = tiles_of_call(tiles, k->winograd.tiles, rows, run.pool().threads());
        run.parallel(parts(tiles, some), [&](uint32_t i, std::byte* scratch) {
            const int64_t first = i * some;
            k->winograd.run[kind](task, first, std::min(some, tiles - first), reinterpret_cast<float*>(scratch));
        });
    });
}

void lower(Lowering& to, const Node& node) {
    const Geometry g = geometry_of(to.plan, node);
    if (to[node.output].elements() == 0) return;
    if (to[node.output].layout == Layout::row_major)
        return is_depthwise(g) ? lower_planes(to, node, g.task) : lower_pixels(to, node);
    const Bound bound{segments_of(node), kNone, kNone, node.output, node.post};
    const ConvTask& t = g.task;
    const bool plain =
        !g.has_depth && g.groups == 1 && t.stride_h == 1 && t.stride_w == 1 && t.dilation_h == 1 && t.dilation_w == 1;
    const bool wide = t.channels >= kWinogradChannels && t.out_channels >= kWinogradOutputs;
    if (plain && wide && to.plan.math != BP_MATH_STRICT && t.kernel_h == t.kernel_w && t.out_height * t.out_width >= 16) {
        if (t.kernel_h == 3) return lower_winograd(to, node, g, bound, kWinograd4x3);
        if (t.kernel_h == 5) return lower_winograd(to, node, g, bound, kWinograd4x5);
    }
    lower_direct(to, node, g, bound);
}

bool steps_of_one(const Geometry& g) {
    const ConvTask& t = g.task;
    return t.stride_h == 1 && t.stride_w == 1 && g.stride_d == 1 && t.pad_top == 0 && t.pad_left == 0 && g.pad_front == 0;
}

// One pixel by one pixel, or one channel at a time with steps of 1 along rows: neither needs the channels side by side.
bool rows_too(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const Value& y = plan[node.output];
    if (x.dtype != BP_F32 || y.dtype != BP_F32) return false;
    const Geometry g = geometry_of(plan, node);
    const ConvTask& t = g.task;
    if (is_depthwise(g)) return !g.has_depth && t.stride_w == 1 && planes_fit(t);
    return g.groups == 1 && g.taps * g.kernel_d == 1 && pixels_of(y) >= kFewestPixels &&
           std::equal(x.dim.begin() + 2, x.dim.end(), y.dim.begin() + 2) && steps_of_one(g);
}

constexpr OpLowering table[] = {
    {BP_OP_conv, Types::computes, Wants::channels_last, 1u << 1, check_filters, lower, 0, rows_too}};

}  // namespace

const OpFamily ops_conv = {table, std::size(table)};

}  // namespace backplane::cpu::ops::conv
