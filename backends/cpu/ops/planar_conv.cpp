#include "ops/planar_conv.hpp"

#include <algorithm>

#include "weights.hpp"

namespace backplane::cpu::ops::conv {

namespace {

// A part of a plane: its rows of the input, with what is beside them, stay in the first-level cache.
constexpr int64_t kRowsOfPart = 32;
constexpr int64_t kColumnsOfPart = 1024;
// More, of filters with taps far apart, would not stay in the second.
constexpr int64_t kMostScratch = 1 << 17;
constexpr int64_t kWidestBlock = 64;  // of all instruction sets
// Results that one chunk makes at least.
constexpr int64_t kResultsOfChunk = 4096;

// Pixels that are packed at a time: whole blocks of columns, of 32 KiB or so, which then are in the nearest cache already when they are written and
// while all filters take them.
int64_t pixels_of_chunk(int64_t depth) { return depth > 64 ? kWidestBlock : 2 * kWidestBlock; }
// Filters that take them where there are not enough pixels for all threads, of which each is to have some parts.
constexpr int64_t kFiltersOfChunk = 96;
constexpr int64_t kEnoughChunksOfThread = 4;

// One thread packs the next pixels while it multiplies these (PlanarKernels::pixels), where there are enough of them; of many threads memory has enough
// to do anyway. Few planes to more filters by long stretches, that memory is written in as few places as may be.
constexpr int64_t kFewPlanes = 64;
constexpr int64_t kLongStretch = 1024;
constexpr int64_t kFewestStretches = 3;  // nothing is multiplied while the first is packed
constexpr int64_t kMostPlanes = 1024;    // two stretches of more would not stay in the second-level cache
constexpr int64_t kPlanesAhead = 3, kPixelsAhead = 128;

// Filters as the graph has them, in float32.
ValueId plain_filters(Lowering& to, const Node& node) {
    const ValueId w = node.inputs[1];
    const uint32_t dtype = to[w].dtype;
    if (dtype == BP_F32) return w;
    const int64_t count = to[w].elements();
    return to.packed(w, layout_id("conv/plain/" + std::to_string(dtype) + "," + std::to_string(count)),
                     static_cast<uint64_t>(count) * sizeof(float),
                     [=](const std::byte* plain, std::byte* packed, ThreadPool&) {
                         decode(plain, dtype, count, reinterpret_cast<float*>(packed));
                     });
}

// Of a result of rows of `columns`: a bias belongs to a row, and is `bias_step` after that of the row before.
Epilogue epilogue_of_rows(const Node& node, const Plan& plan, const Run& run, int64_t columns, int64_t bias_step) {
    Epilogue epilogue = epilogue_of(node.post, plan, run, columns);
    for (int32_t i = 0; i < epilogue.count; ++i)
        if (epilogue.ops[i].kind == kEpilogueBias) {
            epilogue.ops[i].kind = kEpilogueRowBias;
            epilogue.ops[i].stride = bias_step;
        }
    return epilogue;
}

void move_on(Epilogue& epilogue, int64_t bias, int64_t added) {
    for (int32_t i = 0; i < epilogue.count; ++i)
        if (epilogue.ops[i].data != nullptr) epilogue.ops[i].data += epilogue.ops[i].kind == kEpilogueAdd ? added : bias;
}

std::string label_of(const Lowering& to, const Node& node, const char* kind) {
    return std::string("Conv ") + kind + " " + to[node.inputs[1]].text() + " -> " + to[node.output].text() +
           epilogue_text(node);
}

// What a 1x1 convolution is told: sizes, and the values that it reads.
struct Pixels {
    std::vector<ValueId> segments;
    std::vector<int64_t> channels;  // of each
    ValueId weights = kNone, out = kNone;
    int64_t batch = 0, filters = 0, pixels = 0, depth = 0;
    int64_t of_chunk = 0, rows = 0, row_chunks = 0;
    bool in_parts = false;  // of the depth
    int64_t stretch = 0;    // of pixels that one thread packs at a time
    ValueId scratch = kNone;

