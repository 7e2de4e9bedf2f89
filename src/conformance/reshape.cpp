// Reshape moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::reshape {

namespace {

std::vector<Attribute> to(std::vector<int64_t> shape) { return {{Attr::shape, std::move(shape)}}; }

void cases(CaseList& list) {
    move_cases(list, {{"2x3x5x7-to-30x7", {2, 3, 5, 7}, to({30, 7})},
                      {"scalar-to-one", {}, to({1})},
                      {"one-to-scalar", {1, 1, 1}, to({})},
                      {"none", {0, 3}, to({5, 0})},
                      {"flat", {2, 3, 5, 7}, to({210})},
                      {"heads", {3, 32}, to({1, 3, 4, 8})},
                      {"channels", {1, 16, 5, 3}, to({1, 4, 4, 5, 3})},
                      {"rank-8", {2, 12, 35}, to({2, 3, 1, 4, 5, 1, 7, 1})},
                      {"same", {3, 5, 7}, to({3, 5, 7})}});
    list.add("of-channels-between-convolutions-of-pixels", [](CaseBuilder& b) {
        const TensorId x = b.add(Op::relu, {b.input({1, 16, 5, 3})});
        const TensorId flat = b.add(Op::reshape, {x}, to({16, 15}));
        b.result(b.add(Op::neg, {b.add(Op::reshape, {flat}, to({1, 4, 20, 3}))}));
    });
    list.add("input-is-returned", [](CaseBuilder& b) {
        const TensorId x = b.input({4, 6});
        b.result(b.add(Op::reshape, {x}, to({24})));
        b.result(b.add(Op::reshape, {x}, to({2, 12})));
    });
}

}  // namespace

constinit const OpConformance conformance_reshape{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::reshape
