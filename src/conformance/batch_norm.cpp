// BatchNorm: backends fold it into x * factor + shift, so each of the three parts may lose its own units.
#include <cmath>

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::batch_norm {

namespace {

std::vector<double> bound(const BoundCall& call) {
    const ReferenceTensor& x = *call.inputs[0];
    const auto value = [&](size_t input, size_t c) { return call.inputs[input]->data[c]; };
    for (size_t k = 1; k < 5; ++k)
        if (call.errors[k] != nullptr) bounds::require_exact_inputs(call);
    const auto channels = static_cast<size_t>(x.shape[1]);
    const auto map = static_cast<size_t>(elements(Shape(x.shape.begin() + 2, x.shape.end())));
    std::vector<double> result(x.data.size());
    for (size_t i = 0; i < result.size(); ++i) {
        const size_t c = i / map % channels;
        const double factor =
            std::fabs(value(1, c)) / std::sqrt(value(4, c) + AttributeView(call.attributes).number(Attr::epsilon));
        result[i] = 8 * call.unit * ((std::fabs(x.data[i]) + std::fabs(value(3, c))) * factor + std::fabs(value(2, c)));
        if (call.errors[0] != nullptr) result[i] += call.errors[0]->data[i] * factor;
    }
    return result;
}

struct NormCase {
    Shape x;
    DType dtype = DType::f32;
    Source source = Source::input, parameters = Source::weight;
    Values values = {-2, 2};
    double epsilon = 1e-5;
};

TensorId normed(CaseBuilder& b, TensorId x, const Shape& channels, const NormCase& c) {
    const TensorId scale = b.operand(c.parameters, c.dtype, channels, {-2, 2});
    const TensorId bias = b.operand(c.parameters, c.dtype, channels);
    const TensorId mean = b.operand(c.parameters, c.dtype, channels);
    const TensorId variance = b.operand(c.parameters, c.dtype, channels, {0.25, 4});
    return b.add(Op::batch_norm, {x, scale, bias, mean, variance}, {{Attr::epsilon, c.epsilon}});
}

void add(CaseList& list, const std::string& name, const NormCase& c) {
    list.add(name, [c](CaseBuilder& b) { b.result(normed(b, b.operand(c.source, c.dtype, c.x, c.values), {c.x[1]}, c)); });
}

void cases(CaseList& list) {
    for (const DType dtype : kFloatsAndDoubles)
        for (const Shape& shape :
             {Shape{2, 3, 5, 7}, Shape{1, 16, 5, 3}, Shape{1, 17, 9, 11}, Shape{3, 5}, Shape{1, 1}, Shape{2, 7, 13},
              Shape{1, 3, 2, 3, 5}, Shape{0, 3, 5, 7}, Shape{2, 3, 0, 7}, Shape{1, 3, 1, 2, 1, 2, 1, 2}})
            add(list, text_of(shape) + "-" + backplane::name_of(dtype), {shape, dtype});
    add(list, "2x3x5-f64", {{2, 3, 5}, DType::f64});
    for (const Source source : {Source::constant, Source::transposed, Source::strided})
        add(list, std::string("x-") + name_of(source), {{2, 6, 5, 7}, DType::f32, source});
    for (const Source source : {Source::input, Source::constant})
        add(list, std::string("parameters-") + name_of(source), {{2, 6, 5, 7}, DType::f32, Source::input, source});
    add(list, "far-from-zero", {{1, 6, 9, 11}, DType::f32, Source::input, Source::weight, {99, 101}});
    add(list, "epsilon", {{1, 6, 3, 5}, DType::f32, Source::input, Source::weight, {-2, 2}, 0.5});
    list.add("after-conv", [](CaseBuilder& b) {
        const TensorId x = b.input({1, 8, 7, 9});
        const TensorId y = b.add(Op::conv, {x, b.weight(DType::f32, {16, 8, 3, 3})}, {{Attr::pads, {1, 1, 1, 1}}});
        b.result(b.add(Op::relu, {normed(b, y, {16}, {})}));
    });
}

}  // namespace

constinit const OpConformance conformance_batch_norm{cases, bound};

}  // namespace backplane::graph::conformance::batch_norm
