#include "kernels/attention.h"

#include "kernels/tile.h"
#include "kernels/transpose.h"

// Queries stand side by side in the lanes: of a tile of keys the scores are a product of keys by queries, kept by key, so that the maximum, the
// exponentials and the sums of all queries are vectors. The product by v then takes them as a column each. No score leaves the scratch.
namespace {

using backplane::cpu::AttentionBlock;
using backplane::cpu::kAttentionQueries;

// Keys of a tile: a multiple of the rows of every register tile, and of kTurns.
constexpr int64_t kKeys = 96;
constexpr int64_t kTurns = 8;
constexpr int kRows = rows_of(kVectors);
constexpr float kUnseen = -__builtin_inff();

HWY_INLINE int64_t padded(int64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

struct Scratch {
    int64_t columns;  // queries, padded
    int64_t vectors;  // of a panel of queries: kVectors, or 1 for a few
    int64_t taken = 0;
    float *queries, *placed, *band, *decoded, *scores, *values, *sums, *most, *total, *factor;
    // Memory of 0: only to count.
    Scratch(int64_t rows, int64_t size, int64_t width, bool positions, bool blocks, float* memory) {
        vectors = rows <= kLanes ? 1 : kVectors;
        columns = vectors == 1 ? kLanes : padded(rows);
        const auto take = [&](int64_t n) {
            float* at = memory == nullptr ? nullptr : memory + taken;
            taken += n;
            return at;
        };
        queries = take(columns * size);
        placed = take(positions ? columns * size : 0);
        band = take(positions ? (columns + kKeys) * columns : 0);
        decoded = take(blocks ? kKeys * HWY_MAX(size, width) : 0);
        scores = take(kKeys * columns + kRows);  // a register tile reads past the last query
        values = take(kKeys * padded(width));
        sums = take(rows * padded(width));
        most = take(columns);
        total = take(columns);
        factor = take(columns);
    }
};

// No block has more queries, and fewer take no more.
int64_t scratch_of(int64_t size, int64_t width, bool positions, bool blocks) {
    return Scratch(kAttentionQueries, size, width, positions, blocks, nullptr).taken;
}

// Rows key to key + keys of `size` floats each, which q8_0 is decoded to.
const float* rows_of(const float* rows, const uint8_t* blocks, const Scratch& s, int64_t key, int64_t keys, int64_t size) {
    if (blocks == nullptr) return rows + key * size;
    constexpr int64_t kElements = 32;
    constexpr int64_t kBytes = 34;
    const uint8_t* from = blocks + key * size / kElements * kBytes;
    for (float* to = s.decoded; to < s.decoded + keys * size; to += kElements, from += kBytes) {
        const VF scale = hn::Set(f, hn::GetLane(plain(from_half(from))));
        for (int64_t i = 0; i < kElements; i += kLanes) hn::StoreU(hn::Mul(from_int8(from + 2 + i), scale), f, to + i);
    }
    return s.decoded;
}

// Panels of queries, with what is added to them, scaled: panel[d][query]. Those that are not there are zeros.
void pack_queries(const AttentionBlock& b, const Scratch& s, int64_t panel, const float* bias, float* into) {
    const VF scale = hn::Set(f, b.scale);
    for (int64_t c = 0; c < s.columns; c += kLanes) {
        float* to = into + c / panel * panel * b.size + c % panel;
        for (int64_t d = 0; d < b.size; d += kLanes) {
            const int64_t numbers = HWY_MIN(kLanes, b.size - d);
            const VF added = bias != nullptr ? load_first(bias + d, numbers) : VF(hn::Zero(f));
            VF rows[kLanes];
            for (int64_t i = 0; i < kLanes; ++i)
                rows[i] = c + i < b.rows
                              ? VF(hn::Mul(hn::Add(load_first(b.q + (c + i) * b.q_row + d, numbers), added), scale))
                              : VF(hn::Zero(f));
            transpose_vectors(rows);
            for (int64_t i = 0; i < numbers; ++i) hn::StoreU(rows[i], f, to + (d + i) * panel);
        }
    }
}

template <int VECTORS>
void scores_of(const AttentionBlock& b, const Scratch& s, int64_t key, int64_t keys) {
    constexpr int ROWS = rows_of(VECTORS);
    constexpr int64_t kPanel = VECTORS * kLanes;
    const float* first = rows_of(b.k, b.k_blocks, s, key, keys, b.size);
    for (int64_t column = 0; column < s.columns; column += kPanel)
        for (int64_t j = 0; j < keys; j += ROWS) {
            const float* rows[ROWS];
            for (int i = 0; i < ROWS; ++i) rows[i] = first + HWY_MIN(j + i, keys - 1) * b.size;
            Tile<ROWS, VECTORS> tile;
            clear(tile);
            multiply(tile, rows, s.queries + column * b.size, b.size);
            for (int i = 0; i < ROWS; ++i)
                for (int v = 0; v < VECTORS; ++v)
                    hn::StoreU(tile.v[i][v], f, s.scores + (j + i) * s.columns + column + v * kLanes);
        }
}

// Of relative positions, rows `at` to `end` of the band: products by the queries. Row s.columns + j - i is that of the tile's key j and query i; `first`:
// which position row 0 is. Those that no query and key of the block are apart may not be there.
template <int VECTORS>
void band_rows(const AttentionBlock& b, const Scratch& s, int64_t first, int64_t at, int64_t end) {
    constexpr int ROWS = rows_of(VECTORS);
    const int64_t last = b.position_rows - 1;
    for (int64_t column = 0; column < s.columns; column += VECTORS * kLanes)
        for (int64_t j = at; j < end; j += ROWS) {
            const float* rows[ROWS];
            for (int i = 0; i < ROWS; ++i) {
                const int64_t row = first + HWY_MIN(j + i, end - 1);
                rows[i] = b.positions + HWY_MAX(int64_t{0}, HWY_MIN(row, last)) * b.size;
            }
            Tile<ROWS, VECTORS> tile;
            clear(tile);
            multiply(tile, rows, s.placed + column * b.size, b.size);
            store_rows(tile, end - j, VECTORS * kLanes, s.band + j * s.columns + column, s.columns);
        }
}

// Lanes whose index has this bit.
HWY_INLINE hn::Mask<F> lanes_with(int bit) { return hn::RebindMask(f, hn::TestBit(hn::Iota(I(), 0), hn::Set(I(), bit))); }

// Rows that come one after the other become diagonals: lane i of what `next` returns is that of the row i before the given one. A row goes through
// stages, of which each gives some lanes a row that came 1, 2, 4, 8 before.
class Diagonals {
public:
    HWY_INLINE Diagonals() : late1_(hn::Zero(f)) {
#pragma GCC unroll 8
        for (int i = 0; i < kTurns; ++i) late2_[i % 2] = late4_[i % 4] = late8_[i] = late1_;
    }
    // `turn`: goes up by one, modulo kTurns.
    HWY_INLINE VF next(VF row, int turn) {
        if constexpr (kLanes > 1) row = stage<1>(row, late1_);
        if constexpr (kLanes > 2) row = stage<2>(row, late2_[turn % 2]);
        if constexpr (kLanes > 4) row = stage<4>(row, late4_[turn % 4]);
        if constexpr (kLanes > 8) row = stage<8>(row, late8_[turn % 8]);
        return row;
    }

private:
    template <int BIT>
    static HWY_INLINE VF stage(VF row, VF& late) {
        const VF out = hn::IfThenElse(lanes_with(BIT), late, row);
        late = row;
        return out;
    }
    VF late1_, late2_[2], late4_[4], late8_[8];
};

// Scores of queries column to column + kLanes get their products by positions.
void add_band(const Scratch& s, int64_t keys, int64_t column) {
    static_assert(kLanes <= 2 * kTurns && kKeys % kTurns == 0);
    const float* from = s.band + (s.columns - column - (kLanes - 1)) * s.columns + column;
    float* to = s.scores + column;
    Diagonals diagonals;
#pragma GCC unroll 16
    for (int i = 1; i < kLanes; ++i, from += s.columns) diagonals.next(hn::LoadU(f, from), i);
    for (int64_t j = 0; j < keys; j += kTurns)
#pragma GCC unroll 8
        for (int i = 0; i < kTurns; ++i, from += s.columns, to += s.columns)
            hn::StoreU(hn::Add(hn::LoadU(f, to), diagonals.next(hn::LoadU(f, from), i)), f, to);
}

// Of all tiles before the block has what the band's last rows were, and makes as many as the tile has keys.
template <int VECTORS>
void add_positions(const AttentionBlock& b, const Scratch& s, int64_t key, int64_t keys, bool first_tile) {
    const int64_t first = b.position_rows / 2 - b.first + key - s.columns;
    if (first_tile)
        band_rows<VECTORS>(b, s, first, 0, s.columns);
    else
        for (int64_t i = 0; i < s.columns * s.columns; i += kLanes)
            hn::StoreU(hn::LoadU(f, s.band + kKeys * s.columns + i), f, s.band + i);
    band_rows<VECTORS>(b, s, first, s.columns, s.columns + keys);
    for (int64_t column = 0; column < s.columns; column += kLanes) add_band(s, keys, column);
}

void cap(const Scratch& s, int64_t keys, float most) {
    const VF by = hn::Set(f, 1 / most);
    const VF to = hn::Set(f, most);
    for (int64_t i = 0; i < keys * s.columns; i += kLanes)
        hn::StoreU(hn::Mul(to, v_tanh(hn::Mul(by, hn::LoadU(f, s.scores + i)))), f, s.scores + i);
}

void mask(const AttentionBlock& b, const Scratch& s, int64_t key, int64_t keys) {
    for (int64_t j = 0; j < keys; ++j) {
        float* row = s.scores + j * s.columns;
        const int64_t at = (key + j) * b.mask_key;
        if (b.added != nullptr && b.mask_row == 0) {
            const VF added = hn::Set(f, b.added[at]);
            for (int64_t c = 0; c < s.columns; c += kLanes) hn::StoreU(hn::Add(hn::LoadU(f, row + c), added), f, row + c);
        } else if (b.added != nullptr) {
            for (int64_t c = 0; c < b.rows; ++c) row[c] += b.added[c * b.mask_row + at];
        } else {
            for (int64_t c = 0; c < b.rows; ++c)
                if (b.seen[c * b.mask_row + at] == 0) row[c] = kUnseen;
        }
    }
}

// What of the block sees key j: queries begin to end.
struct Seen {
    int64_t begin, end;
};
Seen seen_of(const AttentionBlock& b, int64_t j) {
    Seen s{0, b.rows};
    if (b.causal) s.begin = HWY_MAX(s.begin, j - b.first);
    if (b.window > 0) {
        s.begin = HWY_MAX(s.begin, j - b.first - b.window + 1);
        s.end = HWY_MIN(s.end, j - b.first + b.window);
    }
    return s;
}

void hide(const AttentionBlock& b, const Scratch& s, int64_t key, int64_t keys) {
    for (int64_t j = 0; j < keys; ++j) {
        const Seen seen = seen_of(b, key + j);
        float* row = s.scores + j * s.columns;
        for (int64_t c = 0; c < HWY_MIN(seen.begin, b.rows); ++c) row[c] = kUnseen;
        for (int64_t c = HWY_MAX(seen.end, 0); c < b.rows; ++c) row[c] = kUnseen;
    }
}

// Scores become e^(score - most); what was summed before is to be multiplied by `factor`. The queries of a panel side by side: one vector alone
// would wait for each maximum and each sum.
template <int VECTORS>
void exponentials(const Scratch& s, int64_t keys, int64_t column) {
    VF most[VECTORS], from[VECTORS], total[VECTORS];
    const auto each_of = [](auto body) HWY_ATTR {
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) body(v);
    };
    each_of([&](int v) HWY_ATTR { most[v] = hn::LoadU(f, s.most + column + v * kLanes); });
    for (int64_t j = 0; j < keys; ++j) {
        const float* at = s.scores + j * s.columns + column;
        each_of([&](int v) HWY_ATTR { most[v] = hn::Max(most[v], hn::LoadU(f, at + v * kLanes)); });
    }
    each_of([&](int v) HWY_ATTR {
        const int64_t c = column + v * kLanes;
        const VF before = hn::LoadU(f, s.most + c);
        hn::StoreU(most[v], f, s.most + c);
        from[v] = hn::IfThenElse(hn::Eq(most[v], hn::Set(f, kUnseen)), hn::Zero(f), most[v]);  // no key is seen yet
        const VF factor = v_exp(hn::Sub(before, from[v]));
        hn::StoreU(factor, f, s.factor + c);
        total[v] = hn::Mul(hn::LoadU(f, s.total + c), factor);
    });
    for (int64_t j = 0; j < keys; ++j) {
        float* at = s.scores + j * s.columns + column;
        each_of([&](int v) HWY_ATTR {
            const VF e = v_exp(hn::Sub(hn::LoadU(f, at + v * kLanes), from[v]));
            hn::StoreU(e, f, at + v * kLanes);
            total[v] = hn::Add(total[v], e);
        });
    }
    each_of([&](int v) HWY_ATTR { hn::StoreU(total[v], f, s.total + column + v * kLanes); });
}

// Of a tile's keys: column c of v begins at `first` + c * `column`, and rows are `row` apart.
struct Values {
    const float* first;
    int64_t column, row;
};

// Panels of kBlock columns of v, one key behind the other, unless rows are whole panels anyhow.
Values values_of(const AttentionBlock& b, const Scratch& s, int64_t key, int64_t keys) {
    const float* first = rows_of(b.v, b.v_blocks, s, key, keys, b.width);
    if (b.width % kBlock == 0) return {first, 1, b.width};
    for (int64_t column = 0; column < b.width; column += kBlock)
        for (int64_t j = 0; j < keys; ++j) {
            const float* from = first + j * b.width + column;
            float* to = s.values + column * kKeys + j * kBlock;
            for (int v = 0; v < kVectors; ++v) {
                const int64_t left = b.width - column - v * kLanes;
                hn::StoreU(left > 0 ? load_first(from + v * kLanes, left) : VF(hn::Zero(f)), f, to + v * kLanes);
            }
        }
    return {s.values, kKeys, kBlock};
}

// tile[i][j] += sum over k of a[k * pitch + i] * b[k * row][j]
template <int ROWS>
HWY_INLINE void multiply_columns(Tile<ROWS, kVectors>& tile, const float* a, int64_t pitch, const float* b, int64_t row,
                                 int64_t depth) {
    for (int64_t k = 0; k < depth; ++k) {
        VF column[kVectors];
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) column[j] = hn::LoadU(f, b + k * row + j * kLanes);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            const VF factor = hn::Set(f, a[k * pitch + i]);
#pragma GCC unroll 4
            for (int j = 0; j < kVectors; ++j) tile.v[i][j] = hn::MulAdd(factor, column[j], tile.v[i][j]);
        }
    }
}

