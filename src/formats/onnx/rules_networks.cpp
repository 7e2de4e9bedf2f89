// Operators of networks: convolutions, pools, products, recurrent layers, sampling of maps.
#include <algorithm>
#include <cmath>

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

void conv(OnnxCall& call) {
    Window window = window_of(call, spatial(call.shape(1)));
    pad_to_same(call, window);
    std::vector<Attribute> attributes = window.attributes();
    attributes.emplace_back(Attr::group, call.integer("group", 1));
    call.result(call.add(Op::conv, {call.in(0), call.in(1), call.in(2)}, attributes));
}

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
    call.result(call.as(call.add(mean ? Op::average_pool : Op::max_pool, {x}, attributes), dtype));
}

void global_max_pool(OnnxCall& call) {
    std::vector<int64_t> axes;
    for (int64_t d = 2; d < call.rank(0); ++d) axes.push_back(d);
    call.result(call.add(Op::reduce_max, {call.in(0)}, {{Attr::axes, axes}, {Attr::keepdims, 1}}));
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

// ---- Resize -------------------------------------------------------------------------------------------------------------------

// One axis of a Resize as ONNX has it.
struct ResizedAxis {
    int64_t size = 0, wanted = 0;
    double scale = 1;

    // The place in x of a place in y. False: of a kind that is not known.
    [[nodiscard]] bool place(const std::string& coordinates, int64_t i, double& p) const {
        const auto x = static_cast<double>(i);
        if (coordinates == "asymmetric") {
            p = x / scale;
        } else if (coordinates == "half_pixel" || (coordinates == "pytorch_half_pixel" && wanted > 1)) {
            p = (x + 0.5) / scale - 0.5;
        } else if (coordinates == "pytorch_half_pixel") {
            p = 0;
        } else if (coordinates == "tf_half_pixel_for_nn") {
            p = (x + 0.5) / scale;
        } else if (coordinates == "align_corners") {
            p = wanted == 1 ? 0 : x * static_cast<double>(size - 1) / (scale * static_cast<double>(size) - 1);
        } else {
            return false;
        }
        return true;
    }
    [[nodiscard]] int64_t clamped(double p) const { return std::clamp<int64_t>(static_cast<int64_t>(p), 0, size - 1); }
};

double rounded(double p, const std::string& mode) {
    if (mode == "floor") return std::floor(p);
    if (mode == "ceil") return std::ceil(p);
    return mode == "round_prefer_ceil" ? std::floor(p + 0.5) : std::ceil(p - 0.5);
}

struct OurCoordinates {
    const char* name;
    int number;
    const char* nearest;
};
constexpr OurCoordinates kCoordinates[] = {{"asymmetric", BP_COORDINATES_ASYMMETRIC, "floor"},
                                           {"half_pixel", BP_COORDINATES_HALF_PIXEL, "round_prefer_ceil"},
                                           {"align_corners", BP_COORDINATES_ALIGN_CORNERS, "round_prefer_ceil"},
                                           {"pytorch_half_pixel", BP_COORDINATES_PYTORCH_HALF_PIXEL, "round_prefer_ceil"}};

// The element of x that each of y is. Empty: of a kind that is not known.
std::vector<int64_t> picks(const ResizedAxis& axis, const std::string& coordinates, const std::string& mode) {
    std::vector<int64_t> positions;
    double p = 0;
    for (int64_t i = 0; i < axis.wanted && axis.place(coordinates, i, p); ++i)
        positions.push_back(axis.clamped(rounded(p, mode)));
    return positions;
}

// Whether our op picks along all axes the elements that ONNX says.
bool picks_alike(const std::vector<ResizedAxis>& axes, const std::string& coordinates, const std::string& mode,
                 const OurCoordinates& ours) {
    return std::all_of(axes.begin(), axes.end(), [&](const ResizedAxis& axis) {
        ResizedAxis whole = axis;  // our op knows no scale but this
        whole.scale = static_cast<double>(axis.wanted) / static_cast<double>(axis.size);
        return picks(axis, coordinates, mode) == picks(whole, ours.name, ours.nearest);
    });
}

std::vector<int64_t> sizes_of(const std::vector<ResizedAxis>& axes) {
    std::vector<int64_t> sizes;
    for (const ResizedAxis& axis : axes) sizes.push_back(axis.wanted);
    return sizes;
}

// Before opset 11, and as Upsample: other defaults, and operands x and scales alone.
bool is_old(const OnnxCall& call) { return call.opset < 11 || call.node.op == "Upsample"; }

std::string coordinates_of(const OnnxCall& call) {
    return call.text("coordinate_transformation_mode", is_old(call) ? "asymmetric" : "half_pixel");
}

// Where our op rounds otherwise, the elements are picked one axis after the other.
TensorId nearest(OnnxCall& call, const std::vector<ResizedAxis>& axes) {
    const std::string name = coordinates_of(call),
                      mode = call.text("nearest_mode", is_old(call) ? "floor" : "round_prefer_floor");
    for (const OurCoordinates& ours : kCoordinates)
        if (picks_alike(axes, name, mode, ours))
            return call.add(
                Op::resize, {call.in(0)},
                {{Attr::sizes, sizes_of(axes)}, {Attr::mode, BP_RESIZE_NEAREST}, {Attr::coordinates, ours.number}});
    TensorId result = call.in(0);
    for (size_t d = 0; d < axes.size(); ++d) {
        const std::vector<int64_t> positions = picks(axes[d], name, mode);
        if (positions.empty()) call.refuse("coordinate_transformation_mode " + name);
        result = call.picked(result, positions, static_cast<int64_t>(2 + d));
    }
    return result;
}

int smooth_coordinates(const OnnxCall& call, const std::vector<ResizedAxis>& axes) {
    const std::string name = coordinates_of(call);
    const bool whole = std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& axis) {
        return std::abs(axis.scale * static_cast<double>(axis.size) - static_cast<double>(axis.wanted)) < 1e-3;
    });
    if (!whole) call.refuse("a scale that makes no whole number of elements");
    for (const OurCoordinates& ours : kCoordinates)
        if (name == ours.name) return ours.number;
    call.refuse("coordinate_transformation_mode " + name);
}

