// Transpose moves elements: exact, and the same bytes.
#include <algorithm>

#include "conformance/moves.hpp"

namespace backplane::graph::conformance::transpose {

namespace {

using List = std::vector<int64_t>;

std::vector<Attribute> order(List perm) { return {{Attr::perm, std::move(perm)}}; }

void cases(CaseList& list) {
    std::vector<MoveCase> all = {{"2x3x5x7-3120", {2, 3, 5, 7}, order({3, 1, 2, 0})},
                                 {"scalar", {}, order({})},
                                 {"17", {17}, order({0})},
                                 {"none", {3, 0, 5}, order({2, 0, 1})},
                                 {"1x1", {1, 1}, order({1, 0})},
                                 {"row", {1, 101}, order({1, 0})},
                                 {"67x129", {67, 129}, order({1, 0})},
                                 {"to-channels-last", {2, 17, 9, 5}, order({0, 2, 3, 1})},
                                 {"from-channels-last", {2, 9, 5, 17}, order({0, 3, 1, 2})},
                                 {"heads", {2, 7, 4, 8}, order({0, 2, 1, 3})},
                                 {"rank-8", {2, 3, 1, 2, 3, 2, 1, 5}, order({7, 2, 5, 0, 6, 1, 4, 3})}};
    List perm = {0, 1, 2};
    do {
        std::string name = "3x5x7-";
        for (const int64_t axis : perm) name += std::to_string(axis);
        all.push_back({name, {3, 5, 7}, order(perm)});
    } while (std::next_permutation(perm.begin(), perm.end()));
    move_cases(list, all);
    list.add("there-and-back", [](CaseBuilder& b) {
        const TensorId once = b.add(Op::transpose, {b.input({3, 5, 7})}, order({1, 2, 0}));
        b.result(b.add(Op::transpose, {once}, order({2, 0, 1})));
    });
    // Of something made before, rows that can be moved by eight, four and two bytes at once, or not.
    for (const DType dtype : {DType::f16, DType::f32, DType::u8})
        for (const int64_t size : {16, 12, 6, 5})
            list.add("heads-of-" + std::to_string(size) + "-made-before-" + backplane::name_of(dtype), [=](CaseBuilder& b) {
                const TensorId made =
                    b.add(Op::concat, {b.input(dtype, {2, 3, 4, size}), b.input(dtype, {2, 4, 4, size})}, {{Attr::axis, 1}});
                const TensorId turned = b.add(Op::transpose, {made}, order({0, 2, 1, 3}));
                b.result(b.add(Op::concat, {turned, turned}, {{Attr::axis, 2}}));
                const TensorId part =
                    b.add(Op::slice, {made}, {{Attr::starts, {0, 1, 0, 4}}, {Attr::ends, {2, 7, 3, size}}});
                b.result(b.add(Op::concat, {part, part}, {{Attr::axis, 0}}));
            });
}

}  // namespace

constinit const OpConformance conformance_transpose{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::transpose
