#include "ops/conv_geometry.hpp"

#include <utility>

#include "weights.hpp"

namespace backplane::cpu::ops::conv {

std::vector<ValueId> segments_of(const Node& node) {
    std::vector<ValueId> out = {node.inputs[0]};
    for (size_t k = 3; k < node.inputs.size(); ++k) out.push_back(node.inputs[k]);
    return out;
}

Geometry geometry_of(const Plan& plan, const Node& node) {
    Geometry g;
    const Value& x = plan[node.inputs[0]];
    const Value& w = plan[node.inputs[1]];
    const Value& y = plan[node.output];
    const size_t axes = x.dim.size() - 2;
    const auto [strides, pads, dilations, group] =
        node.as<backplane::ops::ConvAttributes>().filled(static_cast<uint32_t>(axes));
    g.groups = group;
    g.batch = x.dim[0];
    g.weight_dtype = w.dtype;
    ConvTask& t = g.task;
    const size_t column = axes - 1;
    t.width = x.dim[2 + column], t.out_width = y.dim[2 + column], t.kernel_w = w.dim[2 + column];
    t.stride_w = strides[column], t.pad_left = pads[column], t.dilation_w = dilations[column];
    t.height = t.out_height = 1;
    if (axes >= 2) {
        const size_t row = axes - 2;
        t.height = x.dim[2 + row], t.out_height = y.dim[2 + row], t.kernel_h = w.dim[2 + row];
        t.stride_h = strides[row], t.pad_top = pads[row], t.dilation_h = dilations[row];
    }
    g.has_depth = axes == 3;
    if (g.has_depth) {
        g.depth = x.dim[2], g.out_depth = y.dim[2], g.kernel_d = w.dim[2];
        g.stride_d = strides[0], g.pad_front = pads[0], g.dilation_d = dilations[0];
    }
    if (t.width == 1 && t.out_width == 1 && t.kernel_w == 1 && t.pad_left == 0) {  // a column is the same bytes as a row
        std::swap(t.width, t.height);
        std::swap(t.out_width, t.out_height);
        std::swap(t.kernel_w, t.kernel_h);
        std::swap(t.stride_w, t.stride_h);
        std::swap(t.dilation_w, t.dilation_h);
        std::swap(t.pad_left, t.pad_top);
    }
    g.taps = t.kernel_h * t.kernel_w;
    t.out_row = t.out_width;
    t.channels = w.dim[1];
    t.out_channels = w.dim[0] / g.groups;
    t.out_stride = y.dim[1];
    for (const ValueId s : segments_of(node)) {
        const int64_t channels = plan[s].dim[1];
        t.segment[t.segments++] = {nullptr, channels / g.groups, channels};
    }
    return g;
}

bool is_depthwise(const Geometry& g) {
    return g.task.channels == 1 && g.task.out_channels == 1 && g.task.segments == 1 && g.groups > 1;
}

std::string packing_text(const char* kind, const Geometry& g, const ConvKernels& k) {
    std::string out = std::string("conv/") + kind + "/" + std::to_string(k.lanes) + "x" + std::to_string(k.block);
    for (const int64_t n :
         {int64_t{g.weight_dtype}, g.groups, g.task.out_channels, g.kernel_d, g.task.kernel_h, g.task.kernel_w})
        out += "," + std::to_string(n);
    for (int64_t s = 0; s < g.task.segments; ++s) out += "+" + std::to_string(g.task.segment[s].channels);
    return out;
}

int64_t direct_floats(const Geometry& g, const ConvKernels& k) {
    return g.groups * g.taps * g.task.channels * padded_columns(g.task.out_channels, k.lanes);
}

namespace {

void pack_direct(const Geometry& g, const ConvKernels& k, const std::vector<float>& w, int64_t slice, float* out) {
    const ConvTask& t = g.task;
    const int64_t depth = g.taps * t.channels;
    const int64_t filter = depth * g.kernel_d;
    // Row r of the packed matrix is (segment, tap, channel); where its element lies in one filter.
    std::vector<int64_t> place;
    int64_t first = 0;
    for (int64_t s = 0; s < t.segments; ++s) {
        for (int64_t tap = 0; tap < g.taps; ++tap)
            for (int64_t c = 0; c < t.segment[s].channels; ++c)
                place.push_back(((first + c) * g.kernel_d + slice) * g.taps + tap);
        first += t.segment[s].channels;
    }
    for (int64_t group = 0; group < g.groups; ++group) {
        const float* from = w.data() + group * t.out_channels * filter;
        pack_blocks(depth, t.out_channels, k.block, k.lanes, out + group * depth * padded_columns(t.out_channels, k.lanes),
                    [&](int64_t row, int64_t o) { return from[o * filter + place[static_cast<size_t>(row)]]; });
    }
}

}  // namespace

void pack_slices(const Geometry& g, const ConvKernels& k, const std::byte* plain, float* out) {
    const int64_t filter = g.kernel_d * g.taps;
    const auto w = decode(plain, g.weight_dtype, g.groups * g.task.out_channels * g.task.channels * filter);
    for (int64_t slice = 0; slice < g.kernel_d; ++slice) {
        if (!is_depthwise(g)) {
            pack_direct(g, k, w, slice, out);
            out += direct_floats(g, k);
            continue;
        }
        for (int64_t tap = 0; tap < g.taps; ++tap)
            for (int64_t c = 0; c < g.groups; ++c) *out++ = w[static_cast<size_t>(c * filter + slice * g.taps + tap)];
    }
}

}  // namespace backplane::cpu::ops::conv
