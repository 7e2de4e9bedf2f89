// Products on a matrix unit, whichever it is: class Unit has its instructions (tiles.cpp; tests have one that computes what they are defined as).
//   struct Config; static void begin(Config& before), end(before);  around all others, on the thread that uses it, which is then as it was before
//   template <int T> static void clear(), load(from, bytes between rows), store(to, bytes between rows);
//   template <int T> static void load_once(...);          as load(), of what need not stay in the nearest cache
//   template <int C, int A, int B> static void multiply();  tile C += A by B, of bf16
#pragma once

#include "kernels/tile.h"
#include "kernels/tile_panels.h"

namespace {

// Rows of the result that are written next, two lines of each, asked for between the products: stores by themselves wait for ten lines at a time.
struct NextRows {
    const float* at = nullptr;
    int64_t row = 0, rows = 0;  // floats from one to the next; how many
    int64_t some = 0;           // at a time

    HWY_INLINE void ask() {
        const int64_t n = HWY_MIN(some, rows);
        for (int64_t i = 0; i < n; ++i, at += row) {
            __builtin_prefetch(at, 0, 2);
            __builtin_prefetch(at + kLanes, 0, 2);
        }
        rows -= n;
    }
};

// Tiles of the left side: the first, and numbers from one row of them to the next. All rows of a range are more than the nearest cache holds, and
// would drive the panel out of it: then each is read past that cache.
struct LeftTiles {
    const uint16_t* at;
    int64_t row;
    bool once;
};

// Where sums are so far, which is nowhere of the first depths, and where they go.
struct SumPlaces {
    const float* from;
    float* to;
    int64_t to_row;  // floats from one row to the next
};

// ROWS x COLUMNS tiles of sums, of `parts` times 32 depths. Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 columns.
// Behind the eight tiles of a thread are few more than twice as many for both threads of a core, and each load and product that is under way takes one. A
// zero takes none: whatever is not wanted any more is cleared. Beside a neighbour a load and a product took 32 ns without, and take 19 (docs/benchmarks.md).
template <class Unit, int ROWS, int COLUMNS>
HWY_NOINLINE void multiply_tiles(const TilesTask& t, const LeftTiles& left, const uint16_t* b, int64_t parts,
                                 const SumPlaces& places, NextRows next, NextTiles* tiles) {
    constexpr int64_t kSumsRow = kBlock * 4;
    const auto sum = [&](int i, int j) HWY_ATTR { return places.from + i * kTileRows * kBlock + j * kLanes; };
    const auto into = [&](int i, int j) HWY_ATTR { return places.to + i * kTileRows * places.to_row + j * kLanes; };
    if (places.from == nullptr) {
        Unit::template clear<0>();
        if constexpr (COLUMNS == 2) Unit::template clear<1>();
        if constexpr (ROWS == 2) Unit::template clear<2>();
        if constexpr (ROWS == 2 && COLUMNS == 2) Unit::template clear<3>();
    } else {
        Unit::template load<0>(sum(0, 0), kSumsRow);
        if constexpr (COLUMNS == 2) Unit::template load<1>(sum(0, 1), kSumsRow);
        if constexpr (ROWS == 2) Unit::template load<2>(sum(1, 0), kSumsRow);
        if constexpr (ROWS == 2 && COLUMNS == 2) Unit::template load<3>(sum(1, 1), kSumsRow);
    }
    constexpr int64_t kRow = 64;
    next.some = whole_tiles(next.rows, parts);
    const uint16_t* a = left.at;
    for (int64_t p = 0; p < parts; ++p, b += COLUMNS * t.b_planes * kTileNumbers) {
        next.ask();
        if (tiles != nullptr) tiles->step();
        for (int i = 0; i < t.a_planes; ++i, a += kTileNumbers) {
            if (left.once) {
                Unit::template load_once<4>(a, kRow);
                if constexpr (ROWS == 2) Unit::template load_once<5>(a + left.row, kRow);
            } else {
                Unit::template load<4>(a, kRow);
                if constexpr (ROWS == 2) Unit::template load<5>(a + left.row, kRow);
            }
            const int planes = HWY_MIN(t.b_planes, backplane::cpu::kMostPlanes - i);
            const uint16_t* right = b;
            for (int j = 0; j < planes; ++j, right += kTileNumbers) {
                const bool last = j + 1 == planes;
                Unit::template load<6>(right, kRow);
                Unit::template multiply<0, 4, 6>();
                if constexpr (COLUMNS == 1) {
                    if (last) Unit::template clear<4>();
                }
                if constexpr (ROWS == 2) Unit::template multiply<2, 5, 6>();
                Unit::template clear<6>();
                if constexpr (COLUMNS == 2) {
                    Unit::template load<7>(right + t.b_planes * kTileNumbers, kRow);
                    Unit::template multiply<1, 4, 7>();
                    if (last) Unit::template clear<4>();
                    if constexpr (ROWS == 2) Unit::template multiply<3, 5, 7>();
                    Unit::template clear<7>();
                }
            }
            if constexpr (ROWS == 2) Unit::template clear<5>();
        }
    }
    const int64_t row = places.to_row * 4;
    Unit::template store<0>(into(0, 0), row);
    if constexpr (COLUMNS == 2) Unit::template store<1>(into(0, 1), row);
    if constexpr (ROWS == 2) Unit::template store<2>(into(1, 0), row);
    if constexpr (ROWS == 2 && COLUMNS == 2) Unit::template store<3>(into(1, 1), row);
}

// Sums of whole tiles become results, as many rows as there are and so many vectors of columns.
HWY_NOINLINE void finish_tiles(const TilesTask& t, const float* sums, int64_t row_begin, int64_t row_end, int64_t column,
                               int64_t vectors) {
    constexpr int kRows = 8;
    const int64_t columns = HWY_MIN(vectors * kLanes, t.columns - column);
    for (int64_t r = row_begin; r < row_end; r += kRows, sums += kRows * kBlock) {
        const int64_t valid = HWY_MIN(static_cast<int64_t>(kRows), row_end - r);
        int64_t rows[kRows];
        for (int i = 0; i < kRows; ++i) rows[i] = r + HWY_MIN(static_cast<int64_t>(i), valid - 1);
        for (int64_t c = 0; c < columns; c += kLanes) {
            Tile<kRows, 1> tile;
            each(tile, [&](VF, int i, int) HWY_ATTR { return hn::LoadU(f, sums + i * kBlock + c); });
            finish(tile, t.epilogue, rows, column + c, columns - c);
            for (int i = 0; i < valid; ++i) store_first(tile.v[i][0], t.out + rows[i] * t.out_row + column + c, columns - c);
        }
    }
}

// All rows of a range by a panel, whose first depth is k; `sums` are those of the block of columns, kept from panel to panel. All rows by a pair of
// vectors, then by the next: a tile from the second-level cache takes as long as two products, and so two of four come from the nearest. Whole tiles
// that nothing follows are written where results belong.
template <class Unit>
void multiply_panel(const TilesTask& t, int64_t row_begin, int64_t row_end, int64_t column, int64_t k, int64_t depth,
                    const PanelForm& form, const uint16_t* panel, float* sums, bool once, NextTiles* tiles = nullptr) {
    const int64_t a_tile = backplane::cpu::tile_row(t.depth, t.a_planes) * kTileNumbers;
    const bool last = k + depth == t.depth;
    const int64_t kept = k == 0 && last ? 0 : kBlock;  // of one panel they are results at once
    typename Unit::Config before;
    Unit::begin(before);
    for (int64_t j = 0; j < form.vectors; j += 2) {
        const uint16_t* right = panel + form.at(j, 0);
        const int64_t vectors = HWY_MIN(form.vectors - j, int64_t{2});
        const int64_t first_column = column + j * kLanes;
        const bool whole = last && t.epilogue.count == 0 && first_column + vectors * kLanes <= t.columns;
        float* at = sums + j * kLanes;
        for (int64_t r = row_begin; r < row_end; r += 2 * kTileRows, at += 2 * kTileRows * kept) {
            const uint16_t* a = t.a + r / kTileRows * a_tile + k / kTileDepth * t.a_planes * kTileNumbers;
            const int64_t rows = HWY_MIN(2 * kTileRows, row_end - r);
            float* out = t.out + r * t.out_row + first_column;
            const bool direct = whole && rows % kTileRows == 0;
            const SumPlaces places{k == 0 ? nullptr : at, direct ? out : at, direct ? t.out_row : kBlock};
            const NextRows next{out, t.out_row, last ? rows : 0};
            const auto with = [&](auto* one) HWY_ATTR {
                one(t, LeftTiles{a, a_tile, once}, right, form.parts, places, next, tiles);
            };
            if (rows <= kTileRows) {
                with(vectors == 1 ? multiply_tiles<Unit, 1, 1> : multiply_tiles<Unit, 1, 2>);
            } else {
                with(vectors == 1 ? multiply_tiles<Unit, 2, 1> : multiply_tiles<Unit, 2, 2>);
            }
            if (last && !direct) finish_tiles(t, at, r, r + rows, first_column, vectors);
        }
    }
    Unit::end(before);
}

// Tiles of the pair of vectors that begins at `column`, to be decoded between as many products as `rows` have by such a pair.
inline NextTiles tiles_of_pair(const TilesTask& t, int64_t rows, int64_t column, uint16_t* to) {
    const int64_t block = column / kBlock * kBlock;
    const int64_t width = whole_tiles(HWY_MIN(kBlock, t.columns - block), kLanes) * kLanes;
    NextTiles tiles;
    tiles.decode = decoder_of_tiles(t.type);
    tiles.block = static_cast<const uint8_t*>(t.b) + block * backplane::cpu::packed_column_bytes(t.type, t.depth);
    tiles.block_bytes = block_form(t.type).bytes() * width;
    tiles.parts = block_form(t.type).depth / kTileDepth;
    tiles.width = width;
    tiles.column = column - block;
    tiles.vectors = whole_tiles(HWY_MIN(kPair, t.columns - column), kLanes);
    tiles.to = to;
    tiles.left = t.depth / kTileDepth * tiles.vectors;
    tiles.apart = HWY_MAX(int64_t{1}, whole_tiles(rows, 2 * kTileRows) / tiles.vectors);
    return tiles;
}

// A pair of vectors of columns by all depths before the next, whose tiles are decoded between the products. See by_whole_depth().
template <class Unit>
void run_whole(const TilesTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    uint16_t* panels[] = {reinterpret_cast<uint16_t*>(t.scratch), reinterpret_cast<uint16_t*>(t.scratch + kWholePanelBytes)};
    int at = 0;
    auto* sums = reinterpret_cast<float*>(t.scratch + 2 * kWholePanelBytes);
    const int64_t rows = row_end - row_begin;
    const bool once = rows > 2 * kTileRows && column_end - column_begin > kPair;
    NextTiles tiles = tiles_of_pair(t, rows, column_begin, panels[at]);
    tiles.rest();
    for (int64_t column = column_begin; column < column_end; column += kPair, at ^= 1) {
        const PanelForm form{tiles.vectors, t.depth / kTileDepth, 1};
        const bool more = column + kPair < column_end;
        if (more) tiles = tiles_of_pair(t, rows, column + kPair, panels[at ^ 1]);
        multiply_panel<Unit>(t, row_begin, row_end, column, 0, t.depth, form, panels[at], sums, once,
                             more ? &tiles : nullptr);
        tiles.rest();
    }
}

// A part of the depth by all columns before the next: what it is of the left side, half a megabyte or so, stays in the second-level cache. From the
// third-level one a core of a Sapphire Rapids gets a tile in the time of six products.
template <class Unit>
uint32_t run_tiles(const TilesTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    if (backplane::cpu::by_whole_depth(t.type, t.exact, t.depth)) {
        run_whole<Unit>(t, row_begin, row_end, column_begin, column_end);
        return 0;
    }
    uint8_t* decoded = t.scratch;
    auto* panel = reinterpret_cast<uint16_t*>(decoded + kDecodedBytes);
    auto* sums = reinterpret_cast<float*>(decoded + kDecodedBytes + kPanelBytes);
    const int64_t block_sums = whole_tiles(row_end - row_begin, kTileRows) * kTileRows * kBlock;
    const int64_t of_panel = panel_depth(t.b_planes);
    // Of one block of columns the left side comes from the third-level cache as often as from the second: it may as well stay where it came to.
    const bool once = row_end - row_begin > 2 * kTileRows && column_end - column_begin > kBlock;
    uint32_t missing = 0;
    for (int64_t k = 0; k < t.depth; k += of_panel) {
        const int64_t depth = HWY_MIN(of_panel, t.depth - k);
        for (int64_t column = column_begin; column < column_end; column += kBlock) {
            const int64_t index = (column - column_begin) / kBlock;
            if ((missing >> index & 1) != 0) continue;
            const PanelForm form{whole_tiles(HWY_MIN(kBlock, t.columns - column), kLanes), whole_tiles(depth, kTileDepth),
                                 t.b_planes};
            const auto* b = static_cast<const uint8_t*>(t.b) +
                            column * backplane::cpu::packed_column_bytes(t.type, t.depth) +
                            form.vectors * kLanes * backplane::cpu::packed_column_bytes(t.type, k);
            if (!(t.exact ? pack_panel<true> : pack_panel<false>)(t, b, depth, form, decoded, panel)) {
                missing |= 1U << index;
                continue;
            }
            multiply_panel<Unit>(t, row_begin, row_end, column, k, depth, form, panel, sums + index * block_sums, once);
        }
    }
    return missing;
}

template <class Unit>
void fill_tiles(backplane::cpu::TilesKernels* table, const backplane::cpu::TileCosts& costs) {
    table->costs = costs;
    table->scratch_bytes = HWY_MAX(kDecodedBytes + kPanelBytes, 2 * kWholePanelBytes);
    table->row_bytes = kBlock * 4;
    table->split = split;
    table->run = run_tiles<Unit>;
}

}  // namespace
