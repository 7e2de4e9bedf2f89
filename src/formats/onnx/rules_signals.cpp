// Operators of sound: transforms of Fourier as products with matrices that are made here, windows, mel filters.
#include <cmath>
#include <numbers>
#include <numeric>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

constexpr int64_t kMostPoints = 1 << 24;  // elements of such a matrix

// A product with the matrix of n points to `bins` frequencies of numbers whose last axis has real and imaginary parts, or real ones alone:
// x[..., n, 1 or 2] to [..., bins, 2].
TensorId transformed(OnnxCall& call, TensorId x, int64_t bins, bool inverse) {
    Shape shape = call.shape_of(x);
    const int64_t parts = shape.back(), n = shape[shape.size() - 2];
    if (parts != 1 && parts != 2) call.refuse("of numbers with " + std::to_string(parts) + " parts");
    if (n < 1 || 4 * bins > kMostPoints / std::max<int64_t>(1, n)) call.refuse("of " + std::to_string(n) + " points");
    std::vector<double> matrix;  // from the parts of each point to those of each frequency
    const double scale = inverse ? 1 / static_cast<double>(n) : 1;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t part = 0; part < parts; ++part)
            for (int64_t k = 0; k < bins; ++k) {
                const double turn = 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
                const double c = scale * std::cos(turn), s = scale * std::sin(turn) * (inverse ? 1 : -1);
                matrix.push_back(part == 0 ? c : -s);
                matrix.push_back(part == 0 ? s : c);
            }
    const TensorId made = onnx_constant(call.graph, onnx_tensor(call.dtype(0), {n * parts, bins * 2}, matrix));
    shape.resize(shape.size() - 2);
    const int64_t rows = elements(shape);
    const TensorId product = call.add(Op::matmul, {call.reshaped(x, {rows, n * parts}), made});
    shape.insert(shape.end(), {bins, 2});
    return call.reshaped(product, shape);
}

// x with `length` elements along an axis: cut, or filled up with zeros.
TensorId of_length(OnnxCall& call, TensorId x, int64_t axis, int64_t length) {
    const Shape shape = call.shape_of(x);
    const auto d = static_cast<size_t>(axis);
    if (length < shape[d]) {
        Shape ends = shape;
        ends[d] = length;
        return call.add(Op::slice, {x}, {{Attr::starts, Shape(shape.size(), 0)}, {Attr::ends, ends}});
    }
    if (length == shape[d]) return x;
    std::vector<int64_t> pads(2 * shape.size(), 0);
    pads[shape.size() + d] = length - shape[d];
    return call.add(Op::pad, {x}, {{Attr::pads, pads}});
}

void dft(OnnxCall& call) {
    const int64_t rank = call.rank(0);
    const bool operand = call.opset >= 20;
    const int64_t written = operand ? (call.given(2) ? call.one_integer(2) : -2) : call.integer("axis", 1);
    const int64_t axis = call.axis(written, rank);
    if (axis == rank - 1) call.refuse("along the parts of its numbers");
    TensorId x = call.in(0);
    if (call.given(1)) x = of_length(call, x, axis, call.one_integer(1));
    const int64_t n = call.shape_of(x)[static_cast<size_t>(axis)];
    const bool inverse = call.integer("inverse", 0) != 0, onesided = call.integer("onesided", 0) != 0;
    std::vector<int64_t> perm(static_cast<size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[static_cast<size_t>(axis)], perm[static_cast<size_t>(rank - 2)]);
    const bool turns = axis != rank - 2;
    if (turns) x = call.add(Op::transpose, {x}, {{Attr::perm, perm}});
    TensorId y = transformed(call, x, onesided ? n / 2 + 1 : n, inverse);
    if (turns) y = call.add(Op::transpose, {y}, {{Attr::perm, perm}});
    call.result(y);
}