std::vector<ResizedAxis> axes_of(const OnnxCall& call) {
    const bool pair = is_old(call);
    const size_t scales_at = pair ? 1 : 2;
    const std::vector<double> scales = call.given(scales_at) ? call.numbers(scales_at) : std::vector<double>();
    const std::vector<int64_t> sizes = !pair && call.given(3) ? call.integers(3) : std::vector<int64_t>();
    const Shape& shape = call.shape(0);
    if (shape.size() < 3 || (scales.size() != shape.size() && sizes.size() != shape.size())) call.refuse("not of all axes");
    std::vector<ResizedAxis> axes;
    for (size_t d = 0; d < shape.size(); ++d) {
        const auto size = static_cast<double>(shape[d]);
        const double scale = sizes.empty() ? scales[d] : static_cast<double>(sizes[d]) / size;
        if (!(scale > 0 && scale < 1e6)) call.refuse("by " + std::to_string(scale));
        const int64_t wanted = sizes.empty() ? static_cast<int64_t>(std::floor(size * scale + 1e-6)) : sizes[d];
        if (d < 2 && wanted != shape[d]) call.refuse("of samples or channels");
        if (wanted < 1) call.refuse("to nothing");
        if (d >= 2) axes.push_back({shape[d], wanted, scale});
    }
    return axes;
}

void resize(OnnxCall& call) {
    const std::string mode = call.text("mode", "nearest");
    const int number = mode == "nearest" ? BP_RESIZE_NEAREST : mode == "cubic" ? BP_RESIZE_CUBIC : BP_RESIZE_LINEAR;
    if (call.text("coordinate_transformation_mode", "") == "tf_crop_and_resize")
        call.refuse("coordinate_transformation_mode tf_crop_and_resize");
    if (call.integer("antialias", 0) != 0) call.refuse("antialias");
    const std::vector<ResizedAxis> axes = axes_of(call);
    static_cast<void>(call.number("extrapolation_value", 0));  // of tf_crop_and_resize
    const double a = call.number("cubic_coeff_a", -0.75);
    const int64_t outside = call.integer("exclude_outside", 0);
    static_cast<void>(call.text("nearest_mode", ""));
    if (number == BP_RESIZE_NEAREST) return call.result(nearest(call, axes));
    std::vector<Attribute> attributes = {
        {Attr::sizes, sizes_of(axes)}, {Attr::mode, number}, {Attr::coordinates, smooth_coordinates(call, axes)}};
    if (number == BP_RESIZE_CUBIC) {
        attributes.emplace_back(Attr::cubic_coeff_a, a);
        attributes.emplace_back(Attr::exclude_outside, outside);
    }
    call.result(call.add(Op::resize, {call.in(0)}, attributes));
}

constexpr OnnxRuleRow kNetworksRules[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", pool},
    {"AveragePool", pool},
    {"GlobalAveragePool", onnx_same},
    {"GlobalMaxPool", global_max_pool},
    {"MatMul", matmul},
    {"Gemm", gemm},
    {"Einsum", einsum_of},
    {"LSTM", recurrent},
    {"GRU", recurrent},
    {"GridSample", grid_sample},
    {"Resize", resize},
    {"Upsample", resize},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_networks() { return kNetworksRules; }

}  // namespace backplane::formats
