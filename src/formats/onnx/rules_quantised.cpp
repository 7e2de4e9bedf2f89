// Operators on numbers of 8 and 16 bits with a scale and a zero point: computed in f32, whose sums of them are exact as far as is said here.
#include <algorithm>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

struct Limits {
    double least = 0, most = 0;
};

Limits limits_of(const OnnxCall& call, DType dtype) {
    switch (dtype) {
        case DType::i8: return {-128, 127};
        case DType::u8: return {0, 255};
        case DType::i16: return {-32768, 32767};
        case DType::u16: return {0, 65535};
        default: call.refuse(std::string("to ") + name_of(dtype));
    }
}

// A scale or zero point, of one element or of those along an axis, so that it broadcasts over a tensor of `rank` axes; f32.
TensorId along(OnnxCall& call, size_t operand, int64_t axis, int64_t rank) {
    const TensorId number = call.as(call.in(operand), DType::f32);
    if (elements(call.shape(operand)) == 1) return call.reshaped(number, {});
    if (call.rank(operand) != 1) call.refuse("scales of blocks");
    Shape shape(static_cast<size_t>(rank), 1);
    shape[static_cast<size_t>(axis)] = call.shape(operand)[0];
    return call.reshaped(number, shape);
}

// What operand i is beyond its zero point, which may not be given.
TensorId centred(OnnxCall& call, size_t i, size_t zero_point, int64_t axis) {
    const TensorId x = call.as(call.in(i), DType::f32);
    return call.given(zero_point) ? call.add(Op::sub, {x, along(call, zero_point, axis, call.rank(i))}) : x;
}

// round(x) + zero point, kept within a type.
TensorId rounded(OnnxCall& call, TensorId x, TensorId zero_point, DType dtype) {
    const Limits limits = limits_of(call, dtype);
    TensorId y = call.add(Op::round, {x});
    if (zero_point.valid()) y = call.add(Op::add, {y, zero_point});
    y = call.add(Op::clip, {y}, {{Attr::least, limits.least}, {Attr::most, limits.most}});
    return call.as(y, dtype);
}

// Where scales go along, as its attribute says: of no meaning where there is one scale for all.
int64_t axis_of(OnnxCall& call, size_t scale) {
    if (call.integer("block_size", 0) != 0) call.refuse("scales of blocks");
    const int64_t written = call.integer("axis", 1);
    return elements(call.shape(scale)) == 1 ? 0 : call.axis(written, call.rank(0));
}

void dequantise(OnnxCall& call) {
    const int64_t axis = axis_of(call, 1);
    const int64_t wanted = call.integer("output_dtype", 0);
    const DType dtype = wanted == 0 ? call.dtype(1) : dtype_of_onnx(wanted);
    const TensorId y = call.add(Op::mul, {centred(call, 0, 2, axis), along(call, 1, axis, call.rank(0))});
    call.result(call.as(y, dtype));
}

void quantise(OnnxCall& call) {
    const int64_t axis = axis_of(call, 1);
    for (const char* of_small_floats : {"saturate", "precision"}) static_cast<void>(call.attribute(of_small_floats));
    const int64_t wanted = call.integer("output_dtype", 0);
    const DType dtype = call.given(2) ? call.dtype(2) : wanted == 0 ? DType::u8 : dtype_of_onnx(wanted);
    const TensorId x = call.add(Op::div, {call.as(call.in(0), DType::f32), along(call, 1, axis, call.rank(0))});
    call.result(rounded(call, x, call.given(2) ? along(call, 2, axis, call.rank(0)) : no_tensor, dtype));
}

void quantise_by_its_range(OnnxCall& call) {
    const TensorId x = call.in(0), zero = call.scalar(0, DType::f32);
    std::vector<int64_t> axes;
    for (int64_t d = 0; d < call.rank(0); ++d) axes.push_back(d);
    const std::vector<Attribute> over = {{Attr::axes, axes}, {Attr::keepdims, 0}};
    const TensorId most = call.add(Op::max, {call.add(Op::reduce_max, {x}, over), zero});
    const TensorId least = call.add(Op::min, {call.add(Op::reduce_min, {x}, over), zero});
    const TensorId scale = call.add(Op::div, {call.add(Op::sub, {most, least}), call.scalar(255, DType::f32)});
    const TensorId beside = call.add(Op::div, {call.add(Op::neg, {least}), scale});
    const TensorId zero_point = rounded(call, beside, no_tensor, DType::u8);
    call.result(rounded(call, call.add(Op::div, {x, scale}), call.as(zero_point, DType::f32), DType::u8));
    call.result(scale, 1);
    call.result(zero_point, 2);
}

