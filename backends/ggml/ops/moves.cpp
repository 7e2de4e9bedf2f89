// Ops that move elements as they are.
#include <algorithm>
#include <cstring>

#include "lowering.hpp"

namespace backplane::ggml {

namespace {

constexpr int64_t kMostPadCopies = 64;

// The block of this shape at the start of both sides, each with strides of its own.
Move block(const Shape& shape, const Shape& from, const Shape& to) {
    Move what;
    for (size_t i = 0; i < shape.size(); ++i) what.axes.push_back({shape[i], from[i], to[i]});
    return what;
}

}  // namespace

void lower_concat(Lowering& l, const Node& node) {
    const uint32_t out = node.output;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::ConcatAttributes>().axis.value);
    const Around to(l.shape(out), axis);
    Tensor* y = l.leaf(ggml_type(l.dtype(out)), l.shape(out));
    int64_t first = 0;
    for (const uint32_t in : node.inputs) {
        const Around from(l.shape(in), axis);
        if (from.extent != 0)
            l.move(l.value(in), y,
                   {{{to.outer, from.extent * to.inner, to.extent * to.inner}, {from.extent * to.inner, 1, 1}},
                    0,
                    first * to.inner});
        first += from.extent;
    }
    l.set(node, y);
}

void lower_slice(Lowering& l, const Node& node) {
    const uint32_t out = node.output;
    const Shape shape = l.shape(out);
    const backend::StridedView from = backend::sliced(node, strides_of(l.shape(node.inputs[0])));
    Move what = block(shape, from.strides, strides_of(shape));
    what.from_offset = from.offset;
    Tensor* y = l.leaf(ggml_type(l.dtype(out)), shape);
    l.move(l.input(node, 0), y, what);
    l.set(node, y);
}

void lower_pad(Lowering& l, const Node& node) {
    const uint32_t in = node.inputs[0];
    const uint32_t out = node.output;
    const Shape shape = l.shape(in);
    const Shape bigger = l.shape(out);
    const auto how = node.as<backplane::ops::PadAttributes>();
    const backplane::ops::List& pads = how.pads.value;
    const backplane::ops::PadMode mode = how.mode;
    const size_t rank = shape.size();
    const Shape to = strides_of(bigger);
    Tensor* y = l.leaf(ggml_type(l.dtype(out)), bigger);
    if (mode == backplane::ops::PadMode::constant) {
        if (y->type != kF32) throw Refusal{BP_WHY_DTYPE, "ggml fills float32 only"};
        y = l.base().fill(l.context(), y, static_cast<float>(how.value));
        l.schedule(y);
    }
    Move inside = block(shape, strides_of(shape), to);
    for (size_t i = 0; i < rank; ++i) inside.to_offset += pads[i] * to[i];
    if (product(shape) != 0) l.move(l.input(node, 0), y, inside);
    if (mode == backplane::ops::PadMode::constant) return l.set(node, y);
    // Axis by axis, slices of what is there already: what stands before this axis is whole only where it was padded before.
    int64_t copies = 0;
    int64_t corner = inside.to_offset;
    Shape done = shape;
    for (size_t axis = 0; axis < rank; ++axis) {
        Shape slice = done;
        slice[axis] = 1;
        const auto copy = [&](int64_t target, int64_t source) {
            if (++copies > kMostPadCopies) throw Refusal{BP_WHY_SHAPE, "it takes too many copies"};
            Move what = block(slice, to, to);
            const int64_t origin = corner - pads[axis] * to[axis];
            what.from_offset = origin + source * to[axis];
            what.to_offset = origin + target * to[axis];
            l.move(y, y, what);
        };
        const int64_t before = pads[axis];
        const int64_t extent = shape[axis];
        for (int64_t i = 0; i < before; ++i) copy(i, mode == backplane::ops::PadMode::edge ? before : 2 * before - i);
        for (int64_t i = before + extent; i < bigger[axis]; ++i)
            copy(i, mode == backplane::ops::PadMode::edge ? before + extent - 1 : 2 * (before + extent - 1) - i);
        corner -= before * to[axis];
        done[axis] = bigger[axis];
    }
    l.set(node, y);
}

void lower_reshape(Lowering& l, const Node& node) { l.set(node, l.input(node, 0)); }

void lower_transpose(Lowering& l, const Node& node) {
    const Shape shape = l.shape(node.inputs[0]);
    l.set(node, l.transposed(l.input(node, 0), shape, backend::transpose_order(node, shape.size())));
}

