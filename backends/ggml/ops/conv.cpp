// Conv.
#include <algorithm>
#include <array>

#include "lowering.hpp"

namespace backplane::ggml {

namespace {

constexpr int64_t kMostGroups = 64;
constexpr int64_t kMostPatchBytes = int64_t{1} << 29;

struct Window {
    int strides[2] = {1, 1};
    int dilations[2] = {1, 1};
    std::array<int64_t, 4> pads{};  // top, left, bottom, right
    [[nodiscard]] bool even() const { return pads[0] == pads[2] && pads[1] == pads[3]; }
};

Window window_of(const Node& node) {
    Window w;
    const auto [strides, pads, dilations, group] = node.as<backplane::ops::ConvAttributes>().filled(2);
    for (size_t i = 0; i < 2; ++i) {
        w.strides[i] = static_cast<int>(strides[i]);
        w.dilations[i] = static_cast<int>(dilations[i]);
    }
    std::copy(pads.begin(), pads.end(), w.pads.begin());
    return w;
}

// x with its zeros written out, for padding that is not the same on both sides.
Tensor* padded(Lowering& l, Tensor* x, Shape& shape, Window& w) {
    if (w.even()) return x;
    const Shape from = strides_of(shape);
    Shape bigger = shape;
    bigger[2] += w.pads[0] + w.pads[2];
    bigger[3] += w.pads[1] + w.pads[3];
    const Shape to = strides_of(bigger);
    Tensor* y = l.base().fill(l.context(), l.leaf(kF32, bigger), 0.0F);
    l.schedule(y);
    Move inside;
    for (size_t i = 0; i < 4; ++i) inside.axes.push_back({shape[i], from[i], to[i]});
    inside.to_offset = w.pads[0] * to[2] + w.pads[1];
    l.move(x, y, inside);
    shape = bigger;
    w.pads = {};
    return y;
}

// The patches of x as rows, times the kernels as rows: [N * H' * W', C * kh * kw] by [O, C * kh * kw]. What ggml_conv_2d does, and
// faster than its direct convolution, for kh * kw times the memory.
Tensor* by_patches(Lowering& l, Tensor* kernel, Tensor* x, const Window& w) {
    const BaseLibrary& g = l.base();
    const int64_t outputs = kernel->ne[3];
    Tensor* patches = g.im2col(l.context(), kernel, x, w.strides[1], w.strides[0], static_cast<int>(w.pads[1]),
                               static_cast<int>(w.pads[0]), w.dilations[1], w.dilations[0], true, kF32);
    const int64_t row = patches->ne[0];
    const int64_t maps = patches->ne[3];
    const int64_t map = patches->ne[1] * patches->ne[2];
    Tensor* y = g.mul_mat(l.context(), l.shaped(patches, {1, 1, maps * map, row}), l.shaped(kernel, {1, 1, outputs, row}));
    return l.transposed(y, {outputs, maps, map}, {1, 0, 2});
}

// `map`: elements of one channel of the result, over all N.
Tensor* one_group(Lowering& l, Tensor* kernel, Tensor* x, const Window& w, int64_t map) {
    const int64_t patch_bytes = map * kernel->ne[0] * kernel->ne[1] * kernel->ne[2] * 4;
    if (patch_bytes <= kMostPatchBytes) return by_patches(l, kernel, x, w);
    return l.base().conv_2d_direct(l.context(), kernel, x, w.strides[1], w.strides[0], static_cast<int>(w.pads[1]),
                                   static_cast<int>(w.pads[0]), w.dilations[1], w.dilations[0]);
}

// Channels [first, first + count) of x [N, C, H, W], or of a kernel where N is 1.
Tensor* channels(Lowering& l, Tensor* x, const Shape& shape, int64_t first, int64_t count) {
    const int64_t map = shape[2] * shape[3];
    Tensor* part = l.leaf(kF32, {shape[0], count, shape[2], shape[3]});
    l.move(x, part, {{{shape[0], shape[1] * map, count * map}, {count * map, 1, 1}}, first * map, 0});
    return part;
}

Tensor* grouped(Lowering& l, Tensor* kernel, const Shape& k, Tensor* x, const Shape& s, const Window& w, const Shape& out,
                int64_t groups) {
    const int64_t outputs = k[0] / groups;
    const int64_t map = out[2] * out[3];
    Tensor* y = l.leaf(kF32, out);
    for (int64_t g = 0; g < groups; ++g) {
        Tensor* part = channels(l, kernel, {1, k[0] * k[1], k[2], k[3]}, g * outputs * k[1], outputs * k[1]);
        part = l.shaped(part, {outputs, k[1], k[2], k[3]});
        Tensor* result = one_group(l, part, channels(l, x, s, g * k[1], k[1]), w, out[0] * map);
        l.schedule(result);
        l.move(result, y, {{{out[0], outputs * map, out[1] * map}, {outputs * map, 1, 1}}, 0, g * outputs * map});
    }
    return y;
}

}  // namespace

void lower_conv(Lowering& l, const Node& node) {
    const uint32_t out = node.output;
    if (!is_float(l.dtype(node.inputs[0]))) throw Refusal{BP_WHY_DTYPE, "ggml computes with floats only"};
    Shape s = l.shape(node.inputs[0]);
    if (s.size() != 4) throw Refusal{BP_WHY_SHAPE, "only two spatial axes are done"};
    const Shape k = l.shape(node.inputs[1]);
    const Shape o = l.shape(out);
    if (product(k) == 0) throw Refusal{BP_WHY_SHAPE, "ggml sums over one element at least"};
    Window w = window_of(node);
    Tensor* kernel = l.shaped(l.float_input(node, 1), k);
    Tensor* x = padded(l, l.shaped(l.float_input(node, 0), s), s, w);
    const int64_t groups = node.as<backplane::ops::ConvAttributes>().group;
    Tensor* y = nullptr;
    if (groups == 1) {
        y = one_group(l, kernel, x, w, o[0] * o[2] * o[3]);
    } else if (groups == s[1] && k[0] == s[1]) {
        y = l.base().conv_2d_dw_direct(l.context(), kernel, x, w.strides[1], w.strides[0], static_cast<int>(w.pads[1]),
                                       static_cast<int>(w.pads[0]), w.dilations[1], w.dilations[0]);
    } else if (groups <= kMostGroups) {
        y = grouped(l, kernel, k, x, s, w, o, groups);
    } else {
        throw Refusal{BP_WHY_ATTRIBUTE, "ggml has no convolution of groups but depthwise"};
    }
    if (node.input(2) != kNone)
        y = l.base().add(l.context(), l.shaped(y, o), l.shaped(l.float_input(node, 2), {1, o[1], 1, 1}));
    l.set(node, y);
}

}  // namespace backplane::ggml
