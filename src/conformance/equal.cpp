// Equal is a judgement: exact. Of truth values, too.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::equal {

namespace {

void cases(CaseList& list) {
    comparison_cases(list);
    for (const Shapes& shapes : {Shapes{{}, {}}, Shapes{{67}, {67}}, Shapes{{3, 1}, {1, 5}}, Shapes{{0}, {1}}})
        list.add(text_of(shapes.first) + "-" + text_of(shapes.second) + "-bool", [=](CaseBuilder& b) {
            const TensorId left = b.input(DType::boolean, shapes.first, {0, 1, {0, 0, 1, 1}});
            b.result(b.add(Op::equal, {left, b.input(DType::boolean, shapes.second, {0, 1, {0, 1, 0, 1}})}));
        });
}

}  // namespace

constinit const OpConformance conformance_equal{cases, bounds::exact};

}  // namespace backplane::graph::conformance::equal