// Of queries row to row + ROWS, those that are there: sums = sums * factor + scores by values.
template <int ROWS>
void add_values(const AttentionBlock& b, const Scratch& s, const Values& values, int64_t row, int64_t keys) {
    for (int64_t column = 0; column < b.width; column += kBlock) {
        Tile<ROWS, kVectors> tile;
        clear(tile);
        multiply_columns(tile, s.scores + row, s.columns, values.first + column * values.column, values.row, keys);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            if (row + i >= b.rows) break;
            float* to = s.sums + (row + i) * padded(b.width) + column;
            const VF factor = hn::Set(f, s.factor[row + i]);
#pragma GCC unroll 4
            for (int j = 0; j < kVectors; ++j)
                hn::StoreU(hn::MulAdd(hn::LoadU(f, to + j * kLanes), factor, tile.v[i][j]), f, to + j * kLanes);
        }
    }
}

void finish_rows(const AttentionBlock& b, const Scratch& s) {
    for (int64_t row = 0; row < b.rows; ++row) {
        const VF by = hn::Set(f, s.most[row] == kUnseen ? 0.0f : 1.0f / s.total[row]);
        const float* from = s.sums + row * padded(b.width);
        for (int64_t e = 0; e < b.width; e += kLanes)
            store_first(hn::Mul(by, hn::LoadU(f, from + e)), b.out + row * b.out_row + e, b.width - e);
    }
}

