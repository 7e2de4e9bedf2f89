#include "conformance/softmax_cases.hpp"

namespace backplane::graph {

namespace {

struct SoftmaxCase {
    Shape x;
    int axis = -1;
    DType dtype = DType::f32;
    Source source = Source::input;
    Values values = {-4, 4};
};

void add(CaseList& list, const std::string& name, const SoftmaxCase& c) {
    list.add(name, [c, op = list.op()](CaseBuilder& b) {
        b.result(b.add(op, {b.operand(c.source, c.dtype, c.x, c.values)}, {{Attr::axis, c.axis}}));
    });
}

}  // namespace

void softmax_cases(CaseList& list) {
    for (int axis = 0; axis < 4; ++axis)
        for (const DType dtype : kFloatsAndDoubles)
            add(list, "2x3x5x7-axis-" + std::to_string(axis) + "-" + backplane::name_of(dtype), {{2, 3, 5, 7}, axis, dtype});
    for (const Shape& shape : {Shape{1}, Shape{17}, Shape{1009}, Shape{3, 1}, Shape{67, 129}, Shape{0, 3}, Shape{3, 0},
                               Shape{0}, Shape{1, 2, 1, 3, 1, 2, 1, 5}})
        for (const DType dtype : {DType::f32, DType::f16})
            add(list, text_of(shape) + "-" + backplane::name_of(dtype), {shape, -1, dtype});
    add(list, "channels", {{1, 17, 5, 3}, 1});
    add(list, "7-f64", {{7}, 0, DType::f64});
    add(list, "0x3-f64", {{0, 3}, 0, DType::f64});
    add(list, "minus-infinity-f64", {{2, 19}, 1, DType::f64, Source::input, {-1, 1, {-kInfinity, 0, -kInfinity, 1}}});
    add(list, "minus-infinity-throughout-a-row-f64",
        {{2, 19}, 1, DType::f64, Source::input, {-1, 1, std::vector<double>(19, -kInfinity)}});
    add(list, "nan-stays-in-its-row-f64", {{3, 5}, 1, DType::f64, Source::input, {-1, 1, {0, 1, kNaN}}});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        for (const int axis : {0, 2})
            add(list, std::string(name_of(source)) + "-axis-" + std::to_string(axis), {{3, 5, 7}, axis, DType::f32, source});
    add(list, "large-logits", {{3, 37}, 1, DType::f32, Source::input, {900, 1000}});
    add(list, "equal-logits", {{3, 37}, 1, DType::f32, Source::input, {2, 2}});
    // As a mask of attention does it: what is not to be seen has no weight at all.
    add(list, "minus-infinity",
        {{2, 19}, 1, DType::f32, Source::input, {-1, 1, {-kInfinity, 0, -kInfinity, 1, -kInfinity}}});
    add(list, "minus-infinity-throughout-a-row",
        {{2, 19}, 1, DType::f32, Source::input, {-1, 1, std::vector<double>(19, -kInfinity)}});
    add(list, "minus-infinity-throughout-columns",
        {{3, 37}, 0, DType::f32, Source::input, {-1, 1, std::vector<double>(3 * 37, -kInfinity)}});
    add(list, "nan-stays-in-its-row", {{3, 5}, 1, DType::f32, Source::input, {-1, 1, {0, 1, kNaN}}});
}

double units_of_exponentials(const BoundCall& call) {
    const ReferenceTensor& x = *call.inputs[0];
    const auto axis = static_cast<size_t>(AttributeView(call.attributes).integer(Attr::axis));
    return bounds::units_of_sum(static_cast<double>(x.shape[axis])) + 4 * (bounds::spread_of(x) + 2);
}

}  // namespace backplane::graph
