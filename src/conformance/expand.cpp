// Expand moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::expand {

namespace {

MoveCase to(const std::string& name, const Shape& x, const std::vector<int64_t>& shape) {
    return {name, x, {{Attr::shape, shape}}};
}

void cases(CaseList& list) {
    move_cases(
        list, {to("3x1x7-to-2x3x5x7", {3, 1, 7}, {2, 3, 5, 7}), to("scalar", {}, {}), to("scalar-to-17", {}, {17}),
               to("one", {1}, {1}), to("same", {3, 5, 7}, {3, 5, 7}), to("1009", {1}, {1009}), to("nothing", {1, 3}, {0, 3}),
               to("of-nothing", {0, 1}, {0, 5}), to("columns", {17, 1}, {17, 67}), to("rows", {67}, {17, 67}),
               to("channels", {16, 1, 1}, {2, 16, 5, 3}), to("fewer-axes", {2, 3, 1}, {5}),
               to("every-second-axis", {1, 2, 1, 3, 1, 2, 1, 2}, {2, 2, 3, 3, 2, 2, 3, 2}),
               to("others", {2, 1, 3, 1, 2, 1, 2, 1}, {2, 2, 3, 3, 2, 2, 2, 3})});
}

}  // namespace

constinit const OpConformance conformance_expand{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::expand
