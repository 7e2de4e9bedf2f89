// GlobalAveragePool: a mean. The scale is the mean of magnitudes.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::global_average_pool {

namespace {

void add(CaseList& list, const std::string& name, const Shape& shape, DType dtype, Source source = Source::input) {
    list.add(name, [=](CaseBuilder& b) { b.result(b.add(Op::global_average_pool, {b.operand(source, dtype, shape)})); });
}

void cases(CaseList& list) {
    for (const DType dtype : kFloatsAndDoubles)
        for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 17, 13}, Shape{1, 4, 3, 2, 5}, Shape{1, 1, 1, 1},
                                   Shape{0, 3, 5, 7}, Shape{1, 64, 7, 7}})
            add(list, text_of(shape) + "-" + name_of(dtype), shape, dtype);
    add(list, "2x3x67x129-f32", {2, 3, 67, 129}, DType::f32);
    add(list, "no-pixels", {2, 3, 0, 7}, DType::f32);
    add(list, "2x6x5-f64", {2, 6, 5}, DType::f64);
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, name_of(source), {2, 6, 5, 7}, DType::f32, source);
    list.add("behind-a-convolution", [](CaseBuilder& b) {
        const TensorId map = b.add(Op::conv, {b.input({1, 8, 9, 11}), b.weight(DType::f32, {16, 8, 3, 3})});
        b.result(b.add(Op::global_average_pool, {map}));
    });
}

}  // namespace

constinit const OpConformance conformance_global_average_pool{cases, reduced_sum};

}  // namespace backplane::graph::conformance::global_average_pool
