// Div: one rounding, as IEEE 754 has it. What ONNX's quantizing operators divide is rounded once more, to a whole number: a unit decides there.
#include <cmath>

#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::div {

namespace {

// Numbers that are halves of `scale`, as near as f32 comes, and their neighbours: of their quotients some are ties.
std::vector<double> beside_halves(float scale) {
    std::vector<double> all;
    for (int k = -128; k < 128; ++k) {
        const float half = scale * (static_cast<float>(k) + 0.5F);
        for (const float far : {half, 0.0F, 2 * half}) all.push_back(std::nextafter(half, far));
    }
    return all;
}

// As QuantizeLinear becomes a graph.
void quantized(CaseList& list, const std::string& name, float scale) {
    list.add("then-round-by-" + name, [scale](CaseBuilder& b) {
        const Values values{-1, 1, beside_halves(scale)};
        const TensorId x = b.input(DType::f32, {3, 256}, values);
        b.result(b.add(Op::round, {b.add(Op::div, {x, b.input(DType::f32, {}, {scale, scale})})}));
    });
}

// As DynamicQuantizeLinear does, of numbers from -least to range - least: the scale and the zero point are quotients, too.
void quantized_by_range(CaseList& list, const std::string& name, float range, float least) {
    list.add("quantized-" + name, [range, least](CaseBuilder& b) {
        const TensorId whole = b.input(DType::f32, {}, {range, range});
        const TensorId scale = b.add(Op::div, {whole, b.operand(Source::constant, DType::f32, {}, {255, 255})});
        const TensorId below = b.input(DType::f32, {}, {least, least});
        const TensorId zero_point = b.add(Op::round, {b.add(Op::div, {below, scale})});
        const TensorId x = b.input(DType::f32, {3, 256}, {-least, range - least, beside_halves(range / 255)});
        const TensorId steps = b.add(Op::round, {b.add(Op::div, {x, scale})});
        b.result(scale);
        b.result(zero_point);
        b.result(b.add(Op::clip, {b.add(Op::add, {steps, zero_point})}, {{Attr::least, 0.0}, {Attr::most, 255.0}}));
    });
}

void cases(CaseList& list) {
    binary_cases(list, {{-4, 4}, {0.25, 4}, arithmetic_specials()});
    for (const auto& [name, scale] :
         {std::pair{"tenth", 0.1F}, std::pair{"third", 1.0F / 3}, std::pair{"255th", 1.0F / 255},
          std::pair{"5-of-255", 5.0F / 255}, std::pair{"e", 2.7182817F}, std::pair{"1e-4", 1e-4F}})
        quantized(list, name, scale);
    quantized_by_range(list, "5-below-3", 5, 3);  // ONNX's own
    quantized_by_range(list, "1-below-0", 1, 0);
    quantized_by_range(list, "7-below-2.5", 7, 2.5F);
    quantized_by_range(list, "0.3-below-0.1", 0.3F, 0.1F);
}

}  // namespace

constinit const OpConformance conformance_div{cases, bounds::nearest};

}  // namespace backplane::graph::conformance::div
