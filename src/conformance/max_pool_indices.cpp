// MaxPoolIndices is a choice: exact. Of equal elements, and of NaN, the first.
#include "conformance/bounds.hpp"
#include "conformance/pool.hpp"

namespace backplane::graph::conformance::max_pool_indices {

namespace {

using List = std::vector<int64_t>;

void cases(CaseList& list) {
    pool_cases(list);
    pool_cases(list, {{Attr::storage_order, 1}}, "-first-axis-innermost");
    for (const DType dtype : kFloatsAndDoubles) {
        const std::vector<Attribute> window = {{Attr::kernel_shape, List{2, 2}}, {Attr::pads, List{1, 1, 1, 1}}};
        const Values special{
            -4, -2, {kNaN, -1, kInfinity, -kInfinity, -kInfinity, -1, 0, -0.0, kNaN, 5, kNaN, 5, -kInfinity}};
        add_pool(list, std::string("special-") + name_of(dtype), {{1, 2, 5, 9}, window, dtype, Source::input, special});
        add_pool(list, std::string("all-equal-") + name_of(dtype), {{1, 2, 5, 9}, window, dtype, Source::input, {1, 1}});
        add_pool(list, std::string("all-least-") + name_of(dtype),
                 {{1, 1, 3, 4}, window, dtype, Source::input, {0, 0, std::vector<double>(12, -kInfinity)}});
    }
    // The window in the corner lies on padding alone.
    add_pool(
        list, "nothing-but-padding",
        {{1, 2, 3, 5}, {{Attr::kernel_shape, List{2, 2}}, {Attr::pads, List{2, 2, 3, 2}}, {Attr::strides, List{2, 2}}}});
    // Behind an op that this one may be computed with, whose result is read twice.
    list.add("beside-the-values", [](CaseBuilder& b) {
        const std::vector<Attribute> two = {{Attr::kernel_shape, List{2, 2}}, {Attr::strides, List{2, 2}}};
        const TensorId map = b.add(Op::relu, {b.input({1, 8, 12, 10})});
        b.result(b.add(Op::max_pool, {map}, two));
        b.result(b.add(Op::max_pool_indices, {map}, two));
    });
}

}  // namespace

constinit const OpConformance conformance_max_pool_indices{cases, bounds::exact};

}  // namespace backplane::graph::conformance::max_pool_indices
