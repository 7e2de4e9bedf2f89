#include "tile_plan.hpp"

#include <algorithm>

#include "backplane/module.h"

namespace backplane::cpu {

namespace {

int planes_of_bits(int bits) { return bits <= 8 ? 1 : bits <= 17 ? 2 : 3; }

// Bits of a weight as a float.
int bits_of(PackedType type) {
    switch (type) {
        case kPackedBF16: return 8;
        case kPackedF16: return 11;
        case kPackedQ4: return 15;   // a scale of 11, a digit of 4
        case kPackedQ50: return 16;  // and one of 5
        default: return 24;
    }
}

// Products a cycle of a core of a Sapphire Rapids without tiles, as whole kernels reach them, and cycles that decoding a weight takes
// (docs/benchmarks.md).
constexpr double kFloatProducts = 20, kRoundedProducts = 75;
constexpr double kDecode = 0.15;
// How much longer it takes for each of two threads on a core, beside what vectors then do.
constexpr double kSharedUnit = 1.75;

constexpr int64_t kMostRowsOfChunk = 1024, kLeastRowsOfChunk = 64, kEnoughChunks = 32;
// With more parts of the rows a thread takes more columns at a time: a part of 256 rows by 128 columns reads less than one of 512 by 64.
constexpr int64_t kEnoughChunksOfThread = 4;

// Floats are packed between the products, which costs so little that rows may be as few as leaves a part of their depth and their sums in the second-level
// cache, with the next part on its way there.
constexpr int64_t kMostExactRows = 384;

int64_t chunk_of(const TileRequest& r, bool exact, bool whole, int64_t block) {
    const int64_t columns = whole_tiles(r.columns, block) * r.batches;
    const int64_t tiles = whole_tiles(r.rows, 2 * kTileRows);
    int64_t most_rows = kMostRowsOfChunk;
    if (exact && packs_between(r.type)) most_rows = kMostExactRows;
    if (whole) most_rows = std::min(most_rows, kWholeNumbers / r.depth);
    int64_t chunks = whole_tiles(r.rows, most_rows);
    const int64_t most = std::max<int64_t>(chunks, r.rows / kLeastRowsOfChunk);
    const int64_t enough = std::max(kEnoughChunks, kEnoughChunksOfThread * r.threads);
    chunks = std::clamp(whole_tiles(enough, std::max<int64_t>(1, columns)), chunks, most);
    return whole_tiles(tiles, chunks) * 2 * kTileRows;  // equal parts, of pairs of tiles
}

}  // namespace

TilePlan plan_tiles(const Kernels& kernels, const TileRequest& r) {
    TilePlan plan;
    if (kernels.tiles.run == nullptr || r.math == BP_MATH_STRICT || r.rows < kManyRows || r.depth == 0) return plan;
    // Where activations are rounded weights are, too, by no more: the sum of both is what rounding activations to a byte, 32 together, may cost.
    plan.exact = r.math != BP_MATH_RELAXED;
    plan.a_planes = plan.exact ? planes_of_bits(r.a_bits) : 1;
    plan.b_planes = plan.exact ? planes_of_bits(bits_of(r.type)) : 1;
    plan.chunk = chunk_of(r, plan.exact, by_whole_depth(r.type, plan.exact, r.depth), kernels.conv.block);

    const auto rows = static_cast<double>(r.rows);
    const auto columns = static_cast<double>(r.columns);
    const auto depth = static_cast<double>(r.depth);
    const double whole_rows = static_cast<double>(whole_tiles(r.rows, kTileRows) * kTileRows);
    const double whole_columns = static_cast<double>(whole_tiles(r.columns, kTileRows) * kTileRows);
    const bool decodes = r.type != kPackedF32 && r.type != kPackedBF16;
    const double times = static_cast<double>(whole_tiles(r.rows, plan.chunk));
    const TileCosts& costs = kernels.tiles.costs;
    const auto planes = [&](int n) { return costs.element + costs.plane * n; };
    const double tiles = whole_rows * whole_columns * depth * products_of_planes(plan.a_planes, plan.b_planes) *
                             costs.product * (r.shares_cores ? kSharedUnit : 1) +
                         times * whole_columns * depth * (planes(plan.b_planes) + (decodes ? costs.decode : 0)) +
                         rows * depth * planes(plan.a_planes);
    const double rate = r.rounds ? kRoundedProducts : kFloatProducts;
    const double others = rows * whole_columns * depth / rate + (decodes ? columns * depth * kDecode : 0);
    plan.used = tiles < others;
    return plan;
}

}  // namespace backplane::cpu