void lower_gather(Lowering& l, const Node& node) {
    const uint32_t in = node.inputs[0];
    const bp_tensor indices = l.view().tensor(node.inputs[1]);
    // ggml ends the process on an index out of range, so indices must be known now.
    if (indices.role != BP_ROLE_CONSTANT)
        throw Refusal{BP_WHY_LIMIT, "ggml does not check indices; only constant ones are taken"};
    if (l.dtype(in) != BP_F32) throw Refusal{BP_WHY_DTYPE, "ggml gathers float32 as it is, nothing else"};
    const Around a(l.shape(in), static_cast<size_t>(node.as<backplane::ops::GatherAttributes>().axis));
    const int64_t count = l.view().elements(indices);
    std::vector<int32_t> rows;
    for (int64_t o = 0; o < a.outer; ++o)
        for (int64_t i = 0; i < count; ++i) {
            int64_t index = 0;
            if (indices.dtype == BP_I64) {
                std::memcpy(&index, static_cast<const char*>(indices.data.data) + i * 8, 8);
            } else {
                int32_t narrow = 0;
                std::memcpy(&narrow, static_cast<const char*>(indices.data.data) + i * 4, 4);
                index = narrow;
            }
            if (index < 0) index += a.extent;
            if (index < 0 || index >= a.extent) throw Refusal{BP_WHY_LIMIT, "an index lies outside its axis"};
            rows.push_back(static_cast<int32_t>(index));
        }
    Tensor* data = l.shaped(l.value(in), {1, a.outer, a.extent, a.inner});
    l.set(node, l.base().get_rows(l.context(), data, l.constant(kI32, {1, 1, a.outer, count}, rows.data())));
}

void lower_cast(Lowering& l, const Node& node) {
    const uint32_t in = node.inputs[0];
    const uint32_t from = l.dtype(in);
    const uint32_t to = l.dtype(node.output);
    if (from == to) return l.set(node, l.value(in));
    if (!is_float(to)) throw Refusal{BP_WHY_DTYPE, "ggml casts among floats only"};
    l.set(node, l.float_value(in));
}

void lower_depth_to_space(Lowering& l, const Node& node) {
    const uint32_t in = node.inputs[0];
    const Shape s = l.shape(in);
    const auto how = node.as<backplane::ops::DepthToSpaceAttributes>();
    const int64_t b = how.blocksize;
    const int64_t c = s[1] / (b * b);
    const bool crd = how.mode == backplane::ops::DepthMode::crd;
    const Shape split = crd ? Shape{s[0], c, b, b, s[2], s[3]} : Shape{s[0], b, b, c, s[2], s[3]};
    l.set(node, l.transposed(l.value(in), split,
                             crd ? std::vector<size_t>{0, 1, 4, 2, 5, 3} : std::vector<size_t>{0, 3, 4, 1, 5, 2}));
}

void lower_resize(Lowering& l, const Node& node) {
    const uint32_t in = node.inputs[0];
    if (l.dtype(in) != BP_F32) throw Refusal{BP_WHY_DTYPE, "ggml resizes float32 only"};
    const Shape s = l.shape(in);
    const Shape o = l.shape(node.output);
    if (s.size() != 4) throw Refusal{BP_WHY_SHAPE, "ggml resizes maps of two axes"};
    using backplane::ops::Coordinates;
    const auto how = node.as<backplane::ops::ResizeAttributes>();
    const Coordinates coordinates = how.coordinates;
    uint32_t mode = kScaleNearest;
    if (how.mode == backplane::ops::ResizeMode::cubic) throw Refusal{BP_WHY_ATTRIBUTE, "ggml has a cubic mode of its own"};
    if (how.mode == backplane::ops::ResizeMode::linear) {
        if (coordinates != Coordinates::half_pixel && coordinates != Coordinates::align_corners)
            throw Refusal{BP_WHY_ATTRIBUTE, "ggml has no such coordinates"};
        mode = kScaleBilinear | (coordinates == Coordinates::align_corners ? kScaleAlignCorners : 0U);
    } else if (coordinates != Coordinates::asymmetric) {
        throw Refusal{BP_WHY_ATTRIBUTE, "ggml has no such coordinates"};
    } else if (o[2] % s[2] != 0 || o[3] % s[3] != 0) {
        throw Refusal{BP_WHY_SHAPE, "ggml finds the nearest by a division in float32, which may be one off"};
    }
    Tensor* x = l.shaped(l.value(in), s);
    l.set(node, l.base().interpolate(l.context(), x, o[3], o[2], o[1], o[0], mode));
}

}  // namespace backplane::ggml
