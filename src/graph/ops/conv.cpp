// Conv: x[N, C, H, W], w[O, C / group, kh, kw], b[O]? -> y[N, O, H', W'], cross-correlation with zero padding:
//   y[n, o, p, q] = b[o] + sum over c, i, j of w[o, c, i, j]
//                          * x[n, first(o) + c, p * s0 + i * d0 - top, q * s1 + j * d1 - left]
//   H' = floor((H + top + bottom - d0 * (kh - 1) - 1) / s0) + 1, W' alike; first(o) = the first channel of o's group.
// ONNX Conv 11, two spatial axes, auto_pad written out. Types: x, b and y alike f32, f16, bf16 or f64; w the same,
// or f16, bf16 for x f32.
// Attributes: strides (1, 1), pads = top left bottom right (0), dilations (1, 1), group (1).
#include "graph/op_definition.hpp"

namespace backplane::graph::ops::conv {

namespace {

// Everything about one convolution that its inner loops need.
struct Window {
    const ReferenceTensor& x;
    const ReferenceTensor& w;
    const std::vector<int64_t>& strides;
    const std::vector<int64_t>& pads;
    const std::vector<int64_t>& dilations;

    // The sum over one channel c of x[n] and channel k of w[o], at row p and column q of the result.
    [[nodiscard]] double sum(int64_t n, int64_t c, int64_t o, int64_t k, int64_t p, int64_t q) const {
        const int64_t height = x.shape[2];
        const int64_t width = x.shape[3];
        const double* map = x.data.data() + (n * x.shape[1] + c) * height * width;
        const double* kernel = w.data.data() + (o * w.shape[1] + k) * w.shape[2] * w.shape[3];
        double total = 0;
        for (int64_t i = 0; i < w.shape[2]; ++i) {
            const int64_t row = p * strides[0] + i * dilations[0] - pads[0];
            if (row < 0 || row >= height) continue;
            for (int64_t j = 0; j < w.shape[3]; ++j) {
                const int64_t column = q * strides[1] + j * dilations[1] - pads[1];
                if (column >= 0 && column < width) total += kernel[i * w.shape[3] + j] * map[row * width + column];
            }
        }
        return total;
    }
};

void reference(const ReferenceCall& call) {
    const Window window{call.input(0), call.input(1), call.attributes.integers(Attr::strides),
                        call.attributes.integers(Attr::pads), call.attributes.integers(Attr::dilations)};
    const Shape& y = call.output.shape;
    const int64_t of_group = window.w.shape[1];
    const int64_t outputs_of_group = y[1] / call.attributes.integer(Attr::group);
    double* out = call.output.data.data();
    for (int64_t n = 0; n < y[0]; ++n)
        for (int64_t o = 0; o < y[1]; ++o)
            for (int64_t p = 0; p < y[2]; ++p)
                for (int64_t q = 0; q < y[3]; ++q) {
                    double total = call.has(2) ? call.input(2).data[static_cast<size_t>(o)] : 0.0;
                    for (int64_t k = 0; k < of_group; ++k)
                        total += window.sum(n, o / outputs_of_group * of_group + k, o, k, p, q);
                    *out++ = total;
                }
}

}  // namespace

constinit const OpDefinition op_conv{backplane::ops::op_conv, reference};

}  // namespace backplane::graph::ops::conv
