// MaxPool and AveragePool, channels-last: the inner loops run over channels, which lie side by side. A mean of whole maps is a
// reduction. MaxPoolIndices goes map by map.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

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

    [[nodiscard]] int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
    [[nodiscard]] int64_t pixels() const { return axes[0].extent * axes[1].extent * axes[2].extent; }
    [[nodiscard]] int64_t windows() const { return axes[0].windows * axes[1].windows * axes[2].windows; }
    [[nodiscard]] std::array<int64_t, 3> window(int64_t i) const {
        return {i / axes[2].windows / axes[1].windows, i / axes[2].windows % axes[1].windows, i % axes[2].windows};
    }
};

template <typename T>
void take(const Task& t, const T* x, T* y) {
    if (t.average) {
        for (int64_t c = 0; c < t.channels; ++c) y[c] += x[c];
    } else {
        for (int64_t c = 0; c < t.channels; ++c) y[c] = x[c] > y[c] || x[c] != x[c] ? x[c] : y[c];
    }
}

// Calls each(plane, row, column) for each element of one window that lies on the map, in row-major order.
template <typename Each>
void for_each_element(const Task& t, const std::array<int64_t, 3>& window, const Each& each) {
    const auto& [planes, rows, columns] = t.axes;
    for (int64_t a = 0; a < planes.kernel; ++a) {
        const int64_t plane = planes.position(window[0], a);
        if (!planes.has(plane)) continue;
        for (int64_t b = 0; b < rows.kernel; ++b) {
            const int64_t row = rows.position(window[1], b);
            if (!rows.has(row)) continue;
            for (int64_t k = 0; k < columns.kernel; ++k) {
                const int64_t column = columns.position(window[2], k);
                if (columns.has(column)) each(plane, row, column);
            }
        }
    }
}

// The channels of one window, of the map at x.
template <typename T>
void pool_one(const Task& t, const T* x, const std::array<int64_t, 3>& window, T* y) {
    std::fill(y, y + t.channels, t.average ? T{0} : -std::numeric_limits<T>::infinity());
    for_each_element(t, window, [&](int64_t plane, int64_t row, int64_t column) {
        take(t, x + ((plane * t.axes[1].extent + row) * t.axes[2].extent + column) * t.channels, y);
    });
    if (!t.average) return;
    int64_t count = 1;
    for (size_t d = 0; d < 3; ++d) count *= t.axes[d].count(window[d], t.with_pads);
    for (int64_t c = 0; c < t.channels; ++c) y[c] /= static_cast<T>(count);
}

// Where the largest element of one window of the map at x lies in it, counted by `steps`; -1: nowhere.
template <typename T>
int64_t place_of_largest(const Task& t, const T* x, const std::array<int64_t, 3>& window,
                         const std::array<int64_t, 3>& steps) {
    T most = 0;
    int64_t place = -1;
    for_each_element(t, window, [&](int64_t plane, int64_t row, int64_t column) {
        const T v = x[(plane * t.axes[1].extent + row) * t.axes[2].extent + column];
        if (place >= 0 && (most != most || !(v > most || v != v))) return;
        most = v;
        place = plane * steps[0] + row * steps[1] + column * steps[2];
    });
    return place;
}

Task task_of(const Lowering& to, const Node& node, const backplane::ops::PoolAttributes& how) {
    const std::vector<int64_t>& x = to[node.inputs[0]].dim;
    const auto axes = static_cast<uint32_t>(x.size() - 2);
    Task t;
    t.batch = x[0];
    t.channels = x[1];
    t.average = node.op == BP_OP_average_pool;
    t.with_pads = how.count_include_pad;
    for (uint32_t d = 0; d < axes; ++d)
        t.axes[3 - axes + d] = {x[2 + d],    to[node.output].dim[2 + d], how.kernel_shape.value[d], how.strides[d],
                                how.pads[d], how.pads[axes + d],         how.dilations[d]};
    return t;
}

backplane::ops::PoolAttributes attributes_of(const Lowering& to, const Node& node) {
    return node.as<backplane::ops::PoolAttributes>().filled(static_cast<uint32_t>(to[node.inputs[0]].dim.size() - 2));
}

template <typename T>
void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    Task t = task_of(to, node, attributes_of(to, node));
    // Row-major, as doubles are, each map is one of a batch, of one channel.
    if (to[in].layout == Layout::row_major) t.batch *= std::exchange(t.channels, 1);
    const int64_t grain = std::max<int64_t>(1, 8192 / (t.taps() * t.channels));
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        run.ranges(t.batch * t.windows(), grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                pool_one(t, run.at<T>(in) + i / t.windows() * t.pixels() * t.channels, t.window(i % t.windows()),
                         run.at<T>(out) + i * t.channels);
        });
    });
}

template <typename T>
void lower_indices(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const auto how = attributes_of(to, node);
    const Task t = task_of(to, node, how);
    const std::array<int64_t, 3> extents = {t.axes[0].extent, t.axes[1].extent, t.axes[2].extent};
    std::array<int64_t, 3> steps = {extents[1] * extents[2], extents[2], 1};
    if (how.storage_order) steps = {1, extents[0], extents[0] * extents[1]};
    const int64_t grain = std::max<int64_t>(1, 8192 / t.taps());
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        run.ranges(t.batch * t.channels * t.windows(), grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t map = i / t.windows() * t.pixels();
                const int64_t place = place_of_largest(t, run.at<T>(in) + map, t.window(i % t.windows()), steps);
                run.at<int64_t>(out)[i] = place < 0 ? place : map + place;
            }
        });
    });
}

constexpr OpLowering table[] = {{BP_OP_max_pool, Types::computes, Wants::channels_last, 0, nullptr, lower<float>},
                                {BP_OP_average_pool, Types::computes, Wants::channels_last, 0, nullptr, lower<float>},
                                {BP_OP_max_pool_indices, Types::judges, Wants::row_major, 0, nullptr, lower_indices<float>},
                                in_doubles(BP_OP_max_pool, lower<double>),
                                in_doubles(BP_OP_average_pool, lower<double>),
                                in_doubles(BP_OP_max_pool_indices, lower_indices<double>)};

}  // namespace

const OpFamily ops_pool = {table, std::size(table)};

}  // namespace backplane::cpu::ops::pool
