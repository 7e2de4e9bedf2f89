// Concat moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::concat {

namespace {

using enum Source;

struct Part {
    Shape shape;
    Source source = input;
};

void add(CaseList& list, const std::string& name, const std::vector<Part>& parts, int axis, DType dtype = DType::f32) {
    list.add(name, [=](CaseBuilder& b) {
        std::vector<TensorId> inputs;
        for (const Part& part : parts) inputs.push_back(b.operand(part.source, dtype, part.shape, moved_values(dtype)));
        b.result(b.add(Op::concat, inputs, {{Attr::axis, axis}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : kPlain) {
        add(list, std::string("3x2x7-3x5x7-") + name_of(dtype), {{{3, 2, 7}}, {{3, 5, 7}}}, 1, dtype);
        add(list, std::string("views-") + name_of(dtype), {{{3, 5}, transposed}, {{3, 2}, strided}, {{3, 1}, constant}}, 1,
            dtype);
    }
    add(list, "one", {{{3, 5}}}, 0);
    add(list, "vectors", {{{17}}, {{1}}, {{0}}, {{101}}}, 0);
    add(list, "nothing", {{{0, 3}}, {{0, 3}}}, 0);
    add(list, "batch", {{{1, 3, 5, 7}}, {{2, 3, 5, 7}}}, 0);
    add(list, "channels", {{{2, 16, 5, 3}}, {{2, 17, 5, 3}}, {{2, 1, 5, 3}}}, 1);
    add(list, "channels-of-16", {{{1, 16, 5, 3}}, {{1, 32, 5, 3}}}, 1);
    add(list, "rows", {{{1, 16, 2, 3}}, {{1, 16, 5, 3}}}, 2);
    add(list, "columns", {{{1, 3, 5, 2}}, {{1, 3, 5, 9}}}, 3);
    add(list, "weights", {{{5, 3}, weight}, {{5, 4}}, {{5, 2}, weight}}, 1);
    add(list, "rank-8", {{{2, 1, 3, 1, 2, 1, 2, 3}}, {{2, 1, 3, 1, 4, 1, 2, 3}}}, 4);
    add(list, "forty-parts", std::vector<Part>(40, Part{{2, 3}}), 1);
    list.add("the-same-twice", [](CaseBuilder& b) {
        const TensorId x = b.input({2, 3, 5});
        b.result(b.add(Op::concat, {x, x}, {{Attr::axis, 1}}));
    });
    list.add("of-concats", [](CaseBuilder& b) {
        const TensorId x = b.input({1, 16, 3, 5});
        const TensorId first = b.add(Op::concat, {x, b.add(Op::relu, {x})}, {{Attr::axis, 1}});
        const TensorId second = b.add(Op::concat, {first, b.add(Op::neg, {first})}, {{Attr::axis, 1}});
        b.result(second);
        b.result(b.add(Op::abs, {first}));
    });
}

}  // namespace

constinit const OpConformance conformance_concat{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::concat
