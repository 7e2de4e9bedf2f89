// Pad: constant, edge or reflected borders on any axis, any plain element type.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/saturated.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::pad {

namespace {

struct Axis {
    int64_t in = 1, out = 1, before = 0, in_stride = 0, out_stride = 0;
};

// Position in the operand of position i of the result; -1: in the border of a constant pad.
int64_t source(const Axis& axis, int64_t i, int64_t mode) {
    const int64_t at = i - axis.before;
    if (at >= 0 && at < axis.in) return at;
    if (mode == BP_PAD_CONSTANT) return -1;
    if (mode == BP_PAD_EDGE || axis.in == 1) return at < 0 ? 0 : axis.in - 1;
    const int64_t period = 2 * (axis.in - 1);
    const int64_t folded = (at % period + period) % period;
    return folded < axis.in ? folded : period - folded;
}

struct PadTask {
    std::vector<Axis> outer;  // slowest first
    Axis row;                 // strides count blocks of `block` bytes
    int64_t block = 0;
    int64_t mode = 0;
    std::vector<std::byte> fill;  // one element
};

void fill_blocks(const PadTask& t, std::byte* into, int64_t count) {
    const auto bytes = static_cast<size_t>(count * t.block);
    if (bytes == 0) return;
    size_t done = t.fill.size();
    std::memcpy(into, t.fill.data(), done);
    for (; done < bytes; done *= 2) std::memcpy(into + done, into, std::min(done, bytes - done));
}

void pad_row(const PadTask& t, const std::byte* from, std::byte* into, int64_t r) {
    int64_t from_at = 0;
    int64_t into_at = 0;
    bool border = false;
    for (size_t d = t.outer.size(); d-- > 0;) {
        const Axis& axis = t.outer[d];
        const int64_t i = r % axis.out;
        r /= axis.out;
        const int64_t s = source(axis, i, t.mode);
        border = border || s < 0;
        from_at += s * axis.in_stride;
        into_at += i * axis.out_stride;
    }
    std::byte* row = into + into_at * t.block;
    if (border) return fill_blocks(t, row, t.row.out);
    const std::byte* line = from + from_at * t.block;
    const int64_t first = t.row.before;
    const int64_t last = first + t.row.in;
    auto edge = [&](int64_t begin, int64_t end) {
        if (t.mode == BP_PAD_CONSTANT) return fill_blocks(t, row + begin * t.block, end - begin);
        for (int64_t i = begin; i < end; ++i)
            std::memcpy(row + i * t.block, line + source(t.row, i, t.mode) * t.block, static_cast<size_t>(t.block));
    };
    edge(0, first);
    if (last > first) std::memcpy(row + first * t.block, line, static_cast<size_t>(t.row.in * t.block));
    edge(last, t.row.out);
}

// Unpadded inner axes become part of one block, so that rows are long whatever the layout.
PadTask task_of(const Value& in, const Value& out, const std::vector<int64_t>& pads, int64_t mode) {
    const auto x = strides_of(in);
    const auto y = strides_of(out);
    std::vector<Axis> axes;
    for (size_t d = 0; d < in.dim.size(); ++d) axes.push_back({in.dim[d], out.dim[d], pads[d], x[d], y[d]});
    std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
        return a.out_stride != b.out_stride ? a.out_stride > b.out_stride : a.in_stride > b.in_stride;
    });
    PadTask task;
    task.mode = mode;
    task.row = {1, 1, 0, 1, 1};
    int64_t elements = 1;
    while (!axes.empty() && axes.back().before == 0 && axes.back().in == axes.back().out) {
        elements *= axes.back().out;
        axes.pop_back();
    }
    if (!axes.empty()) {
        task.row = axes.back();
        axes.pop_back();
    }
    for (Axis& axis : axes) {
        axis.in_stride /= elements;
        axis.out_stride /= elements;
    }
    task.outer = std::move(axes);
    task.block = elements * element_bytes(out);
    return task;
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const auto attributes = node.as<backplane::ops::PadAttributes>();
    const std::vector<int64_t> pads(attributes.pads.value.begin(), attributes.pads.value.end());
    PadTask task = task_of(to[in], to[out], pads, static_cast<int64_t>(attributes.mode));
    const auto fill = backend::element_of(attributes.value, to[out].dtype);
    task.fill.assign(fill.begin(), fill.begin() + element_bytes(to[out]));
    int64_t rows = 1;
    for (const Axis& axis : task.outer) rows *= axis.out;
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / (task.row.out * task.block));
    Step& added = to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        const auto* from = run.at<std::byte>(in);
        auto* into = run.at<std::byte>(out);
        run.ranges(rows, grain, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) pad_row(task, from, into, r);
        });
    });
    added.moved = to[out].bytes;
}

constexpr OpLowering table[] = {{BP_OP_pad, Types::moves, Wants::either, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_pad = {table, std::size(table)};

}  // namespace backplane::cpu::ops::pad
