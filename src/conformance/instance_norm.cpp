// InstanceNorm: as GroupNorm, each channel for itself.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::instance_norm {

namespace {

std::vector<double> bound(const BoundCall& call) {
    return bounds::normalised_maps(call, static_cast<size_t>(call.inputs[0]->shape[1]));
}

struct Plan {
    Shape x;
    DType dtype = DType::f32;
    Source source = Source::input, parameters = Source::weight;
    Values values = {-2, 2};
    double epsilon = 1e-5;
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        const TensorId x = b.operand(p.source, p.dtype, p.x, p.values);
        const TensorId scale = b.operand(p.parameters, p.dtype, {p.x[1]}, {0.5, 2});
        const TensorId bias = b.operand(p.parameters, p.dtype, {p.x[1]});
        b.result(b.add(Op::instance_norm, {x, scale, bias}, {{Attr::epsilon, p.epsilon}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : kFloatsAndDoubles)
        for (const Shape& shape : {Shape{2, 6, 5, 7}, Shape{1, 17, 13}, Shape{1, 4, 3, 2, 5}, Shape{0, 6, 5, 7},
                                   Shape{1, 1, 67, 33}, Shape{2, 64, 5, 3}})
            add(list, text_of(shape) + "-" + name_of(dtype), {shape, dtype});
    add(list, "2x6x5-f64", {{2, 6, 5}, DType::f64});
    for (const Source source : {Source::constant, Source::transposed, Source::strided})
        add(list, std::string("x-") + name_of(source), {{2, 6, 5, 7}, DType::f32, source});
    for (const Source source : {Source::input, Source::constant})
        add(list, std::string("parameters-") + name_of(source), {{2, 6, 5, 7}, DType::f32, Source::input, source});
    add(list, "far-from-zero", {{1, 6, 9, 11}, DType::f32, Source::input, Source::weight, {99, 101}});
    add(list, "constant-maps", {{1, 6, 3, 5}, DType::f32, Source::input, Source::weight, {3, 3}});
    add(list, "epsilon", {{1, 6, 3, 5}, DType::f32, Source::input, Source::weight, {-2, 2}, 0.5});
}

}  // namespace

constinit const OpConformance conformance_instance_norm{cases, bound};

}  // namespace backplane::graph::conformance::instance_norm
