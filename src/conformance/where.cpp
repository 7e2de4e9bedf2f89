// Where moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::where {

namespace {

struct Plan {
    Shape condition, x, y;
    DType dtype = DType::f32;
    Source condition_source = Source::input, x_source = Source::input, y_source = Source::input;
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        const TensorId condition = b.operand(p.condition_source, DType::boolean, p.condition, {0, 1, {1, 0, 0, 1, 1, 0}});
        const TensorId x = b.operand(p.x_source, p.dtype, p.x, moved_values(p.dtype));
        b.result(b.add(Op::where, {condition, x, b.operand(p.y_source, p.dtype, p.y, moved_values(p.dtype))}));
    });
}

void cases(CaseList& list) {
    using enum Source;
    const std::vector<Plan> shapes = {{{}, {}, {}},
                                      {{1}, {1}, {1}},
                                      {{17}, {17}, {17}},
                                      {{1009}, {1009}, {1009}},
                                      {{0}, {0}, {0}},
                                      {{0}, {1}, {}},
                                      {{3, 5}, {}, {}},
                                      {{}, {3, 5}, {3, 5}},
                                      {{}, {}, {3, 5}},
                                      {{3, 1}, {1, 5}, {}},
                                      {{5}, {3, 1}, {2, 1, 1}},
                                      {{2, 1, 5, 7}, {2, 3, 5, 7}, {}},
                                      {{1, 1, 5, 7}, {2, 3, 5, 7}, {3, 1, 1}},
                                      {{2, 3, 5, 7}, {1, 3, 1, 1}, {7}},
                                      {{1, 16, 1, 1}, {1, 16, 5, 7}, {1, 16, 5, 7}},
                                      {{2, 1, 2, 1, 2, 1, 2, 1}, {1, 3, 1, 2, 1, 3, 1, 2}, {2, 1, 1, 2, 2}}};
    for (const Plan& p : shapes) add(list, text_of(p.condition) + "-" + text_of(p.x) + "-" + text_of(p.y), p);
    for (const DType dtype : kPlain) {
        add(list, std::string("3x5x7-") + name_of(dtype), {{3, 5, 7}, {3, 5, 7}, {3, 5, 7}, dtype});
        add(list, std::string("mask-") + name_of(dtype), {{5, 7}, {2, 3, 5, 7}, {}, dtype});
    }
    for (const Source source : {weight, constant, transposed, strided}) {
        const std::string name = name_of(source);
        add(list, name + "-condition", {{3, 5, 7}, {3, 5, 7}, {7}, DType::f32, source});
        add(list, name + "-x", {{3, 1, 7}, {3, 5, 7}, {3, 5, 7}, DType::f32, input, source});
        add(list, name + "-y", {{3, 5, 7}, {5, 1}, {3, 5, 7}, DType::f16, input, input, source});
        add(list, name + "-all", {{3, 5, 7}, {3, 5, 7}, {3, 5, 7}, DType::f32, source, source, source});
    }
    list.add("by-a-comparison", [](CaseBuilder& b) {
        const TensorId x = b.input({3, 67});
        const TensorId y = b.input({3, 67});
        b.result(b.add(Op::where, {b.add(Op::less, {x, y}), x, y}));
    });
    list.add("map-behind-a-convolution", [](CaseBuilder& b) {
        const TensorId x = b.input({1, 8, 9, 11});
        const TensorId map = b.add(Op::conv, {x, b.weight(DType::f32, {8, 8, 3, 3})}, {{Attr::pads, {1, 1, 1, 1}}});
        b.result(b.add(Op::where, {b.input(DType::boolean, {1, 8, 9, 11}), map, x}));
    });
}

}  // namespace

constinit const OpConformance conformance_where{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::where
