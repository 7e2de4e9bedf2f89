// Equal is a judgement: exact. Of truth values, too.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::equal {

namespace {

void cases(CaseList& list) {
    comparison_cases(list);
    for (const auto& [a, b] : {Shapes{{}, {}}, Shapes{{67}, {67}}, Shapes{{3, 1}, {1, 5}}, Shapes{{0}, {1}}})
        list.add(text_of(a) + "-" + text_of(b) + "-bool", [=](CaseBuilder& builder) {
            const TensorId left = builder.input(DType::boolean, a, {0, 1, {0, 0, 1, 1}});
            builder.result(builder.add(Op::equal, {left, builder.input(DType::boolean, b, {0, 1, {0, 1, 0, 1}})}));
        });
}

}  // namespace

constinit const OpConformance conformance_equal{cases, bounds::exact};

}  // namespace backplane::graph::conformance::equal
