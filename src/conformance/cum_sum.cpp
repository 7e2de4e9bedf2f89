// CumSum: a sum of as many terms as the axis has, at most. The scale is the sum of magnitudes.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::cum_sum {

namespace {

std::vector<double> bound(const BoundCall& call) {
    const auto axis = static_cast<size_t>(AttributeView(call.attributes).integer(Attr::axis));
    return bounds::sum(call, static_cast<double>(call.inputs[0]->shape[axis]));
}

struct Plan {
    Shape x;
    int64_t axis = 0;
    DType dtype = DType::f32;
    Source source = Source::input;
    Values values = usual_values(dtype);
};

// Each way and with or without the element itself.
void add(CaseList& list, const std::string& name, const Plan& p) {
    for (const int exclusive : {0, 1})
        for (const int reverse : {0, 1}) {
            const std::string how = std::string(exclusive != 0 ? "-exclusive" : "") + (reverse != 0 ? "-reverse" : "");
            list.add(name + how, [=](CaseBuilder& b) {
                b.result(b.add(Op::cum_sum, {b.operand(p.source, p.dtype, p.x, p.values)},
                               {{Attr::axis, p.axis}, {Attr::exclusive, exclusive}, {Attr::reverse, reverse}}));
            });
        }
}

void cases(CaseList& list) {
    for (int axis = 0; axis < 4; ++axis) add(list, "2x3x5x7-axis-" + std::to_string(axis), {{2, 3, 5, 7}, axis});
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64})
        add(list, std::string("3x17-") + name_of(dtype), {{3, 17}, 1, dtype});
    for (int axis = 0; axis < 3; ++axis)
        add(list, "3x70x5-axis-" + std::to_string(axis) + "-f64", {{3, 70, 5}, axis, DType::f64});
    add(list, "0x3-f64", {{0, 3}, 0, DType::f64});
    for (const Shape& shape : {Shape{1}, Shape{17}, Shape{4099}, Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{67, 129}})
        add(list, text_of(shape), {shape});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, name_of(source), {{5, 7}, 1, DType::f32, source});
    add(list, "wraps", {{2, 9}, 1, DType::i32, Source::input, {2000000000, 2100000000}});
    add(list, "rank-8", {{1, 2, 1, 3, 1, 2, 1, 5}, 3});
    // What comes behind NaN or two infinities of different signs is NaN, what comes before is not.
    add(list, "special",
        {{2, 9}, 1, DType::f32, Source::input, {-1, 1, {1, kInfinity, 1, -kInfinity, 1, 1, 1, 1, 1, 0.5, 0.25, kNaN}}});
}

}  // namespace

constinit const OpConformance conformance_cum_sum{cases, bound};

}  // namespace backplane::graph::conformance::cum_sum