void block(const AttentionBlock* given, float* memory) {
    const AttentionBlock& b = *given;
    const Scratch s(b.rows, b.size, b.width, b.positions != nullptr, b.v_blocks != nullptr, memory);
    pack_queries(b, s, s.vectors * kLanes, b.bias_u, s.queries);
    if (b.positions != nullptr) pack_queries(b, s, s.vectors * kLanes, b.bias_v, s.placed);
    for (int64_t c = 0; c < s.columns; ++c) s.most[c] = kUnseen, s.total[c] = 0;
    for (int64_t i = 0; i < b.rows * padded(b.width); ++i) s.sums[i] = 0;
    const int64_t last = b.first + b.rows - 1;  // where the last query stands
    int64_t end = b.causal ? HWY_MIN(b.length, last + 1) : b.length;
    if (b.window > 0) end = HWY_MIN(end, last + b.window);
    const int64_t begin = b.window > 0 ? HWY_MAX(0, b.first - b.window + 1) : 0;
    for (int64_t key = begin; key < end; key += kKeys) {
        const int64_t keys = HWY_MIN(kKeys, end - key);
        if (s.vectors == 1)
            scores_of<1>(b, s, key, keys);
        else
            scores_of<kVectors>(b, s, key, keys);
        if (b.positions != nullptr && s.vectors == 1)
            add_positions<1>(b, s, key, keys, key == begin);
        else if (b.positions != nullptr)
            add_positions<kVectors>(b, s, key, keys, key == begin);
        if (b.softcap > 0) cap(s, keys, b.softcap);
        if (b.added != nullptr || b.seen != nullptr) mask(b, s, key, keys);
        const Seen first = seen_of(b, key);
        const Seen second = seen_of(b, key + keys - 1);
        if (second.begin > 0 || first.end < b.rows) hide(b, s, key, keys);
        if (s.vectors == 1)
            exponentials<1>(s, keys, 0);
        else
            for (int64_t column = 0; column < s.columns; column += kBlock) exponentials<kVectors>(s, keys, column);
        const Values values = values_of(b, s, key, keys);
        if (b.rows == 1)
            add_values<1>(b, s, values, 0, keys);
        else
            for (int64_t row = 0; row < b.rows; row += kRows) add_values<kRows>(b, s, values, row, keys);
    }
    finish_rows(b, s);
}

void rotate(const float* x, const float* c, const float* s, float* y, int64_t pairs) {
    for (int64_t i = 0; i < pairs; i += kLanes) {
        const int64_t n = pairs - i;
        const VF a = load_first(x + i, n);
        const VF b = load_first(x + pairs + i, n);
        const VF u = load_first(c + i, n);
        const VF v = load_first(s + i, n);
        store_first(hn::Sub(hn::Mul(a, u), hn::Mul(b, v)), y + i, n);
        store_first(hn::MulAdd(a, v, hn::Mul(b, u)), y + pairs + i, n);
    }
}

void rotate_interleaved(const float* x, const float* c, const float* s, float* y, int64_t pairs) {
    for (int64_t i = 0; i < pairs; ++i) {
        const float a = x[2 * i];
        const float b = x[2 * i + 1];
        y[2 * i] = a * c[i] - b * s[i];
        y[2 * i + 1] = a * s[i] + b * c[i];
    }
}

}  // namespace

BP_CPU_ENTRY(attention, AttentionKernels) {
    table->scratch = scratch_of;
    table->block = block;
    table->rotate = rotate;
    table->rotate_interleaved = rotate_interleaved;
}