    // Where what the first pixel gets is behind a line: chunks begin so much earlier than at multiples of theirs, and all but the first at a line. A
    // store across two lines takes more than twice as long, and memory from the system's allocator begins 16 bytes behind one.
    [[nodiscard]] int64_t behind_line(const Run& run) const {
        const auto at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(run.at<float>(out)) / sizeof(float));
        return pixels % kPlaneLine == 0 ? at % kPlaneLine : 0;
    }
};

// The right-hand side: packed here, or by the product itself where it can be.
void give_pixels(const Pixels& of, const Kernels& k, const Run& run, int64_t sample, int64_t first, int64_t rows,
                 MatMulTask& task, float* packed) {
    task.b = packed;
    const auto from = [&](size_t s) {
        return run.at<const float>(of.segments[s]) + sample * of.channels[s] * of.pixels + first;
    };
    if (of.segments.size() == 1 && task.columns % k.conv.lanes == 0 && rows >= kManyRows) {
        task.plain = from(0);
        task.plain_row = of.pixels;
        task.panel = packed;
        task.followed = true;
        return;
    }
    int64_t at = 0;
    for (size_t s = 0; s < of.segments.size(); at += of.channels[s++])
        k.planar.pack(from(s), of.pixels, at, of.channels[s], of.depth, task.columns, packed);
}

// Pixels that one thread packs at a time while it multiplies those before; 0: not so.
int64_t stretch_of(const Pixels& of) {
    if (of.segments.size() > 1 || of.filters < kManyRows || of.depth > kMostPlanes) return 0;
    int64_t stretch = of.depth <= kFewPlanes && of.filters > of.depth ? kLongStretch : kWidestBlock;
    while (stretch > kWidestBlock && of.pixels < kFewestStretches * stretch) stretch /= 4;
    return of.pixels >= kFewestStretches * stretch ? stretch : 0;
}

void multiply_stretches(const Pixels& of, const Kernels& k, const Run& run, const Epilogue& epilogue) {
    PixelsTask task;
    task.plane = task.out_plane = task.pixels = of.pixels;
    task.depth = of.depth;
    task.weights = run.at<const float>(of.weights);
    task.filters = of.filters;
    task.first_block = k.conv.block - of.behind_line(run) % k.conv.block;
    task.stretch = of.stretch;
    task.rows_first = of.stretch > kWidestBlock;
    task.ahead = task.rows_first ? kPixelsAhead : kPlanesAhead * of.pixels;
    task.scratch = run.at<float>(of.scratch);
    for (int64_t sample = 0; sample < of.batch; ++sample) {
        task.from = run.at<const float>(of.segments[0]) + sample * of.depth * of.pixels;
        task.out = run.at<float>(of.out) + sample * of.filters * of.pixels;
        task.epilogue = epilogue;
        move_on(task.epilogue, 0, sample * of.filters * of.pixels);
        k.planar.pixels(task);
    }
}

void multiply_pixels(const Pixels& of, const Kernels& k, const Run& run, const Epilogue& epilogue) {
    if (of.stretch > 0 && run.pool().threads() == 1) return multiply_stretches(of, k, run, epilogue);
    const int64_t behind = of.behind_line(run);
    const int64_t pieces = parts(of.pixels + behind, of.of_chunk);
    // Pixels are packed once where threads have enough to do without more parts of the filters.
    const int64_t split = of.batch * pieces >= kEnoughChunksOfThread * run.pool().threads() ? 1 : of.row_chunks;
    run.parallel(of.batch * pieces * split, [&](int64_t i, std::byte* scratch) {
        const int64_t sample = i / split / pieces;
        const int64_t begin = i / split % pieces * of.of_chunk - behind;
        const int64_t first = std::max<int64_t>(0, begin);
        const int64_t row = i % split * of.rows;
        const int64_t row_end = split == 1 ? of.filters : std::min(of.filters, row + of.rows);
        auto* packed = reinterpret_cast<float*>(scratch);
        MatMulTask task;
        task.columns = std::min(begin + of.of_chunk, of.pixels) - first;
        task.a = run.at<const float>(of.weights);
        task.a_row = task.depth = of.depth;
        if (of.in_parts) task.sums = packed + of.depth * of.of_chunk;
        task.followed = false;
        task.out = run.at<float>(of.out) + sample * of.filters * of.pixels + first;
        task.out_row = of.pixels;
        task.epilogue = epilogue;
        move_on(task.epilogue, 0, sample * of.filters * of.pixels + first);
        give_pixels(of, k, run, sample, first, std::min(of.rows, row_end - row), task, packed);
        for (int64_t r = row; r < row_end; r += of.rows) {
            k.matmul.run(task, r, std::min(row_end, r + of.rows), 0, task.columns);
            task.plain = nullptr;
            task.followed = false;
        }
    });
}

}  // namespace

