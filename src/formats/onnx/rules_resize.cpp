// Resize and Upsample: our op where its places are ONNX's, else picks, weights and sums.
#include <algorithm>
#include <cmath>

#include "formats/onnx/call.hpp"
#include "graph/ops/support/cubic.hpp"

namespace backplane::formats {
namespace {

// One axis of a Resize as ONNX has it.
struct ResizedAxis {
    int64_t size = 0, wanted = 0;
    double scale = 1;
    double start = 0, end = 1;  // of what tf_crop_and_resize takes, as parts of the axis

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
        } else if (coordinates == "tf_crop_and_resize") {
            const double part =
                wanted == 1 ? (start + end) / 2 : start + x * (end - start) / static_cast<double>(wanted - 1);
            p = part * static_cast<double>(size - 1);
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

// What our op calls these places. Null: it has no such ones; its scale is always that of the sizes.
const OurCoordinates* ours(const std::vector<ResizedAxis>& axes, const std::string& coordinates) {
    const bool whole = std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& axis) {
        return std::abs(axis.scale * static_cast<double>(axis.size) - static_cast<double>(axis.wanted)) < 1e-3;
    });
    const auto* found = std::find_if(std::begin(kCoordinates), std::end(kCoordinates),
                                     [&](const OurCoordinates& known) { return coordinates == known.name; });
    return whole && found != std::end(kCoordinates) ? found : nullptr;
}

// One of the two or four elements that each place of a result lies among, and its weight.
struct ResizeTap {
    std::vector<int64_t> at;
    std::vector<double> weight;
};

std::vector<ResizeTap> taps_of(const OnnxCall& call, const ResizedAxis& axis, bool cubic) {
    const std::string coordinates = coordinates_of(call);
    const double a = call.number("cubic_coeff_a", -0.75);
    const bool exclude = cubic && call.integer("exclude_outside", 0) != 0;
    std::vector<ResizeTap> taps(cubic ? 4 : 2);
    for (int64_t i = 0; i < axis.wanted; ++i) {
        double p = 0;
        if (!axis.place(coordinates, i, p)) call.refuse("coordinate_transformation_mode " + coordinates);
        const auto last = static_cast<double>(axis.size - 1);
        p = cubic ? std::clamp(p, -2.0, last + 2) : std::clamp(p, 0.0, last);
        const auto first = static_cast<int64_t>(std::floor(p)) + 1 - static_cast<int64_t>(taps.size() / 2);
        double total = 0;
        for (size_t k = 0; k < taps.size(); ++k) {
            const int64_t at = first + static_cast<int64_t>(k);
            const double away = std::abs(p - static_cast<double>(at));
            const bool left_out = exclude && (at < 0 || at >= axis.size);
            taps[k].at.push_back(std::clamp<int64_t>(at, 0, axis.size - 1));
            taps[k].weight.push_back(left_out ? 0 : cubic ? graph::cubic_weight(away, a) : 1 - away);
            total += taps[k].weight.back();
        }
        for (ResizeTap& tap : taps) tap.weight.back() /= exclude && total != 0 ? total : 1;
    }
    return taps;
}

// A number for each position of an axis, which broadcasts over the others of x.
TensorId along(OnnxCall& call, size_t axis, DType dtype, const std::vector<double>& numbers) {
    Shape shape(static_cast<size_t>(call.rank(0)) - axis, 1);
    shape.front() = static_cast<int64_t>(numbers.size());
    return onnx_constant(call.graph, onnx_tensor(dtype, shape, numbers));
}

// Linear and cubic where our op has no such places: elements are picked, weighed and summed one axis after the other.
TensorId weighed(OnnxCall& call, const std::vector<ResizedAxis>& axes, bool cubic) {
    const DType dtype = call.dtype(0), wide = dtype == DType::f64 ? dtype : DType::f32;
    TensorId result = call.as(call.in(0), wide);
    for (size_t d = 0; d < axes.size(); ++d) {
        TensorId sum = no_tensor;
        for (const ResizeTap& tap : taps_of(call, axes[d], cubic)) {
            if (std::all_of(tap.weight.begin(), tap.weight.end(), [](double weight) { return weight == 0; })) continue;
            const TensorId part = call.add(
                Op::mul, {call.picked(result, tap.at, static_cast<int64_t>(2 + d)), along(call, 2 + d, wide, tap.weight)});
            sum = sum.valid() ? call.add(Op::add, {sum, part}) : part;
        }
        result = sum;
    }
    return call.as(result, dtype);
}

TensorId smooth(OnnxCall& call, const std::vector<ResizedAxis>& axes, bool cubic) {
    const OurCoordinates* known = ours(axes, coordinates_of(call));
    if (known == nullptr) return weighed(call, axes, cubic);
    std::vector<Attribute> attributes = {{Attr::sizes, sizes_of(axes)},
                                         {Attr::mode, cubic ? BP_RESIZE_CUBIC : BP_RESIZE_LINEAR},
                                         {Attr::coordinates, known->number}};
    if (cubic) {
        attributes.emplace_back(Attr::cubic_coeff_a, call.number("cubic_coeff_a", -0.75));
        attributes.emplace_back(Attr::exclude_outside, call.integer("exclude_outside", 0));
    }
    return call.add(Op::resize, {call.in(0)}, attributes);
}

// tf_crop_and_resize: a number in place of what lies beside x.
TensorId extrapolated(OnnxCall& call, TensorId result, const std::vector<ResizedAxis>& axes) {
    const DType dtype = call.dtype(0);
    const TensorId number = call.scalar(call.number("extrapolation_value", 0), dtype);
    for (size_t d = 0; d < axes.size(); ++d) {
        std::vector<double> beside;
        double p = 0;
        for (int64_t i = 0; i < axes[d].wanted && axes[d].place("tf_crop_and_resize", i, p); ++i)
            beside.push_back(p < 0 || p > static_cast<double>(axes[d].size - 1) ? 1 : 0);
        if (std::find(beside.begin(), beside.end(), 1.0) == beside.end()) continue;
        result = call.add(Op::where, {along(call, 2 + d, DType::boolean, beside), number, result});
    }
    return result;
}

std::vector<ResizedAxis> axes_of(const OnnxCall& call) {
    const bool pair = is_old(call);
    const size_t scales_at = pair ? 1 : 2;
    const OnnxAttribute* factors = call.opset < 9 ? call.attribute("scales") : nullptr;  // of Upsample
    const std::vector<double> scales = factors != nullptr      ? factors->numbers
                                       : call.given(scales_at) ? call.numbers(scales_at)
                                                               : std::vector<double>();
    const std::vector<int64_t> sizes = !pair && call.given(3) ? call.integers(3) : std::vector<int64_t>();
    const Shape& shape = call.shape(0);
    if (shape.size() < 3 || (scales.size() != shape.size() && sizes.size() != shape.size())) call.refuse("not of all axes");
    const bool crops = coordinates_of(call) == "tf_crop_and_resize";
    const std::vector<double> region = crops ? call.numbers(1) : std::vector<double>();
    if (crops && (pair || region.size() != 2 * shape.size())) call.refuse("a region that is not of all axes");
    std::vector<ResizedAxis> axes;
    for (size_t d = 0; d < shape.size(); ++d) {
        const double start = crops ? region[d] : 0, end = crops ? region[shape.size() + d] : 1;
        if (!(std::abs(start) < 1e6 && std::abs(end) < 1e6)) call.refuse("a region without bounds");
        if (d < 2 && (start != 0 || end != 1)) call.refuse("of samples or channels");
        const double size = static_cast<double>(shape[d]) * (sizes.empty() ? end - start : 1);
        const double scale = sizes.empty() ? scales[d] : static_cast<double>(sizes[d]) / size;
        if (!(scale > 0 && scale < 1e6)) call.refuse("by " + std::to_string(scale));
        const double most = sizes.empty() ? size * scale : static_cast<double>(sizes[d]);
        if (!(std::abs(most) < 0x1p24)) call.refuse("to " + std::to_string(most) + " elements along an axis");
        const int64_t wanted = sizes.empty() ? static_cast<int64_t>(std::floor(size * scale + 1e-6)) : sizes[d];
        if (d < 2 && wanted != shape[d]) call.refuse("of samples or channels");
        if (wanted < 1) call.refuse("to nothing");
        if (d >= 2) axes.push_back({shape[d], wanted, scale, start, end});
    }
    return axes;
}

void resize(OnnxCall& call) {
    const std::string mode = call.text("mode", "nearest");
    if (call.integer("antialias", 0) != 0) call.refuse("antialias");
    const std::vector<ResizedAxis> axes = axes_of(call);
    for (const char* of_other_modes : {"extrapolation_value", "cubic_coeff_a", "exclude_outside", "nearest_mode"})
        static_cast<void>(call.attribute(of_other_modes));
    const TensorId result = mode == "nearest" ? nearest(call, axes) : smooth(call, axes, mode == "cubic");
    call.result(coordinates_of(call) == "tf_crop_and_resize" ? extrapolated(call, result, axes) : result);
}

constexpr OnnxRuleRow kResizeRules[] = {
    {"Resize", resize},
    {"Upsample", resize},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_resize() { return kResizeRules; }

}  // namespace backplane::formats
