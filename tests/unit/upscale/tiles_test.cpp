#include "models/esrgan/tiles.hpp"

#include <gtest/gtest.h>

#include "backplane/error.hpp"

namespace backplane::models {
namespace {

TEST(Tiles, ImpossibleTilesAreInvalid) {
    EXPECT_THROW(tile_axis(0, 8, 0), Error);
    EXPECT_THROW(tile_axis(-1, 8, 0), Error);
    EXPECT_THROW(tile_axis(10, 0, 0), Error);
    EXPECT_THROW(tile_axis(10, 8, -1), Error);
    EXPECT_THROW(tile_axis(10, 8, 4), Error);  // nothing would be left of a tile
    EXPECT_THROW(tile_axis(10, 8, INT64_MAX), Error);
    EXPECT_NO_THROW(tile_axis(8, 8, 4));  // one tile has no neighbours
}

TEST(Tiles, EveryPixelHasATileAndNoTileLeavesTheImage) {
    for (int64_t length = 1; length <= 150; ++length) {
        for (int64_t tile = 1; tile <= 40; ++tile) {
            for (int64_t overlap = 0; 2 * overlap < tile; ++overlap) {
                const AxisTiles axis = tile_axis(length, tile, overlap);
                ASSERT_EQ(axis.tile, std::min(tile, length));
                ASSERT_EQ(axis.starts.front(), 0);
                ASSERT_EQ(axis.starts.back() + axis.tile, length);
                ASSERT_EQ(axis.seams.size() + 1, axis.starts.size());
                ASSERT_EQ(axis.begin(0), 0);
                ASSERT_EQ(axis.end(axis.seams.size()), length);
                for (std::size_t i = 0; i < axis.starts.size(); ++i) {
                    // What a tile is asked for lies in it, and cross-fades do not meet.
                    ASSERT_GE(axis.begin(i), axis.starts[i]);
                    ASSERT_LE(axis.end(i) + axis.fade_after(i), axis.starts[i] + axis.tile);
                    ASSERT_LE(axis.begin(i) + axis.fade_before(i), axis.end(i));
                    ASSERT_LT(axis.begin(i), axis.end(i));
                }
            }
        }
    }
}

TEST(Tiles, NeighboursShareAtLeastTheOverlapOnEachSideAndDoNotUseTheirEdges) {
    for (int64_t length = 65; length <= 900; length += 7) {
        const AxisTiles axis = tile_axis(length, 64, 12);
        for (std::size_t i = 0; i < axis.seams.size(); ++i) {
            const int64_t shared = axis.starts[i] + 64 - axis.starts[i + 1];
            ASSERT_GE(shared, 24);
            ASSERT_GE(axis.seams[i].begin - axis.starts[i + 1], 6);
            ASSERT_GE(axis.starts[i] + 64 - axis.seams[i].end, 6);
        }
    }
}

TEST(Tiles, NoMoreTilesThanNeeded) {
    for (int64_t length = 1; length <= 2000; ++length) {
        const auto tiles = static_cast<int64_t>(tile_axis(length, 64, 8).starts.size());
        ASSERT_GE(64 + (tiles - 1) * 48, length);
        if (tiles > 1) {
            ASSERT_LT(64 + (tiles - 2) * 48, length);
        }
    }
}

TEST(Tiles, BalancedTilesShareLittleAndAreOfFewSizes) {
    EXPECT_EQ(balanced_tile(1, 256, 16), 1);
    EXPECT_EQ(balanced_tile(256, 256, 16), 256);
    EXPECT_EQ(balanced_tile(260, 256, 16), 160);  // two of 160, not two of 256
    EXPECT_EQ(balanced_tile(4096, 256, 16), 256);
    EXPECT_EQ(balanced_tile(4096, 256, INT64_MAX), 256);
    for (int64_t length = 257; length < 5000; length += 13) {
        const int64_t tile = balanced_tile(length, 256, 16);
        ASSERT_LE(tile, 256);
        ASSERT_EQ(tile % 32, 0);
        ASSERT_LE(tile_axis(length, tile, 16).starts.size(), tile_axis(length, 256, 16).starts.size());
    }
}

}  // namespace
}  // namespace backplane::models