bool planes_fit(const ConvTask& task) {
    return plane_scratch(task, std::min(kRowsOfPart, task.out_height), std::min(kColumnsOfPart, task.out_width),
                         kWidestBlock) <= kMostScratch;
}

void lower_pixels(Lowering& to, const Node& node) {
    Pixels of;
    of.segments = {node.inputs[0]};
    if (node.inputs.size() > 3) of.segments.insert(of.segments.end(), node.inputs.begin() + 3, node.inputs.end());
    for (const ValueId s : of.segments) of.channels.push_back(to[s].dim[1]);
    of.out = node.output;
    of.batch = to[of.out].dim[0];
    of.filters = to[of.out].dim[1];
    of.pixels = pixels_of(to[of.out]);
    of.depth = to[node.inputs[1]].dim[1];
    of.of_chunk = pixels_of_chunk(of.depth);
    of.rows = of.batch * parts(of.pixels, of.of_chunk) >= kEnoughChunks ? of.filters : kFiltersOfChunk;
    of.row_chunks = parts(of.filters, of.rows);
    of.in_parts = of.depth > to.kernels.matmul.part_depth;
    const int64_t sums = of.in_parts ? product_sums(std::min(of.rows, of.filters), to.kernels.conv.block) : 0;
    to.lane_scratch(static_cast<uint64_t>(of.depth * of.of_chunk + sums) * sizeof(float));
    of.stretch = stretch_of(of);
    if (of.stretch > 0) of.scratch = to.scratch(static_cast<uint64_t>(pixels_scratch(of.depth, of.stretch)) * sizeof(float));
    of.weights = plain_filters(to, node);
    std::vector<ValueId> reads = epilogue_reads(node);
    reads.insert(reads.end(), of.segments.begin(), of.segments.end());
    reads.push_back(of.weights);
    to.step(label_of(to, node, "by pixels"), reads, {of.out},
            [of, plan = &to.plan, k = &to.kernels, node = node](const Run& run) {
                multiply_pixels(of, *k, run, epilogue_of_rows(node, *plan, run, of.pixels, 1));
            });
}

void lower_planes(Lowering& to, const Node& node, const ConvTask& geometry) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const int64_t channels = to[out].dim[1];
    const int64_t planes = to[out].dim[0] * channels;
    const int64_t height = std::min(kRowsOfPart, geometry.out_height);
    const int64_t width = std::min(kColumnsOfPart, geometry.out_width);
    const int64_t down = parts(geometry.out_height, height);
    const int64_t across = parts(geometry.out_width, width);
    const int64_t count = planes * down * across;
    const int64_t grain = std::max<int64_t>(1, kResultsOfChunk / (height * width));
    to.lane_scratch(static_cast<uint64_t>(plane_scratch(geometry, height, width, to.kernels.conv.block)) * sizeof(float));
    const ValueId weights = plain_filters(to, node);
    std::vector<ValueId> reads = epilogue_reads(node);
    reads.insert(reads.end(), {in, weights});
    to.step(label_of(to, node, "by planes"), reads, {out},
            [=, plan = &to.plan, kernel = to.kernels.planar.depthwise, node = node](const Run& run) {
                const Epilogue epilogue = epilogue_of_rows(node, *plan, run, geometry.out_width, 0);
                const int64_t in_plane = geometry.height * geometry.width;
                const int64_t out_plane = geometry.out_height * geometry.out_width;
                run.parallel(parts(count, grain), [&](int64_t chunk, std::byte* scratch) {
                    ConvTask task = geometry;  // as large as a small plane
                    for (int64_t i = chunk * grain; i < std::min(count, (chunk + 1) * grain); ++i) {
                        const int64_t plane = i / across / down;
                        task.segment[0].data = run.at<const float>(in) + plane * in_plane;
                        task.weights = run.at<const float>(weights) + plane % channels * task.kernel_h * task.kernel_w;
                        task.out = run.at<float>(out) + plane * out_plane;
                        if (epilogue.count > 0) task.epilogue = epilogue;
                        move_on(task.epilogue, plane % channels, plane * out_plane);
                        PlaneTask part;
                        part.row_begin = i / across % down * height;
                        part.row_end = std::min(task.out_height, part.row_begin + height);
                        part.column_begin = i % across * width;
                        part.column_end = std::min(task.out_width, part.column_begin + width);
                        kernel(task, part, reinterpret_cast<float*>(scratch));
                    }
                });
            });
}

}  // namespace backplane::cpu::ops::conv
