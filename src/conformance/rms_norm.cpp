// RMSNormalization: a sum of squares does not cancel; all is relative to the result.
#include <cmath>

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::rms_norm {

namespace {

std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    const Shape& x = call.inputs[0]->shape;
    const auto n = elements(Shape(x.begin() + AttributeView(call.attributes).integer(Attr::axis), x.end()));
    std::vector<double> result = call.output.data;
    for (double& v : result) v = std::fabs(v) * bounds::units_of_sum(static_cast<double>(n)) * call.unit;
    return result;
}

struct NormCase {
    Shape x;
    int axis = -1;
    DType dtype = DType::f32;
    bool scale = true;
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
        b.result(b.add(Op::rms_norm, {x, scale}, {{Attr::axis, c.axis}, {Attr::epsilon, c.epsilon}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : kFloatsAndDoubles) {
        const std::string type = std::string("-") + backplane::name_of(dtype);
        for (int axis = 0; axis < 4; ++axis)
            add(list, "2x3x5x7-axis-" + std::to_string(axis) + type, {{2, 3, 5, 7}, axis, dtype});
        add(list, "bare" + type, {{5, 67}, -1, dtype, false});
        for (const Shape& shape :
             {Shape{1}, Shape{3, 1}, Shape{17}, Shape{2, 1009}, Shape{0, 5}, Shape{1, 2, 1, 3, 1, 2, 1, 5}})
            add(list, text_of(shape) + type, {shape, -1, dtype});
    }
    add(list, "5x7-f64", {{5, 7}, -1, DType::f64});
    for (const Source source : {Source::constant, Source::transposed, Source::strided})
        add(list, std::string("x-") + name_of(source), {{5, 67}, -1, DType::f32, true, source});
    for (const Source source : {Source::input, Source::constant})
        add(list, std::string("parameters-") + name_of(source), {{5, 67}, -1, DType::f32, true, Source::input, source});
    add(list, "zeros", {{3, 17}, -1, DType::f32, true, Source::input, Source::weight, {0, 0}});
    add(list, "small", {{3, 17}, -1, DType::f32, true, Source::input, Source::weight, {-1e-3, 1e-3}});
    add(list, "epsilon", {{3, 17}, -1, DType::f32, true, Source::input, Source::weight, {-2, 2}, 0.5});
}

}  // namespace

constinit const OpConformance conformance_rms_norm{cases, bound};

}  // namespace backplane::graph::conformance::rms_norm
