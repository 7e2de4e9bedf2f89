// SpaceToDepth moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::space_to_depth {

namespace {

MoveCase by(const std::string& name, const Shape& x, int block) { return {name, x, {{Attr::blocksize, block}}}; }

void cases(CaseList& list) {
    move_cases(list, {by("2", {2, 3, 10, 14}, 2), by("1", {1, 3, 5, 7}, 1), by("3", {1, 1, 9, 15}, 3),
                      by("4", {1, 3, 12, 8}, 4), by("2-many-channels", {1, 17, 6, 10}, 2), by("one-pixel", {1, 1, 2, 2}, 2),
                      by("none", {0, 1, 6, 6}, 2), by("no-rows", {1, 1, 0, 6}, 2)});
    // Forth and back.
    list.add("and-back", [](CaseBuilder& b) {
        const TensorId x = b.input({1, 3, 6, 10});
        const TensorId deep = b.add(Op::space_to_depth, {x}, {{Attr::blocksize, 2}});
        b.result(b.add(Op::depth_to_space, {deep}, {{Attr::blocksize, 2}}));
    });
}

}  // namespace

constinit const OpConformance conformance_space_to_depth{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::space_to_depth
