// LayerNorm: x - mean cancels, so the scale is that of both before, times the factor; see bounds::normalised.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::layer_norm {

namespace {

std::vector<double> bound(const BoundCall& call) {
    const AttributeView attributes(call.attributes);
    const Shape& x = call.inputs[0]->shape;
    const auto n = static_cast<size_t>(elements(Shape(x.begin() + attributes.integer(Attr::axis), x.end())));
    return bounds::normalised(call, n, attributes.number(Attr::epsilon), [n](size_t i) { return i % n; });
}

struct NormCase {
    Shape x;
    int axis = -1;
    DType dtype = DType::f32;
    bool scale = true, bias = true;
    Source source = Source::input, parameters = Source::weight;
    Values values = {-2, 2};
    double epsilon = 1e-5;
};

void add(CaseList& list, const std::string& name, const NormCase& c) {
    list.add(name, [c](CaseBuilder& b) {
        const TensorId x = b.operand(c.source, c.dtype, c.x, c.values);
        const size_t axis = c.axis < 0 ? c.x.size() - 1 : static_cast<size_t>(c.axis);
        const Shape rest(c.x.begin() + static_cast<ptrdiff_t>(axis), c.x.end());
        const TensorId scale = c.scale ? b.operand(c.parameters, c.dtype, rest, {0.5, 2}) : no_tensor;
        const TensorId bias = c.bias ? b.operand(c.parameters, c.dtype, rest) : no_tensor;
        b.result(b.add(Op::layer_norm, {x, scale, bias}, {{Attr::axis, c.axis}, {Attr::epsilon, c.epsilon}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : kFloatsAndDoubles) {
        const std::string type = std::string("-") + backplane::name_of(dtype);
        for (int axis = 0; axis < 4; ++axis)
            add(list, "2x3x5x7-axis-" + std::to_string(axis) + type, {{2, 3, 5, 7}, axis, dtype});
        add(list, "no-bias" + type, {{5, 67}, -1, dtype, true, false});
        add(list, "no-scale" + type, {{5, 67}, -1, dtype, false, true});
        add(list, "bare" + type, {{5, 67}, -1, dtype, false, false});
        for (const Shape& shape : {Shape{1}, Shape{3, 1}, Shape{17}, Shape{2, 1009}, Shape{3, 1024}, Shape{5, 72},
                                   Shape{2, 1331}, Shape{0, 5}, Shape{1, 2, 1, 3, 1, 2, 1, 5}})
            add(list, text_of(shape) + type, {shape, -1, dtype});
    }
    add(list, "5x7-f64", {{5, 7}, -1, DType::f64});
    for (const Source source : {Source::constant, Source::transposed, Source::strided})
        add(list, std::string("x-") + name_of(source), {{5, 67}, -1, DType::f32, true, true, source});
    for (const Source source : {Source::input, Source::constant})
        add(list, std::string("parameters-") + name_of(source),
            {{5, 67}, -1, DType::f32, true, true, Source::input, source});
    add(list, "far-from-zero", {{3, 129}, -1, DType::f32, true, true, Source::input, Source::weight, {99, 101}});
    add(list, "constant-rows", {{3, 17}, -1, DType::f32, true, true, Source::input, Source::weight, {3, 3}});
    add(list, "small", {{3, 17}, -1, DType::f32, true, true, Source::input, Source::weight, {-1e-3, 1e-3}});
    add(list, "epsilon", {{3, 17}, -1, DType::f32, true, true, Source::input, Source::weight, {-2, 2}, 0.5});
}

}  // namespace

constinit const OpConformance conformance_layer_norm{cases, bound};

}  // namespace backplane::graph::conformance::layer_norm
