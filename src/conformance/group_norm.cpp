// GroupNorm: as LayerNorm, over groups of channels.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::group_norm {

namespace {

std::vector<double> bound(const BoundCall& call) {
    return bounds::normalised_maps(call, static_cast<size_t>(AttributeView(call.attributes).integer(Attr::groups)));
}

struct NormCase {
    Shape x;
    int groups = 1;
    DType dtype = DType::f32;
    bool scale = true, bias = true;
    Source source = Source::input, parameters = Source::weight;
    Values values = {-2, 2};
    double epsilon = 1e-5;
};

void add(CaseList& list, const std::string& name, const NormCase& c) {
    list.add(name, [c](CaseBuilder& b) {
        const TensorId x = b.operand(c.source, c.dtype, c.x, c.values);
        const TensorId scale = c.scale ? b.operand(c.parameters, c.dtype, {c.x[1]}, {0.5, 2}) : no_tensor;
        const TensorId bias = c.bias ? b.operand(c.parameters, c.dtype, {c.x[1]}) : no_tensor;
        b.result(b.add(Op::group_norm, {x, scale, bias}, {{Attr::groups, c.groups}, {Attr::epsilon, c.epsilon}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : kFloatsAndDoubles) {
        const std::string type = std::string("-") + backplane::name_of(dtype);
        for (const int groups : {1, 2, 3, 6})
            add(list, "2x6x5x7-by-" + std::to_string(groups) + type, {{2, 6, 5, 7}, groups, dtype});
        add(list, "no-bias" + type, {{2, 6, 5, 7}, 2, dtype, true, false});
        add(list, "no-scale" + type, {{2, 6, 5, 7}, 2, dtype, false, true});
        add(list, "bare" + type, {{2, 6, 5, 7}, 2, dtype, false, false});
        add(list, "rank-2" + type, {{3, 32}, 4, dtype});
        add(list, "rank-3" + type, {{1, 17, 13}, 1, dtype});
        add(list, "rank-5" + type, {{1, 4, 3, 2, 5}, 2, dtype});
        add(list, "one-pixel" + type, {{1, 32, 1, 1}, 8, dtype});
        add(list, "empty" + type, {{0, 6, 5, 7}, 2, dtype});
        add(list, "many-channels" + type, {{1, 64, 5, 3}, 32, dtype});
    }
    add(list, "2x6x5-f64", {{2, 6, 5}, 2, DType::f64});
    for (const Source source : {Source::constant, Source::transposed, Source::strided})
        add(list, std::string("x-") + name_of(source), {{2, 6, 5, 7}, 3, DType::f32, true, true, source});
    for (const Source source : {Source::input, Source::constant})
        add(list, std::string("parameters-") + name_of(source),
            {{2, 6, 5, 7}, 3, DType::f32, true, true, Source::input, source});
    add(list, "far-from-zero", {{1, 6, 9, 11}, 3, DType::f32, true, true, Source::input, Source::weight, {99, 101}});
    add(list, "constant-maps", {{1, 6, 3, 5}, 2, DType::f32, true, true, Source::input, Source::weight, {3, 3}});
    add(list, "epsilon", {{1, 6, 3, 5}, 2, DType::f32, true, true, Source::input, Source::weight, {-2, 2}, 0.5});
}

}  // namespace

constinit const OpConformance conformance_group_norm{cases, bound};

}  // namespace backplane::graph::conformance::group_norm
