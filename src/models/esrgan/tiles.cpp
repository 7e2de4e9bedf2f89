#include "models/esrgan/tiles.hpp"

#include <algorithm>
#include <string>

#include "backplane/error.hpp"

namespace backplane::models {

namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

AxisTiles tile_axis(int64_t length, int64_t tile, int64_t overlap) {
    if (length < 1 || tile < 1 || overlap < 0) {
        throw Error(Code::invalid, "cannot cut " + std::to_string(length) + " pixels into tiles of " + std::to_string(tile) +
                                       " with an overlap of " + std::to_string(overlap) +
                                       ": sizes are at least 1 and an overlap at least 0");
    }
    AxisTiles axis{length, std::min(tile, length), {0}, {}};
    if (length <= tile) return axis;
    if (overlap > (tile - 1) / 2) {
        throw Error(Code::invalid, "cannot cut " + std::to_string(length) + " pixels into tiles of " + std::to_string(tile) +
                                       ": an overlap of " + std::to_string(overlap) +
                                       " on each side leaves nothing of a tile; " + std::to_string((tile - 1) / 2) +
                                       " is the most");
    }
    const int64_t step = tile - 2 * overlap;
    const int64_t gaps = divide_up(length - tile, step);
    for (int64_t i = 1; i <= gaps; ++i) axis.starts.push_back((length - tile) * i / gaps);
    // Two cross-fades must not touch the same pixel: with two tiles there is one, with more they are at least this far apart.
    const int64_t apart = gaps == 1 ? overlap : (length - tile) / gaps;
    const int64_t fade = std::min(overlap, apart);
    for (std::size_t i = 1; i < axis.starts.size(); ++i) {
        const int64_t middle = (axis.starts[i] + axis.starts[i - 1] + tile) / 2;
        axis.seams.push_back({middle - fade / 2, middle - fade / 2 + fade});
    }
    return axis;
}

int64_t balanced_tile(int64_t length, int64_t most, int64_t overlap) {
    if (length <= most) return length;
    if (overlap > (most - 1) / 2) return most;
    const int64_t cores = divide_up(length - 2 * overlap, most - 2 * overlap);
    const int64_t least = divide_up(length - 2 * overlap, cores) + 2 * overlap;
    return std::min(most, divide_up(least, 32) * 32);
}

}  // namespace backplane::models
