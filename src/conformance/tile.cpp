// Tile moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::tile {

namespace {

MoveCase by(const std::string& name, const Shape& x, const std::vector<int64_t>& repeats) {
    return {name, x, {{Attr::repeats, repeats}}};
}

void cases(CaseList& list) {
    move_cases(list,
               {by("3x5x7-by-2x1x3", {3, 5, 7}, {2, 1, 3}), by("scalar", {}, {}), by("one", {1}, {1}),
                by("one-1009-times", {1}, {1009}), by("17-3-times", {17}, {3}), by("once", {3, 5, 7}, {1, 1, 1}),
                by("no-times", {3, 5}, {2, 0}), by("of-nothing", {0, 5}, {3, 2}), by("rows", {5, 67}, {3, 1}),
                by("columns", {67, 5}, {1, 3}), by("both", {7, 5}, {3, 2}), by("channels", {1, 16, 5, 3}, {2, 3, 1, 1}),
                by("map", {2, 3, 5, 7}, {1, 1, 2, 3}), by("rank-8", {2, 1, 2, 1, 2, 1, 2, 2}, {2, 2, 1, 3, 2, 1, 2, 2})});
}

}  // namespace

constinit const OpConformance conformance_tile{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::tile
