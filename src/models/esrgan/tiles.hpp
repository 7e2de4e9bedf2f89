// Where the tiles of an image lie. All numbers are pixels of the input; nothing here knows of pixels' values.
#pragma once

#include <cstdint>
#include <vector>

namespace backplane::models {

// Where one tile hands over to the next: before `begin` the first counts, from `end` on the second, between them they cross-fade.
struct Seam {
    int64_t begin = 0, end = 0;
    bool operator==(const Seam&) const = default;
};

// Tiles along one axis. All have the same size: the last one is not cut, all are moved inwards to share what is left over.
struct AxisTiles {
    int64_t length = 0;           // of the image
    int64_t tile = 0;             // of each tile, at most length
    std::vector<int64_t> starts;  // ascending; the last tile ends where the image does
    std::vector<Seam> seams;      // between neighbours: starts.size() - 1

    // What tile `i` is the first to know: [begin, end). Its cross-fade with the one before is the start of it.
    [[nodiscard]] int64_t begin(std::size_t i) const { return i == 0 ? 0 : seams[i - 1].begin; }
    [[nodiscard]] int64_t end(std::size_t i) const { return i == seams.size() ? length : seams[i].begin; }
    // Length of the cross-fade at the start or end of tile i.
    [[nodiscard]] int64_t fade_before(std::size_t i) const { return i == 0 ? 0 : seams[i - 1].end - seams[i - 1].begin; }
    [[nodiscard]] int64_t fade_after(std::size_t i) const { return i == seams.size() ? 0 : seams[i].end - seams[i].begin; }
};

// Neighbours share at least 2 * overlap pixels, and the outer quarter of what they share is not used of either, so that a tile's edge,
// where the network sees padding instead of the image, does not show. Throws Error(invalid) unless 0 <= 2 * overlap < tile or the image
// fits in one tile.
AxisTiles tile_axis(int64_t length, int64_t tile, int64_t overlap);

// The size of equal tiles that cover `length` with as little shared as `most` allows: a multiple of 32 (few sizes to compile for), or the
// length when that is at most `most`.
int64_t balanced_tile(int64_t length, int64_t most, int64_t overlap);

}  // namespace backplane::models
