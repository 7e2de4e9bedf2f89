// MaxPool picks an element: exact. NaN in a window gives NaN.
#include "conformance/pool.hpp"

namespace backplane::graph::conformance::max_pool {

namespace {

void cases(CaseList& list) {
    pool_cases(list);
    for (const DType dtype : kFloatsAndDoubles)
        add_pool(list, std::string("special-") + name_of(dtype),
                 {{1, 2, 5, 9},
                  {{Attr::kernel_shape, std::vector<int64_t>{2, 2}}, {Attr::pads, std::vector<int64_t>{1, 1, 1, 1}}},
                  dtype,
                  Source::input,
                  {-4, -2, {kNaN, -1, kInfinity, -kInfinity, -kInfinity, -1, 0, -0.0}}});
    list.add("between-convolutions", [](CaseBuilder& b) {
        const TensorId map = b.add(Op::conv, {b.input({1, 8, 11, 9}), b.weight(DType::f32, {16, 8, 3, 3})});
        const std::vector<int64_t> two{2, 2};
        const TensorId half =
            b.add(Op::max_pool, {b.add(Op::relu, {map})}, {{Attr::kernel_shape, two}, {Attr::strides, two}});
        b.result(b.add(Op::conv, {half, b.weight(DType::f32, {8, 16, 3, 3})}));
    });
}

}  // namespace

constinit const OpConformance conformance_max_pool{cases, bounds::exact};

}  // namespace backplane::graph::conformance::max_pool
