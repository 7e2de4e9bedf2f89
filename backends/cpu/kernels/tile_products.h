// Products on a matrix unit, whichever it is: class Unit has its instructions (tiles.cpp; tests have one that computes what they are defined as).
//   struct Config; static void begin(Config& before), end(before);  around all others, on the thread that uses it, which is then as it was before
//   template <int T> static void clear(), load(from, bytes between rows), store(to, bytes between rows);
//   template <int T> static void load_once(...);          as load(), of what need not stay in the nearest cache
//   template <int C, int A, int B> static void multiply();  tile C += A by B, of bf16
#pragma once

#include "kernels/tile_beside.h"

namespace {

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
                                 const SumPlaces& places, Beside& beside) {
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
    const uint16_t* a = left.at;
    const auto load_rows = [&](int i) HWY_ATTR {
        const uint16_t* from = a + i * kTileNumbers;
        if (left.once) {
            Unit::template load_once<4>(from, kRow);
            if constexpr (ROWS == 2) Unit::template load_once<5>(from + left.row, kRow);
        } else {
            Unit::template load<4>(from, kRow);
            if constexpr (ROWS == 2) Unit::template load<5>(from + left.row, kRow);
        }
    };
    // Products of rows that are there by columns, which are loaded unless they are there, too.
    const auto by_columns = [&](const uint16_t* right, bool there, bool rows_again, bool columns_again)
        __attribute__((always_inline)) HWY_ATTR {
        beside.step();
        if (!there) Unit::template load<6>(right, kRow);
        Unit::template multiply<0, 4, 6>();
        if constexpr (COLUMNS == 1) {
            if (!rows_again) Unit::template clear<4>();
        }
        if constexpr (ROWS == 2) Unit::template multiply<2, 5, 6>();
        if (!columns_again) Unit::template clear<6>();
        if constexpr (COLUMNS == 2) {
            if (!there) Unit::template load<7>(right + t.b_planes * kTileNumbers, kRow);
            Unit::template multiply<1, 4, 7>();
            if (!rows_again) Unit::template clear<4>();
            if constexpr (ROWS == 2) Unit::template multiply<3, 5, 7>();
            if (!columns_again) Unit::template clear<7>();
        }
        if constexpr (ROWS == 2) {
            if (!rows_again) Unit::template clear<5>();
        }
    };
    if (t.a_planes == 3 && t.b_planes == 3) {
        // Of nine pairs of planes six count. In this order each shares a side with the one before: of 24 products 14 tiles are loaded, not 18.
        for (int64_t p = 0; p < parts; ++p, b += COLUMNS * 3 * kTileNumbers, a += 3 * kTileNumbers) {
            load_rows(2);
            by_columns(b, false, false, true);
            load_rows(0);
            by_columns(b, true, true, false);
            by_columns(b + 2 * kTileNumbers, false, true, false);
            by_columns(b + kTileNumbers, false, false, true);
            load_rows(1);
            by_columns(b + kTileNumbers, true, true, false);
            by_columns(b, false, false, false);
        }
    } else {
        for (int64_t p = 0; p < parts; ++p, b += COLUMNS * t.b_planes * kTileNumbers)
            for (int i = 0; i < t.a_planes; ++i, a += kTileNumbers) {
                const int planes = HWY_MIN(t.b_planes, backplane::cpu::kMostPlanes - i);
                load_rows(0);
                for (int j = 0; j < planes; ++j) by_columns(b + j * kTileNumbers, false, j + 1 < planes, false);
            }
    }
    beside.finish.rest();  // it may read what is written now
    const int64_t row = places.to_row * 4;
    Unit::template store<0>(into(0, 0), row);
    if constexpr (COLUMNS == 2) Unit::template store<1>(into(0, 1), row);
    if constexpr (ROWS == 2) Unit::template store<2>(into(1, 0), row);
    if constexpr (ROWS == 2 && COLUMNS == 2) Unit::template store<3>(into(1, 1), row);
}

