// Conv: x[N, C, H, W], w[O, C / group, kh, kw], b[O]? -> y[N, O, H', W'], cross-correlation with zero padding:
//   y[n, o, p, q] = b[o] + sum over c, i, j of w[o, c, i, j]
//                          * x[n, first(o) + c, p * s0 + i * d0 - top, q * s1 + j * d1 - left]
//   H' = floor((H + top + bottom - d0 * (kh - 1) - 1) / s0) + 1, W' alike; first(o) = the first channel of o's group.
// One spatial axis and three alike. ONNX Conv 11, auto_pad written out. Types: x, b and y alike f32, f16, bf16 or f64; w the same,
// or f16, bf16 for x f32.
// Attributes: strides (1), pads = beginnings of all axes, then ends: top left bottom right (0), dilations (1), group (1).
#include <array>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::conv {

namespace {

// A convolution as one of three spatial axes: fewer of them are extents of 1 in front.
struct Window {
    std::array<int64_t, 3> map = {1, 1, 1}, kernel = {1, 1, 1}, result = {1, 1, 1};
    std::array<int64_t, 3> strides = {1, 1, 1}, begins = {0, 0, 0}, dilations = {1, 1, 1};

    explicit Window(const ReferenceCall& call) {
        const size_t axes = call.output.shape.size() - 2;
        for (size_t a = 0; a < axes; ++a) {
            const size_t to = 3 - axes + a;
            map[to] = call.input(0).shape[2 + a];
            kernel[to] = call.input(1).shape[2 + a];
            result[to] = call.output.shape[2 + a];
            strides[to] = call.attributes.integers(Attr::strides)[a];
            begins[to] = call.attributes.integers(Attr::pads)[a];
            dilations[to] = call.attributes.integers(Attr::dilations)[a];
        }
    }
    [[nodiscard]] int64_t pixels() const { return map[0] * map[1] * map[2]; }
    [[nodiscard]] int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

    // Where tap `k` of the result's position `p` lies on an axis; -1: beside the map.
    [[nodiscard]] int64_t at(size_t axis, int64_t p, int64_t k) const {
        const int64_t i = p * strides[axis] + k * dilations[axis] - begins[axis];
        return i < map[axis] ? i : -1;
    }
    // The sum over one channel of x and of w, for the result's position p.
    [[nodiscard]] double sum(const double* x, const double* w, const std::array<int64_t, 3>& p) const {
        double total = 0;
        for (int64_t i = 0; i < kernel[0]; ++i) {
            const int64_t depth = at(0, p[0], i);
            if (depth < 0) continue;
            for (int64_t j = 0; j < kernel[1]; ++j) {
                const int64_t row = at(1, p[1], j);
                if (row < 0) continue;
                for (int64_t k = 0; k < kernel[2]; ++k)
                    if (const int64_t column = at(2, p[2], k); column >= 0)
                        total += w[(i * kernel[1] + j) * kernel[2] + k] * x[(depth * map[1] + row) * map[2] + column];
            }
        }
        return total;
    }
};

void reference(const ReferenceCall& call) {
    const Window window(call);
    const double* x = call.input(0).data.data();
    const double* w = call.input(1).data.data();
    const Shape& y = call.output.shape;
    const int64_t channels = call.input(0).shape[1];
    const int64_t of_group = call.input(1).shape[1];
    const int64_t outputs_of_group = y[1] / call.attributes.integer(Attr::group);
    double* out = call.output.data.data();
    for (int64_t n = 0; n < y[0]; ++n)
        for (int64_t o = 0; o < y[1]; ++o) {
            const double bias = call.has(2) ? call.input(2).data[static_cast<size_t>(o)] : 0.0;
            const double* maps = x + (n * channels + o / outputs_of_group * of_group) * window.pixels();
            for_each_index({window.result.begin(), window.result.end()}, [&](const Index& p, size_t) {
                double total = bias;
                for (int64_t k = 0; k < of_group; ++k)
                    total +=
                        window.sum(maps + k * window.pixels(), w + (o * of_group + k) * window.taps(), {p[0], p[1], p[2]});
                *out++ = total;
            });
        }
}

}  // namespace

constinit const OpDefinition op_conv{backplane::ops::op_conv, reference};

}  // namespace backplane::graph::ops::conv
