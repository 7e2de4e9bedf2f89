// What operators of opset 6 have otherwise than those of 7 and later: the axis at which a second operand begins to broadcast, and whether it does;
// whether a network is trained.
#include <algorithm>
#include <array>
#include <optional>

#include "formats/onnx/attributes.hpp"
#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

// The shape by which a second operand broadcasts from its last axis on, where it begins at axis `first` of the other; nothing: it has that.
std::optional<Shape> aligned(const OnnxCall& call, int64_t first) {
    const int64_t behind = call.rank(0) - first - call.rank(1);
    if (behind < 0) call.refuse("an operand of " + std::to_string(call.rank(1)) + " axes at axis " + std::to_string(first));
    if (behind == 0) return std::nullopt;
    Shape shape = call.shape(1);
    shape.insert(shape.end(), at(behind), 1);
    return shape;
}

bool is_of_two(const OnnxNode& node) {
    constexpr std::array<std::string_view, 11> kOps = {"Add", "Sub", "Mul",   "Div",  "Pow",    "And",
                                                       "Or",  "Xor", "Equal", "Less", "Greater"};
    return std::find(kOps.begin(), kOps.end(), node.op) != kOps.end();
}

std::optional<Shape> shape_of_second(const OnnxCall& call) {
    if (!call.given(0) || !call.given(1)) return std::nullopt;
    if (call.node.op == "PRelu")  // a slope for each channel
        return call.rank(1) == 1 && call.shape(1) != Shape{1} && call.rank(0) > 1 ? aligned(call, 1) : std::nullopt;
    if (!is_of_two(call.node) || !call.has("axis")) return std::nullopt;
    return aligned(call, call.axis(call.integer("axis", 0), call.rank(0)));
}

// The attributes that later opsets have.
OnnxNode of_today(const OnnxCall& call) {
    OnnxNode node = call.node;
    const bool trains = node.op == "BatchNormalization" || node.op == "Dropout";
    if (trains && onnx_integer(node, "is_test", 0) == 0) call.refuse("is_test 0");
    if (trains) node.attributes.erase("is_test");
    if (is_of_two(node) || node.op == "Gemm") node.attributes.erase("broadcast");
    if (is_of_two(node)) node.attributes.erase("axis");
    return node;
}

}  // namespace

void onnx_apply(OnnxRule rule, OnnxCall& call) {
    if (call.opset >= 7) return onnx_apply_as_of_7(rule, call);
    const OnnxNode node = of_today(call);
    OnnxCall today = call.with(node);
    const std::optional<Shape> shape = shape_of_second(call);
    if (!shape) return onnx_apply_as_of_7(rule, today);
    const TensorId second = today.reshaped(today.in(1), *shape);
    today.with_operand(1, second, call.is_unsigned(1), [&] { onnx_apply_as_of_7(rule, today); });
}

}  // namespace backplane::formats