// Products of 256 pairs have no sum that f32 does not hold: longer ones are summed as i32.
void product_of_integers(OnnxCall& call) {
    constexpr int64_t kExact = 256;
    if (call.rank(0) < 2 || call.rank(1) < 2) call.refuse("of vectors");
    const TensorId a = centred(call, 0, 2, call.rank(0) - 2), b = centred(call, 1, 3, call.rank(1) - 1);
    const auto part = [&](TensorId of, int64_t axis, int64_t first, int64_t last) {
        Shape starts(call.shape_of(of).size(), 0), ends = call.shape_of(of);
        starts[static_cast<size_t>(axis)] = first;
        ends[static_cast<size_t>(axis)] = last;
        return call.add(Op::slice, {of},
                        {{Attr::starts, starts}, {Attr::ends, ends}, {Attr::steps, Shape(starts.size(), 1)}});
    };
    const int64_t inner = call.shape(0).back();
    TensorId sum = no_tensor;
    for (int64_t first = 0; first < std::max<int64_t>(inner, 1); first += kExact) {
        const int64_t last = std::min(inner, first + kExact);
        const bool whole = inner <= kExact;
        const TensorId left = whole ? a : part(a, call.rank(0) - 1, first, last);
        const TensorId right = whole ? b : part(b, call.rank(1) - 2, first, last);
        const TensorId product = call.as(call.add(Op::matmul, {left, right}), DType::i32);
        sum = sum.valid() ? call.add(Op::add, {sum, product}) : product;
    }
    call.result(sum);
}

// Sums of 256 products are exact in f32, longer ones in f64.
void convolution_of_integers(OnnxCall& call) {
    constexpr int64_t kExact = 256;
    TensorId x = centred(call, 0, 2, 1), w = centred(call, 1, 3, 0);
    const Shape& filter = call.shape(1);
    if (!filter.empty() && elements({filter.begin() + 1, filter.end()}) > kExact) {
        x = call.as(x, DType::f64);
        w = call.as(w, DType::f64);
    }
    call.result(call.as(onnx_convolution(call, x, w, no_tensor, 1), DType::i32));
}

// x * w of the numbers beyond their zero points, times what their scales come to; then round and add the zero point of y.
TensorId requantised(OnnxCall& call, TensorId product, TensorId w_scale, size_t x_scale, size_t y_scale,
                     size_t y_zero_point) {
    const TensorId factor = call.add(Op::div, {call.add(Op::mul, {call.as(call.in(x_scale), DType::f32), w_scale}),
                                               call.as(call.in(y_scale), DType::f32)});
    const TensorId zero_point = call.reshaped(call.as(call.in(y_zero_point), DType::f32), {});
    return rounded(call, call.add(Op::mul, {product, factor}), zero_point, call.dtype(y_zero_point));
}

void quantised_matmul(OnnxCall& call) {
    for (const size_t of_one : {1U, 2U, 6U, 7U})
        if (elements(call.shape(of_one)) != 1) call.refuse("scales of rows");
    const TensorId a = centred(call, 0, 2, 0), b = centred(call, 3, 5, call.rank(3) - 1);
    const TensorId b_scale = along(call, 4, call.rank(3) - 1, call.rank(3));
    if (call.rank(0) < 2 || call.rank(3) < 2) call.refuse("of vectors");
    call.result(requantised(call, call.add(Op::matmul, {a, b}), b_scale, 1, 6, 7));
}

void quantised_conv(OnnxCall& call) {
    for (const size_t of_one : {1U, 2U, 6U, 7U})
        if (elements(call.shape(of_one)) != 1) call.refuse("scales of channels of x or y");
    const TensorId x = centred(call, 0, 2, 1), w = centred(call, 3, 5, 0);
    const TensorId bias = call.given(8) ? call.as(call.in(8), DType::f32) : no_tensor;
    call.result(requantised(call, onnx_convolution(call, x, w, bias, 3), along(call, 4, 1, call.rank(0)), 1, 6, 7));
}

constexpr OnnxRuleRow kQuantisedRules[] = {
    {"DequantizeLinear", dequantise},
    {"QuantizeLinear", quantise},
    {"DynamicQuantizeLinear", quantise_by_its_range},
    {"MatMulInteger", product_of_integers},
    {"ConvInteger", convolution_of_integers},
    {"QLinearMatMul", quantised_matmul},
    {"QLinearConv", quantised_conv},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_quantised() { return kQuantisedRules; }

}  // namespace backplane::formats