// signal[N, L, 1 or 2] to [N, frames, bins, 2].
void stft(OnnxCall& call) {
    Shape shape = call.shape(0);
    if (shape.size() == 2) shape.push_back(1);
    if (shape.size() != 3) call.refuse("of a signal that is not [batch, length, parts]");
    const int64_t step = call.one_integer(1);
    const int64_t length = call.given(3) ? call.one_integer(3) : call.given(2) ? call.shape(2)[0] : shape[1];
    if (step < 1 || length < 1 || length > shape[1]) call.refuse("frames that do not fit into the signal");
    const int64_t frames = (shape[1] - length) / step + 1;
    if (frames > kMostPoints / length) call.refuse("of " + std::to_string(frames) + " frames");
    std::vector<int64_t> positions;
    for (int64_t frame = 0; frame < frames; ++frame)
        for (int64_t i = 0; i < length; ++i) positions.push_back(frame * step + i);
    TensorId x = call.picked(call.reshaped(call.in(0), shape), positions, 1);
    x = call.reshaped(x, {shape[0], frames, length, shape[2]});
    if (call.given(2)) x = call.add(Op::mul, {x, call.reshaped(call.in(2), {length, 1})});
    call.result(transformed(call, x, call.integer("onesided", 1) != 0 ? length / 2 + 1 : length, false));
}

DType made_type(const OnnxCall& call) {
    const DType dtype = dtype_of_onnx(call.integer("output_datatype", 1));
    if (dtype == DType::unknown) call.refuse("of a type that graphs do not have");
    return dtype;
}

// Sums of cosines of a turn over the window, and of two.
void window(OnnxCall& call) {
    const int64_t size = call.one_integer(0);
    if (size < 0 || size > kMostPoints) call.refuse("of " + std::to_string(size));
    const bool hann = call.node.op == "HannWindow", hamming = call.node.op == "HammingWindow";
    const double a0 = hann ? 0.5 : hamming ? 25.0 / 46 : 0.42, a1 = hann ? 0.5 : hamming ? 21.0 / 46 : 0.5;
    const double a2 = hann || hamming ? 0 : 0.08;
    const auto whole = static_cast<double>(call.integer("periodic", 1) != 0 ? size : size - 1);
    std::vector<double> values;
    for (int64_t i = 0; i < size; ++i) {
        const double turn = whole == 0 ? 0 : 2 * std::numbers::pi * static_cast<double>(i) / whole;
        values.push_back(a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
    }
    call.result(onnx_tensor(made_type(call), {size}, values));
}

// Triangles between neighbouring frequencies of the mel scale, in bins of a transform.
void mel_weights(OnnxCall& call) {
    const int64_t mels = call.one_integer(0), length = call.one_integer(1), rate = call.one_integer(2);
    const double lower = call.one_number(3), upper = call.one_number(4);
    const int64_t bins = length / 2 + 1;
    if (mels < 0 || length < 1 || rate < 1 || !(lower >= 0) || !(upper > lower) || mels > kMostPoints / bins)
        call.refuse("of such sizes");
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    std::vector<int64_t> edges;
    for (int64_t i = 0; i < mels + 2; ++i) {
        const double at = mel(lower) + static_cast<double>(i) * (mel(upper) - mel(lower)) / static_cast<double>(mels + 2);
        const double hertz = 700 * (std::pow(10, at / 2595) - 1);
        edges.push_back(
            static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
    }
    std::vector<double> values(static_cast<size_t>(bins * mels));
    const auto put = [&](int64_t bin, int64_t m, double value) {
        if (bin >= 0 && bin < bins) values[static_cast<size_t>(bin * mels + m)] = value;
    };
    for (int64_t m = 0; m < mels; ++m) {
        const int64_t from = edges[static_cast<size_t>(m)], top = edges[static_cast<size_t>(m) + 1],
                      to = edges[static_cast<size_t>(m) + 2];
        if (top == from) put(top, m, 1);
        for (int64_t bin = from; top > from && bin <= top; ++bin)
            put(bin, m, static_cast<double>(bin - from) / static_cast<double>(top - from));
        for (int64_t bin = top; bin < to; ++bin) put(bin, m, static_cast<double>(to - bin) / static_cast<double>(to - top));
    }
    call.result(onnx_tensor(made_type(call), {bins, mels}, values));
}

constexpr OnnxRuleRow kSignalsRules[] = {
    {"DFT", dft},
    {"STFT", stft},
    {"HannWindow", window},
    {"HammingWindow", window},
    {"BlackmanWindow", window},
    {"MelWeightMatrix", mel_weights},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_signals() { return kSignalsRules; }

}  // namespace backplane::formats