// A panel, and the range of rows that it goes by.
struct PanelPlace {
    int64_t column, k, depth;
    PanelForm form;
    const uint16_t* panel;
    float* sums;  // of the block of columns, kept from panel to panel
    bool once;
    int64_t next_k = 0;  // of which the left side is asked for, a part of `passes` with each pair of vectors; 0: none
    int64_t pass = 0, passes = 1;
};

// All rows of a range by a panel. All rows by a pair of vectors, then by the next: a tile from the second-level cache takes as long as two products, and so
// two of four come from the nearest. Whole tiles that nothing follows are written where results belong.
template <class Unit>
void multiply_panel(const TilesTask& t, int64_t row_begin, int64_t row_end, const PanelPlace& place, Beside& beside) {
    const PanelForm& form = place.form;
    const int64_t a_tile = backplane::cpu::tile_row(t.depth, t.a_planes) * kTileNumbers;
    const int64_t steps = form.parts * backplane::cpu::products_of_planes(t.a_planes, t.b_planes);
    const bool last = place.k + place.depth == t.depth;
    const bool one_panel = place.k == 0 && last;
    typename Unit::Config before;
    Unit::begin(before);
    for (int64_t j = 0; j < form.vectors; j += 2) {
        const uint16_t* right = place.panel + form.at(j, 0);
        const int64_t vectors = HWY_MIN(form.vectors - j, int64_t{2});
        const int64_t first_column = place.column + j * kLanes;
        const bool whole = last && t.epilogue.count == 0 && first_column + vectors * kLanes <= t.columns;
        const int64_t lines = place.next_k > 0 ? form.parts * t.a_planes * kTileRows : 0;
        const int64_t pass = place.pass + j / 2;
        const int64_t first_line = lines * pass / place.passes;
        for (int64_t r = row_begin; r < row_end; r += 2 * kTileRows) {
            const uint16_t* a = t.a + r / kTileRows * a_tile + place.k / kTileDepth * t.a_planes * kTileNumbers;
            const int64_t rows = HWY_MIN(2 * kTileRows, row_end - r);
            float* out = t.out + r * t.out_row + first_column;
            const bool direct = whole && rows % kTileRows == 0;
            // Of one panel, sums are results at once, and two places in turns are enough.
            const int64_t at_row = one_panel ? (r - row_begin) % (4 * kTileRows) : r - row_begin;
            float* at = place.sums + at_row * kBlock + j * kLanes;
            const SumPlaces places{place.k == 0 ? nullptr : at, direct ? out : at, direct ? t.out_row : kBlock};
            beside.rows = NextRows{out, t.out_row, last ? rows : 0, whole_tiles(rows, steps)};
            if (lines > 0) {
                const uint16_t* next = t.a + r / kTileRows * a_tile + place.next_k / kTileDepth * t.a_planes * kTileNumbers;
                const int64_t n = lines * (pass + 1) / place.passes - first_line;
                beside.left =
                    NextLeft{next + first_line * kTileDepth, rows > kTileRows ? a_tile : 0, n, whole_tiles(n, steps)};
            }
            const auto with = [&](auto* one) HWY_ATTR {
                one(t, LeftTiles{a, a_tile, place.once}, right, form.parts, places, beside);
            };
            if (rows <= kTileRows) {
                with(vectors == 1 ? multiply_tiles<Unit, 1, 1> : multiply_tiles<Unit, 1, 2>);
            } else {
                with(vectors == 1 ? multiply_tiles<Unit, 2, 1> : multiply_tiles<Unit, 2, 2>);
            }
            if (last && !direct) beside.finish.begin(t, at, r, r + rows, first_column, vectors, steps);
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
    Beside beside;
    for (int64_t column = column_begin; column < column_end; column += kPair, at ^= 1) {
        const PanelForm form{tiles.vectors, t.depth / kTileDepth, 1};
        const bool more = column + kPair < column_end;
        if (more) tiles = tiles_of_pair(t, rows, column + kPair, panels[at ^ 1]);
        beside.tiles = more ? &tiles : nullptr;
        multiply_panel<Unit>(t, row_begin, row_end, {column, 0, t.depth, form, panels[at], sums, once}, beside);
        tiles.rest();
    }
    beside.finish.rest();
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
    uint16_t* panels[] = {reinterpret_cast<uint16_t*>(decoded + kDecodedBytes),
                          reinterpret_cast<uint16_t*>(decoded + kDecodedBytes + kPanelBytes)};
    auto* sums = reinterpret_cast<float*>(decoded + kDecodedBytes + 2 * kPanelBytes);
    const int64_t block_sums = whole_tiles(row_end - row_begin, kTileRows) * kTileRows * kBlock;
    const int64_t of_panel = panel_depth(t.b_planes, t.type);
    const int64_t blocks = whole_tiles(column_end - column_begin, kBlock);
    // Of one block of columns the left side comes from the third-level cache as often as from the second: it may as well stay where it came to.
    const bool once = row_end - row_begin > 2 * kTileRows && blocks > 1;
    const bool ahead = backplane::cpu::packs_between(t.type);
    uint32_t missing = 0;
    Beside beside;
    const auto place_of = [&](int64_t k, int64_t index, int at) HWY_ATTR {
        const int64_t column = column_begin + index * kBlock;
        const int64_t depth = HWY_MIN(of_panel, t.depth - k);
        const PanelForm form{whole_tiles(HWY_MIN(kBlock, t.columns - column), kLanes), whole_tiles(depth, kTileDepth),
                             t.b_planes};
        PanelPlace place{column, k, depth, form, panels[at], sums + index * block_sums, once};
        // Rows are few enough then that two parts of the depth have room in the second-level cache (tile_plan.cpp).
        if (k + depth < t.depth && ahead && t.exact && once) place.next_k = k + depth;
        place.pass = 2 * index;
        place.passes = 2 * blocks;
        return place;
    };
    const auto weights_of = [&](const PanelPlace& place) HWY_ATTR {
        return static_cast<const uint8_t*>(t.b) + place.column * backplane::cpu::packed_column_bytes(t.type, t.depth) +
               place.form.vectors * kLanes * backplane::cpu::packed_column_bytes(t.type, place.k);
    };
    const auto pack = [&](const PanelPlace& place, int at) HWY_ATTR {
        return (t.exact ? pack_panel<true> : pack_panel<false>)(t, weights_of(place), place.depth, place.form, decoded,
                                                                panels[at]);
    };
    int64_t index = 0;
    PanelPlace place = place_of(0, 0, 0);
    bool held = pack(place, 0);
    for (int at = 1;; at ^= 1) {
        if (!held) missing |= 1U << index;
        int64_t k = place.k;
        int64_t next_index = index;
        do {
            if (++next_index < blocks) continue;
            next_index = 0;
            k += of_panel;
        } while (k < t.depth && (missing >> next_index & 1) != 0);
        const bool more = k < t.depth;
        PanelPlace next = place;
        if (more) {
            next = place_of(k, next_index, at);
            const int64_t steps = whole_tiles(row_end - row_begin, 2 * kTileRows) * whole_tiles(place.form.vectors, 2) *
                                  place.form.parts * backplane::cpu::products_of_planes(t.a_planes, t.b_planes);
            if (ahead) beside.panel.begin(t, weights_of(next), next.depth, next.form, panels[at], steps);
        }
        if (held) multiply_panel<Unit>(t, row_begin, row_end, place, beside);
        if (!more) break;
        if (ahead) beside.panel.rest();
        held = ahead ? beside.panel.held() : pack(next, at);
        place = next;
        index = next_index;
    }
    beside.finish.rest();
    return missing;
}

template <class Unit>
void fill_tiles(backplane::cpu::TilesKernels* table, const backplane::cpu::TileCosts& costs) {
    table->costs = costs;
    table->scratch_bytes = HWY_MAX(kDecodedBytes + 2 * kPanelBytes, 2 * kWholePanelBytes);
    table->row_bytes = kBlock * 4;
    table->split = split;
    table->run = run_tiles<Unit>;
}

}  // namespace
