// Slice moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::slice {

namespace {

using List = std::vector<int64_t>;

std::vector<Attribute> window(List starts, List ends, List steps) {
    return {{Attr::starts, std::move(starts)}, {Attr::ends, std::move(ends)}, {Attr::steps, std::move(steps)}};
}

void cases(CaseList& list) {
    move_cases(list, {{"steps-3x5x7", {3, 5, 7}, window({1, 0, 2}, {3, 5, 7}, {1, 2, 3})},
                      {"all", {3, 5, 7}, window({0, 0, 0}, {3, 5, 7}, {1, 1, 1})},
                      {"one", {17}, window({16}, {17}, {1})},
                      {"scalar", {}, window({}, {}, {})},
                      {"none", {5, 3}, window({2, 0}, {2, 3}, {1, 1})},
                      {"of-none", {0, 3}, window({0, 1}, {0, 3}, {1, 1})},
                      {"step-past-the-end", {5}, window({1}, {5}, {100})},
                      {"rows", {101, 13}, window({50, 0}, {99, 13}, {1, 1})},
                      {"columns", {101, 13}, window({0, 5}, {101, 6}, {1, 1})},
                      {"channels", {2, 17, 5, 7}, window({0, 3, 0, 0}, {2, 16, 5, 7}, {1, 1, 1, 1})},
                      {"crop", {1, 3, 11, 13}, window({0, 0, 2, 3}, {1, 3, 9, 10}, {1, 1, 1, 1})},
                      {"every-second-pixel", {1, 3, 11, 13}, window({0, 0, 1, 0}, {1, 3, 11, 13}, {1, 1, 2, 2})},
                      {"batch", {5, 2, 3}, window({1, 0, 0}, {5, 2, 3}, {3, 1, 1})},
                      {"rank-8",
                       {2, 3, 2, 3, 2, 3, 1, 2},
                       window({1, 0, 0, 1, 0, 0, 0, 0}, {2, 3, 2, 3, 2, 3, 1, 2}, {1, 2, 1, 1, 1, 2, 1, 1})}});
    list.add("of-a-slice", [](CaseBuilder& b) {
        const TensorId once = b.add(Op::slice, {b.input({11, 13})}, window({1, 2}, {11, 13}, {2, 3}));
        b.result(b.add(Op::slice, {once}, window({1, 1}, {4, 4}, {2, 1})));
    });
    list.add("two-halves-of-one", [](CaseBuilder& b) {
        const TensorId x = b.input({2, 6, 5, 3});
        b.result(b.add(Op::slice, {x}, window({0, 0, 0, 0}, {2, 3, 5, 3}, {1, 1, 1, 1})));
        b.result(b.add(Op::slice, {x}, window({0, 3, 0, 0}, {2, 6, 5, 3}, {1, 1, 1, 1})));
    });
}

}  // namespace

constinit const OpConformance conformance_slice{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::slice
