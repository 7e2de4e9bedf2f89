// Resize of feature maps: nearest (any plain type), linear and cubic (float types), in either layout.
#include <algorithm>

#include "common/resize_taps.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::resize {

namespace {

// Two axes at a time. Rows of the result, of one map (row-major) or of all channels (channels-last: a pixel is `channels` elements).
struct ResizeTask {
    int64_t maps = 1, pixel = 1, height = 1, width = 1, out_height = 1, out_width = 1;
    backend::Taps rows, columns;
    int64_t size = 4;
    NormalizeKernels normalize{};
    MoveKernels move{};
};

template <typename T>
void nearest_row(const ResizeTask& t, const std::byte* from, std::byte* into) {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(into);
    const int32_t* index = t.columns.at.data();
    for (int64_t i = 0; i < t.out_width; ++i) y[i] = x[index[i]];
}

void nearest_pixels(const ResizeTask& t, const std::byte* from, std::byte* into) {
    const int64_t bytes = t.pixel * t.size;
    for (int64_t i = 0; i < t.out_width; ++i) {
        CopyTask task;
        task.from = from + t.columns.at[static_cast<size_t>(i)] * bytes;
        task.into = into + i * bytes;
        task.from_inner = task.into_inner = task.outer = 1;
        task.inner = t.pixel;
        task.size = t.size;
        t.move.copy(task);
    }
}

void nearest_line(const ResizeTask& t, const std::byte* from, std::byte* into) {
    if (t.pixel > 1) return nearest_pixels(t, from, into);
    switch (t.size) {
        case 1: return nearest_row<uint8_t>(t, from, into);
        case 2: return nearest_row<uint16_t>(t, from, into);
        case 4: return nearest_row<uint32_t>(t, from, into);
        default: return nearest_row<uint64_t>(t, from, into);
    }
}

// Position i of an axis: n floats, the sum of those of each of its positions of x, which lie `stride` apart, times their weights.
void mix(const ResizeTask& t, const backend::Taps& taps, int64_t i, const float* x, int64_t stride, float* into, int64_t n) {
    const int32_t* at = taps.at.data() + i * static_cast<int64_t>(taps.count);
    const float* w = taps.weight.data() + i * static_cast<int64_t>(taps.count);
    const float* a = x + at[0] * stride;
    const float* b = x + at[1] * stride;
    if (taps.count == 2) {
        if (n == 1) {
            *into = *a * w[0] + *b * w[1];
        } else {
            t.normalize.blend(a, b, w[1], into, n);
        }
        return;
    }
    const float* c = x + at[2] * stride;
    const float* d = x + at[3] * stride;
    for (int64_t k = 0; k < n; ++k) into[k] = (a[k] * w[0] + b[k] * w[1]) + (c[k] * w[2] + d[k] * w[3]);
}

// Which axes a step changes: the last one or two, or the first of three. All axes before them count maps, all behind them are a pixel's.
enum class Axes : uint8_t { last, depth };

ResizeTask task_of(const Lowering& to, const Node& node, const Value& in, const Value& out, Axes axes) {
    ResizeTask t;
    (out.layout == Layout::channels_last ? t.pixel : t.maps) = in.dim[1];
    t.maps *= in.dim[0];
    if (axes == Axes::depth) {
        t.pixel *= in.dim[3] * in.dim[4];
        t.height = in.dim[2];
        t.out_height = out.dim[2];
    } else {
        const size_t columns = in.dim.size() - 1;
        t.width = in.dim[columns];
        t.out_width = out.dim[columns];
        if (columns > 2) t.height = in.dim[columns - 1];
        if (columns > 2) t.out_height = out.dim[columns - 1];
        if (columns > 3) t.maps *= in.dim[2];
    }
    t.rows = backend::taps_of(node, t.height, t.out_height);
    t.columns = backend::taps_of(node, t.width, t.out_width);
    t.size = element_bytes(out);
    t.normalize = to.kernels.normalize;
    t.move = to.kernels.move;
    return t;
}

void add_nearest(Lowering& to, const Node& node, ValueId in, ValueId out, Axes axes) {
    const ResizeTask t = task_of(to, node, to[in], to[out], axes);
    const int64_t line = t.width * t.pixel * t.size;
    const int64_t out_line = t.out_width * t.pixel * t.size;
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        const auto* from = run.at<std::byte>(in);
        auto* into = run.at<std::byte>(out);
        run.ranges(t.maps * t.out_height, std::max<int64_t>(1, kGrainBytes / out_line), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
                const int64_t row = t.rows.at[static_cast<size_t>(r % t.out_height)];
                nearest_line(t, from + (r / t.out_height * t.height + row) * line, into + r * out_line);
            }
        });
    });
}

void add_mixed(Lowering& to, const Node& node, ValueId in, ValueId out, Axes axes) {
    const ResizeTask t = task_of(to, node, to[in], to[out], axes);
    const int64_t line = t.width * t.pixel;
    const int64_t out_line = t.out_width * t.pixel;
    const bool rows_alone = t.width == 1 && t.out_width == 1;
    if (!rows_alone) to.lane_scratch(static_cast<uint64_t>(line) * sizeof(float));
    const int64_t lines = t.maps * t.out_height;
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / 4 / out_line);
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        const float* from = run.at<float>(in);
        float* into = run.at<float>(out);
        run.parallel((lines + grain - 1) / grain, [&](uint32_t chunk, std::byte* scratch) {
            auto* blended = reinterpret_cast<float*>(scratch);
            for (int64_t r = chunk * grain; r < std::min(lines, (chunk + 1) * grain); ++r) {
                const float* map = from + r / t.out_height * t.height * line;
                float* row = rows_alone ? into + r * out_line : blended;
                mix(t, t.rows, r % t.out_height, map, line, row, line);
                for (int64_t i = 0; !rows_alone && i < t.out_width; ++i)
                    mix(t, t.columns, i, row, t.pixel, into + r * out_line + i * t.pixel, t.pixel);
            }
        });
    });
}

// Of three axes two and then one.
void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const auto add = backend::types_of_resize(node) == Types::moves ? add_nearest : add_mixed;
    if (to[in].dim.size() < 5) return add(to, node, in, out, Axes::last);
    std::vector<int64_t> dim = to[out].dim;
    dim[2] = to[in].dim[2];
    const ValueId between = to.plan.temporary(to[out].dtype, std::move(dim), to[out].layout);
    add(to, node, in, between, Axes::last);
    add(to, node, between, out, Axes::depth);
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& in = plan[node.inputs[0]];
    if (*std::max_element(in.dim.begin() + 2, in.dim.end()) > INT32_MAX)
        return {BP_WHY_SHAPE, node.text() + " takes no map as large as " + in.text()};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_resize, backend::types_of_resize, Wants::either, 0, check, lower}};

}  // namespace

const OpFamily ops_resize = {table, std::size(table)};

}  // namespace backplane::cpu::ops::resize
