// Conv and ConvTranspose of f64: one map of the result at a time, each tap of its filters along whole rows.
#include <algorithm>
#include <array>

#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::doubles_conv {

namespace {

// A spatial axis: tap k joins position p of the one map with p * stride + k * dilation - pad of the other. The one is the result of a
// convolution and the operand of a transposed one.
struct Axis {
    int64_t one = 1, other = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;

    [[nodiscard]] int64_t shift(int64_t tap) const { return tap * dilation - pad; }
    // The positions of the one, from first to end, whose other lies on its map.
    [[nodiscard]] int64_t first(int64_t tap) const { return shift(tap) >= 0 ? 0 : (stride - 1 - shift(tap)) / stride; }
    [[nodiscard]] int64_t end(int64_t tap) const {
        return shift(tap) >= other ? 0 : std::min(one, (other - 1 - shift(tap)) / stride + 1);
    }
};

struct Task {
    std::array<Axis, 3> axes;  // those that a map lacks come first
    bool transposed = false;
    int64_t channels = 0, outputs = 0;  // of the operand and of the result
    int64_t channels_of_group = 0, outputs_of_group = 0;
    int64_t x_pixels = 1, y_pixels = 1, taps = 1;

    // y += x * w for all that tap joins, of one map each.
    void add(int64_t tap, double w, const double* x, double* y) const {
        const auto& [planes, rows, columns] = axes;
        const int64_t a = tap / columns.kernel / rows.kernel;
        const int64_t b = tap / columns.kernel % rows.kernel;
        const int64_t c = tap % columns.kernel;
        const int64_t from = columns.first(c);
        const int64_t count = columns.end(c) - from;
        for (int64_t p = planes.first(a); p < planes.end(a); ++p)
            for (int64_t q = rows.first(b); q < rows.end(b); ++q) {
                const int64_t one = (p * rows.one + q) * columns.one + from;
                const int64_t plane = p * planes.stride + planes.shift(a);
                const int64_t row = q * rows.stride + rows.shift(b);
                const int64_t other = (plane * rows.other + row) * columns.other + from * columns.stride + columns.shift(c);
                if (transposed) {
                    for (int64_t i = 0; i < count; ++i) y[other + i * columns.stride] += w * x[one + i];
                } else {
                    for (int64_t i = 0; i < count; ++i) y[one + i] += w * x[other + i * columns.stride];
                }
            }
    }
    // Map o of the result; x: all maps of its image.
    void map(int64_t o, const double* x, const double* w, double bias, double* y) const {
        std::fill(y, y + y_pixels, bias);
        const int64_t group = o / outputs_of_group;
        for (int64_t c = 0; c < channels_of_group; ++c) {
            const int64_t channel = group * channels_of_group + c;
            const int64_t filter =
                transposed ? channel * outputs_of_group + o % outputs_of_group : o * channels_of_group + c;
            for (int64_t tap = 0; tap < taps; ++tap) add(tap, w[filter * taps + tap], x + channel * x_pixels, y);
        }
    }
};

template <class Attributes>
Task task_of(const Lowering& to, const Node& node) {
    const std::vector<int64_t>& x = to[node.inputs[0]].dim;
    const std::vector<int64_t>& w = to[node.inputs[1]].dim;
    const std::vector<int64_t>& y = to[node.output].dim;
    const size_t axes = x.size() - 2;
    const auto how = node.as<Attributes>().filled(static_cast<uint32_t>(axes));
    Task t;
    t.transposed = node.op == BP_OP_conv_transpose;
    for (size_t d = 0; d < axes; ++d) {
        Axis& axis = t.axes[3 - axes + d];
        axis = {y[2 + d], x[2 + d], w[2 + d], how.strides[d], how.pads[d], how.dilations[d]};
        if (t.transposed) std::swap(axis.one, axis.other);
        t.x_pixels *= x[2 + d];
        t.y_pixels *= y[2 + d];
        t.taps *= w[2 + d];
    }
    t.channels = x[1];
    t.outputs = y[1];
    t.channels_of_group = x[1] / how.group;
    t.outputs_of_group = y[1] / how.group;
    return t;
}

template <class Attributes>
void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId weights = node.inputs[1];
    const ValueId bias = node.input(2);
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const Task t = task_of<Attributes>(to, node);
    const int64_t maps = to[out].elements() / t.y_pixels;
    const int64_t products = t.y_pixels * t.taps * std::max<int64_t>(1, t.channels_of_group);
    to.step(step_label(to, node), {in, weights, bias}, {out}, [=](const Run& run) {
        run.ranges(maps, std::max<int64_t>(1, kGrainElements / products), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t o = i % t.outputs;
                t.map(o, run.at<double>(in) + i / t.outputs * t.channels * t.x_pixels, run.at<double>(weights),
                      bias != kNone ? run.at<double>(bias)[o] : 0.0, run.at<double>(out) + i * t.y_pixels);
            }
        });
    });
}

constexpr OpLowering table[] = {in_doubles(BP_OP_conv, lower<backplane::ops::ConvAttributes>),
                                in_doubles(BP_OP_conv_transpose, lower<backplane::ops::ConvTransposeAttributes>)};

}  // namespace

const OpFamily ops_doubles_conv = {table, std::size(table)};

}  // namespace backplane::cpu::ops::doubles_conv
