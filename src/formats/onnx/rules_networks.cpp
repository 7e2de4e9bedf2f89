// Operators of networks: convolutions, pools, products, recurrent layers, sampling of maps.
#include <algorithm>

#include "backplane/einsum.hpp"
#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

// The window of a convolution or pool, a number for each spatial axis.
struct Window {
    std::vector<int64_t> kernel, strides, dilations, pads;  // pads: of all axes before, then after
    [[nodiscard]] size_t axes() const { return kernel.size(); }
    [[nodiscard]] int64_t reach(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
    // Spreads padding over both ends of an axis; with an odd number there is one more behind, or before.
    void spread(size_t d, int64_t total, bool more_behind) {
        total = std::max<int64_t>(total, 0);
        pads[d] = more_behind ? total / 2 : total - total / 2;
        pads[axes() + d] = total - pads[d];
    }
    [[nodiscard]] std::vector<Attribute> attributes() const {
        return {{Attr::strides, strides}, {Attr::dilations, dilations}, {Attr::pads, pads}};
    }
};

Window window_of(const OnnxCall& call, const Shape& filter) {
    if (call.rank(0) < 3) call.refuse("of fewer than three axes");
    const auto axes = static_cast<size_t>(call.rank(0) - 2);
    Window window{call.list("kernel_shape", filter), call.list("strides", Shape(axes, 1)),
                  call.list("dilations", Shape(axes, 1)), call.list("pads", Shape(2 * axes, 0))};
    if (window.axes() != axes || window.strides.size() != axes || window.dilations.size() != axes ||
        window.pads.size() != 2 * axes)
        call.refuse("lists that are not of the spatial axes");
    constexpr int64_t kMost = int64_t{1} << 31;
    for (const auto* list : {&window.kernel, &window.strides, &window.dilations})
        for (const int64_t number : *list)
            if (number < 1 || number > kMost) call.refuse("a window of " + std::to_string(number));
    return window;
}

bool is_same(const std::string& auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

// Convolutions and pools: SAME has ceil(size / stride) results along an axis.
void pad_to_same(const OnnxCall& call, Window& window) {
    const std::string how = call.text("auto_pad", "NOTSET");
    if (!is_same(how)) return;
    for (size_t d = 0; d < window.axes(); ++d) {
        const int64_t size = call.shape(0)[2 + d], stride = window.strides[d];
        window.spread(d, ((size + stride - 1) / stride - 1) * stride + window.reach(d) - size, how == "SAME_UPPER");
    }
}

Shape spatial(const Shape& shape) {
    return {shape.begin() + std::min<int64_t>(2, static_cast<int64_t>(shape.size())), shape.end()};
}

void conv(OnnxCall& call) { call.result(onnx_convolution(call, call.in(0), call.in(1), call.in(2), 1)); }

// What output_shape, or SAME (size * stride), leaves off the whole result is padding; what it has more is output padding.
void conv_transpose(OnnxCall& call) {
    Window window = window_of(call, spatial(call.shape(1)));
    const std::string how = call.text("auto_pad", "NOTSET");
    const bool same = is_same(how);
    std::vector<int64_t> extra = call.list("output_padding", Shape(window.axes(), 0));
    const std::vector<int64_t> wanted = call.list("output_shape");
    if (extra.size() != window.axes() || (!wanted.empty() && wanted.size() < window.axes()))
        call.refuse("lists that are not of the spatial axes");
    for (size_t d = 0; d < window.axes() && (same || !wanted.empty()); ++d) {
        const int64_t size = call.shape(0)[2 + d], stride = window.strides[d];
        const int64_t out = wanted.empty() ? size * stride : wanted[wanted.size() - window.axes() + d];
        const int64_t cut = stride * (size - 1) + extra[d] + window.reach(d) - out;
        extra[d] += std::max<int64_t>(-cut, 0);
        window.spread(d, cut, how == "SAME_UPPER");
    }
    std::vector<Attribute> attributes = window.attributes();
    attributes.emplace_back(Attr::group, call.integer("group", 1));
    attributes.emplace_back(Attr::output_padding, extra);
    call.result(call.add(Op::conv_transpose, {call.in(0), call.in(1), call.in(2)}, attributes));
}

void pool(OnnxCall& call) {
    Window window = window_of(call, {});
    pad_to_same(call, window);
    const bool mean = call.node.op == "AveragePool";
    std::vector<Attribute> attributes = window.attributes();
    attributes.emplace_back(Attr::kernel_shape, window.kernel);
    attributes.emplace_back(Attr::ceil_mode, call.integer("ceil_mode", 0));
    if (mean) attributes.emplace_back(Attr::count_include_pad, call.integer("count_include_pad", 0));
    const DType dtype = call.dtype(0);
    const bool small = !mean && (dtype == DType::u8 || dtype == DType::i8);  // f32 has all of their numbers
    const TensorId x = small ? call.as(call.in(0), DType::f32) : call.in(0);
    const int64_t first_is_innermost = mean ? 0 : call.integer("storage_order", 0);
    if (call.wants(0)) call.result(call.as(call.add(mean ? Op::average_pool : Op::max_pool, {x}, attributes), dtype));
    if (mean || !call.wants(1)) return;
    attributes.emplace_back(Attr::storage_order, first_is_innermost);
    call.result(call.add(Op::max_pool_indices, {x}, attributes), 1);
}

void global_max_pool(OnnxCall& call) {
    std::vector<int64_t> axes;
    for (int64_t d = 2; d < call.rank(0); ++d) axes.push_back(d);
    call.result(call.add(Op::reduce_max, {call.in(0)}, {{Attr::axes, axes}, {Attr::keepdims, 1}}));
}

// ---- norms: the p-th root of a sum of p-th powers ---------------------------------------------------------------------------

TensorId power_of(OnnxCall& call, int64_t p) {
    const TensorId size = call.add(Op::abs, {call.in(0)});
    if (p == 1) return size;
    return p == 2 ? call.add(Op::mul, {size, size})
                  : call.add(Op::pow, {size, call.scalar(static_cast<double>(p), call.dtype(0))});
}
TensorId root_of(OnnxCall& call, TensorId sum, int64_t p) {
    if (p == 1) return sum;
    return p == 2 ? call.add(Op::sqrt, {sum})
                  : call.add(Op::pow, {sum, call.scalar(1.0 / static_cast<double>(p), call.dtype(0))});
}
int64_t power_given(const OnnxCall& call) {
    const int64_t p = call.integer("p", 2);
    if (p < 1) call.refuse("p " + std::to_string(p));
    return p;
}

void lp_pool(OnnxCall& call) {
    const int64_t p = power_given(call);
    Window window = window_of(call, {});
    pad_to_same(call, window);
    if (call.integer("ceil_mode", 0) != 0) call.refuse("ceil_mode 1");
    std::vector<Attribute> attributes = window.attributes();
    attributes.emplace_back(Attr::kernel_shape, window.kernel);
    attributes.emplace_back(Attr::count_include_pad, 1);
    const TensorId mean = call.add(Op::average_pool, {power_of(call, p)}, attributes);
    const TensorId count = call.scalar(static_cast<double>(elements(window.kernel)), call.dtype(0));
    call.result(root_of(call, call.add(Op::mul, {mean, count}), p));
}

void global_lp_pool(OnnxCall& call) {
    const int64_t p = power_given(call);
    std::vector<int64_t> axes;
    for (int64_t d = 2; d < call.rank(0); ++d) axes.push_back(d);
    const TensorId sum = call.add(Op::reduce_sum, {power_of(call, p)}, {{Attr::axes, axes}, {Attr::keepdims, 1}});
    call.result(root_of(call, sum, p));
}

// Of zeros: zeros.
void lp_normalization(OnnxCall& call) {
    const int64_t p = power_given(call), axis = call.axis(call.integer("axis", -1), call.rank(0));
    if (p > 2) call.refuse("p " + std::to_string(p));
    const TensorId sum =
        call.add(Op::reduce_sum, {power_of(call, p)}, {{Attr::axes, std::vector<int64_t>{axis}}, {Attr::keepdims, 1}});
    const TensorId norm = root_of(call, sum, p), zero = call.scalar(0, call.dtype(0));
    const TensorId by = call.add(Op::where, {call.add(Op::equal, {norm, zero}), call.scalar(1, call.dtype(0)), norm});
    call.result(call.add(Op::div, {call.in(0), by}));
}

void matmul(OnnxCall& call) {
    TensorId a = call.in(0), b = call.in(1);
    const bool row = call.rank(0) == 1, column = call.rank(1) == 1;  // numpy's: a vector is a row in front, a column behind
    if (row) a = call.reshaped(a, {1, call.shape(0)[0]});
    if (column) b = call.reshaped(b, {call.shape(1)[0], 1});
    TensorId product = call.add(Op::matmul, {a, b});
    Shape shape = call.shape_of(product);
    if (column) shape.pop_back();
    if (row) shape.erase(shape.end() - (column ? 1 : 2));
    if (row || column) product = call.reshaped(product, shape);
    call.result(product);
}

void gemm(OnnxCall& call) {
    const DType dtype = call.dtype(0);
    const auto scaled = [&](TensorId tensor, const char* name) {
        const double factor = call.number(name, 1);
        return factor == 1 ? tensor : call.add(Op::mul, {tensor, call.scalar(factor, dtype)});
    };
    TensorId result =
        call.add(Op::matmul, {call.in(0), call.in(1)},
                 {{Attr::transpose_a, call.integer("transA", 0)}, {Attr::transpose_b, call.integer("transB", 0)}});
    result = scaled(result, "alpha");
    static_cast<void>(call.number("beta", 1));
    if (call.given(2)) result = call.add(Op::add, {result, scaled(call.in(2), "beta")});
    call.result(result);
}

void einsum_of(OnnxCall& call) { call.result(einsum(call.graph, call.text("equation", ""), call.all())); }

int64_t direction_of(const OnnxCall& call) {
    const std::string direction = call.text("direction", "forward");
    if (direction == "forward") return BP_DIRECTION_FORWARD;
    if (direction == "reverse") return BP_DIRECTION_REVERSE;
    if (direction == "bidirectional") return BP_DIRECTION_BIDIRECTIONAL;
    call.refuse("direction " + direction);
}

void recurrent(OnnxCall& call) {
    const bool lstm = call.node.op == "LSTM";
    std::vector<int64_t> activations;
    for (const std::string& name : call.texts("activations")) {
        const Op op = op_from_name(name);
        if (op == Op::unknown) call.refuse("activation " + name);
        activations.push_back(static_cast<int64_t>(op));
    }
    std::vector<Attribute> attributes = {{Attr::direction, direction_of(call)},
                                         {Attr::activations, activations},
                                         {Attr::clip, call.number("clip", 0)},
                                         {Attr::hidden_size, call.integer("hidden_size", 0)},
                                         {Attr::layout, call.integer("layout", 0)}};
    const Attr own = lstm ? Attr::input_forget : Attr::linear_before_reset;
    attributes.emplace_back(own, call.integer(name_of(own), 0));
    const std::vector<TensorId> made = call.graph.add_all(lstm ? Op::lstm : Op::gru, call.all(), attributes);
    for (size_t i = 0; i < made.size(); ++i) call.result(made[i], i);
}

void grid_sample(OnnxCall& call) {
    const std::string mode = call.text("mode", "bilinear"), padding = call.text("padding_mode", "zeros");
    const int64_t how = mode == "bilinear" || mode == "linear" ? BP_SAMPLE_LINEAR
                        : mode == "bicubic" || mode == "cubic" ? BP_SAMPLE_CUBIC
                                                               : BP_SAMPLE_NEAREST;
    if (how == BP_SAMPLE_NEAREST && mode != "nearest") call.refuse("mode " + mode);
    const int around = padding == "border"       ? BP_SAMPLE_BORDER
                       : padding == "reflection" ? BP_SAMPLE_REFLECTION
                                                 : BP_SAMPLE_ZEROS;
    call.result(call.add(
        Op::grid_sample, {call.in(0), call.in(1)},
        {{Attr::mode, how}, {Attr::padding_mode, around}, {Attr::align_corners, call.integer("align_corners", 0)}}));
}

void roi_align(OnnxCall& call) {
    const std::string mode = call.text("mode", "avg");
    const std::string from =
        call.text("coordinate_transformation_mode", call.opset < 16 ? "output_half_pixel" : "half_pixel");
    if (mode != "avg" && mode != "max") call.refuse("mode " + mode);
    if (from != "half_pixel" && from != "output_half_pixel") call.refuse("coordinate_transformation_mode " + from);
    call.result(
        call.add(Op::roi_align, {call.in(0), call.in(1), call.in(2)},
                 {{Attr::sizes, std::vector<int64_t>{call.integer("output_height", 1), call.integer("output_width", 1)}},
                  {Attr::mode, mode == "max" ? BP_ROI_MAX : BP_ROI_AVERAGE},
                  {Attr::sampling_ratio, call.integer("sampling_ratio", 0)},
                  {Attr::scale, call.number("spatial_scale", 1)},
                  {Attr::coordinates, from == "half_pixel" ? BP_COORDINATES_HALF_PIXEL : BP_COORDINATES_ASYMMETRIC}}));
}

// x / (bias + alpha * the mean of squares over `size` neighbouring channels)^beta; channels that are not there are zeros.
void local_response(OnnxCall& call) {
    const Shape shape = call.shape(0);
    if (shape.size() < 3) call.refuse("of fewer than three axes");
    const int64_t size = call.integer("size", 0), before = (size - 1) / 2;
    if (size < 1) call.refuse("of " + std::to_string(size) + " channels");
    const DType dtype = call.dtype(0);
    const TensorId x = call.in(0);
    const TensorId squares =
        call.reshaped(call.add(Op::mul, {x, x}), {shape[0], 1, shape[1], elements({shape.begin() + 2, shape.end()})});
    const TensorId mean = call.add(Op::average_pool, {squares},
                                   {{Attr::kernel_shape, std::vector<int64_t>{size, 1}},
                                    {Attr::strides, std::vector<int64_t>{1, 1}},
                                    {Attr::pads, std::vector<int64_t>{before, 0, size - 1 - before, 0}},
                                    {Attr::count_include_pad, 1}});
    const TensorId scaled = call.add(Op::mul, {call.reshaped(mean, shape), call.scalar(call.number("alpha", 1e-4), dtype)});
    const TensorId base = call.add(Op::add, {scaled, call.scalar(call.number("bias", 1), dtype)});
    call.result(call.add(Op::div, {x, call.add(Op::pow, {base, call.scalar(call.number("beta", 0.75), dtype)})}));
}

// Of matrices of up to three rows, written out.
void determinant(OnnxCall& call) {
    const Shape shape = call.shape(0);
    const size_t rank = shape.size();
    if (rank < 2 || shape[rank - 1] != shape[rank - 2] || shape[rank - 1] < 1 || shape[rank - 1] > 3)
        call.refuse("of other matrices than those of one to three rows and as many columns");
    const int64_t n = shape.back();
    Shape flat(shape.begin(), shape.end() - 2);
    const Shape result = flat;
    flat.push_back(n * n);
    const TensorId all = call.reshaped(call.in(0), flat);
    const auto m = [&](int64_t row, int64_t column) {
        return call.reshaped(call.picked(all, {row * n + column}, static_cast<int64_t>(rank) - 2), result);
    };
    const auto of_two = [&](int64_t row, int64_t i, int64_t j) {
        return call.add(Op::sub,
                        {call.add(Op::mul, {m(row, i), m(row + 1, j)}), call.add(Op::mul, {m(row, j), m(row + 1, i)})});
    };
    if (n == 1) return call.result(m(0, 0));
    if (n == 2) return call.result(of_two(0, 0, 1));
    const TensorId first = call.add(Op::mul, {m(0, 0), of_two(1, 1, 2)}),
                   second = call.add(Op::mul, {m(0, 1), of_two(1, 0, 2)}),
                   third = call.add(Op::mul, {m(0, 2), of_two(1, 0, 1)});
    call.result(call.add(Op::add, {call.add(Op::sub, {first, second}), third}));
}

constexpr OnnxRuleRow kNetworksRules[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", pool},
    {"AveragePool", pool},
    {"GlobalAveragePool", onnx_same},
    {"GlobalMaxPool", global_max_pool},
    {"LpPool", lp_pool},
    {"GlobalLpPool", global_lp_pool},
    {"LpNormalization", lp_normalization},
    {"MatMul", matmul},
    {"Gemm", gemm},
    {"Einsum", einsum_of},
    {"LSTM", recurrent},
    {"GRU", recurrent},
    {"GridSample", grid_sample},
    {"RoiAlign", roi_align},
    {"LRN", local_response},
    {"Det", determinant},
};

}  // namespace

TensorId onnx_convolution(OnnxCall& call, TensorId x, TensorId w, TensorId bias, size_t filter) {
    Window window = window_of(call, spatial(call.shape(filter)));
    pad_to_same(call, window);
    std::vector<Attribute> attributes = window.attributes();
    attributes.emplace_back(Attr::group, call.integer("group", 1));
    return call.add(Op::conv, {x, w, bias}, attributes);
}

std::span<const OnnxRuleRow> onnx_rules_networks() { return kNetworksRules; }

}  // namespace backplane::formats
