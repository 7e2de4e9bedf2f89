// MaxPool and AveragePool, channels-last: the inner loops run over channels, which lie side by side. A mean of whole maps is a
// reduction.
#include <algorithm>
#include <array>
#include <limits>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::pool {

namespace {

// One spatial axis; those that a map lacks have one element, and one window of it.
struct Axis {
    int64_t extent = 1, windows = 1, kernel = 1, step = 1, before = 0, after = 0, dilation = 1;

    [[nodiscard]] int64_t position(int64_t window, int64_t tap) const { return window * step + tap * dilation - before; }
    [[nodiscard]] bool has(int64_t position) const { return position >= 0 && position < extent; }
    // Taps of a window that lie on the map, or on it and its padding.
    [[nodiscard]] int64_t count(int64_t window, bool with_pads) const {
        int64_t n = 0;
        for (int64_t tap = 0; tap < kernel; ++tap) {
            const int64_t k = position(window, tap);
            n += (with_pads ? k < extent + after : has(k)) ? 1 : 0;
        }
        return n;
    }
};

struct Task {
    std::array<Axis, 3> axes;
    int64_t batch = 0, channels = 0;
    bool average = false, with_pads = false;
};

void take(const Task& t, const float* x, float* y) {
    if (t.average) {
        for (int64_t c = 0; c < t.channels; ++c) y[c] += x[c];
    } else {
        for (int64_t c = 0; c < t.channels; ++c) y[c] = x[c] > y[c] || x[c] != x[c] ? x[c] : y[c];
    }
}

// The channels of one window, of the map at x.
void pool_one(const Task& t, const float* x, const std::array<int64_t, 3>& window, float* y) {
    const auto& [planes, rows, columns] = t.axes;
    std::fill(y, y + t.channels, t.average ? 0.0f : -std::numeric_limits<float>::infinity());
    for (int64_t a = 0; a < planes.kernel; ++a) {
        const int64_t plane = planes.position(window[0], a);
        if (!planes.has(plane)) continue;
        for (int64_t b = 0; b < rows.kernel; ++b) {
            const int64_t row = rows.position(window[1], b);
            if (!rows.has(row)) continue;
            for (int64_t k = 0; k < columns.kernel; ++k) {
                const int64_t column = columns.position(window[2], k);
                if (columns.has(column))
                    take(t, x + ((plane * rows.extent + row) * columns.extent + column) * t.channels, y);
            }
        }
    }
    if (!t.average) return;
    int64_t count = 1;
    for (size_t d = 0; d < 3; ++d) count *= t.axes[d].count(window[d], t.with_pads);
    for (int64_t c = 0; c < t.channels; ++c) y[c] /= static_cast<float>(count);
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const std::vector<int64_t>& x = to[in].dim;
    const auto axes = static_cast<uint32_t>(x.size() - 2);
    const auto how = node.as<backplane::ops::PoolAttributes>().filled(axes);
    Task t;
    t.batch = x[0];
    t.channels = x[1];
    t.average = node.op == BP_OP_average_pool;
    t.with_pads = how.count_include_pad;
    for (uint32_t d = 0; d < axes; ++d)
        t.axes[3 - axes + d] = {x[2 + d],    to[out].dim[2 + d], how.kernel_shape.value[d], how.strides[d],
                                how.pads[d], how.pads[axes + d], how.dilations[d]};
    const int64_t taps = t.axes[0].kernel * t.axes[1].kernel * t.axes[2].kernel;
    const int64_t pixels = t.axes[0].extent * t.axes[1].extent * t.axes[2].extent;
    const int64_t windows = t.axes[0].windows * t.axes[1].windows * t.axes[2].windows;
    const int64_t grain = std::max<int64_t>(1, 8192 / (taps * t.channels));
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        run.ranges(t.batch * windows, grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t at = i % windows;
                const std::array<int64_t, 3> window = {at / t.axes[2].windows / t.axes[1].windows,
                                                       at / t.axes[2].windows % t.axes[1].windows, at % t.axes[2].windows};
                pool_one(t, run.at<float>(in) + i / windows * pixels * t.channels, window,
                         run.at<float>(out) + i * t.channels);
            }
        });
    });
}

constexpr OpLowering table[] = {{BP_OP_max_pool, Types::computes, Wants::channels_last, 0, nullptr, lower},
                                {BP_OP_average_pool, Types::computes, Wants::channels_last, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_pool = {table, std::size(table)};

}  // namespace backplane::cpu::ops::pool
