// ReduceProd: of nothing 1. Each product is rounded; factors near 1 keep all products within the range of float32.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_prod {

namespace {

void cases(CaseList& list) {
    reduce_cases(list, {.empties = true, .special = true, .floats = {0.9, 1.1}, .wide = false});
    for (const DType dtype : {DType::f32, DType::i32, DType::i64})
        list.add(std::string("signs-") + name_of(dtype), [=](CaseBuilder& b) {
            // Odd whole numbers: powers of two would end as 0.
            const Values values{1, 1, {-1, 3, -5, 7, 9, -11, -13, 15, 17, -1, -1, -3, 5, -7, 19, 21, 23, -25, 27, -29, 31}};
            b.result(b.add(Op::reduce_prod, {b.input(dtype, {3, 7}, values)}, {{Attr::axes, std::vector<int64_t>{1}}}));
        });
}

}  // namespace

constinit const OpConformance conformance_reduce_prod{cases, reduced_relative};

}  // namespace backplane::graph::conformance::reduce_prod
