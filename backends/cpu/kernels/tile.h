// The register tile all matrix-like kernels share: ROWS x VECTORS accumulators, their sums of products, their epilogue.
#pragma once

#include "kernels/epilogue.h"
#include "kernels/functions.h"
#include "kernels/simd.h"

namespace {

template <int ROWS, int VECTORS>
struct Tile {
    VF v[ROWS][VECTORS];
};

template <int ROWS, int VECTORS>
HWY_INLINE void clear(Tile<ROWS, VECTORS>& tile) {
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) tile.v[i][j] = hn::Zero(f);
}

// tile[i][j] += sum over k of a[i][k] * b[k][j]; b is packed, VECTORS vectors for each k.
template <int ROWS, int VECTORS>
HWY_INLINE void multiply(Tile<ROWS, VECTORS>& tile, const float* const (&a)[ROWS], const float* b, int64_t depth) {
    for (int64_t k = 0; k < depth; ++k) {
        VF column[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) column[j] = hn::LoadU(f, b + j * kLanes);
        b += VECTORS * kLanes;
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            const VF row = hn::Set(f, a[i][k]);
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) tile.v[i][j] = hn::MulAdd(row, column[j], tile.v[i][j]);
        }
    }
}

template <int ROWS, int VECTORS, typename Function>
HWY_INLINE void each(Tile<ROWS, VECTORS>& tile, Function function) {
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) tile.v[i][j] = function(tile.v[i][j], i, j);
}

// Transcendental functions are long: one copy of their code, not one per element of the tile.
template <int ROWS, int VECTORS>
HWY_NOINLINE void each_long(Tile<ROWS, VECTORS>& tile, uint32_t op) {
    VF* v = &tile.v[0][0];
    for (int i = 0; i < ROWS * VECTORS; ++i) {
        if (op == BP_OP_silu) v[i] = f_silu(v[i], 0, 0);
        if (op == BP_OP_sigmoid) v[i] = f_sigmoid(v[i], 0, 0);
        if (op == BP_OP_tanh) v[i] = f_tanh(v[i], 0, 0);
    }
}

// Floats of vector j, of `columns` in the tile.
HWY_INLINE int64_t floats_in(int64_t columns, int j) { return columns - j * kLanes; }

// Applies the epilogue. Row i of the tile is row rows[i] of the result, its first column is `column`; `columns` are valid.
template <int ROWS, int VECTORS>
HWY_INLINE void finish(Tile<ROWS, VECTORS>& tile, const backplane::cpu::Epilogue& epilogue, const int64_t (&rows)[ROWS],
                       int64_t column, int64_t columns) {
    for (int32_t o = 0; o < epilogue.count; ++o) {
        const backplane::cpu::EpilogueOp& op = epilogue.ops[o];
        switch (op.kind) {
            case backplane::cpu::kEpilogueBias: {
                VF bias[VECTORS];
                for (int j = 0; j < VECTORS; ++j) bias[j] = load_first(op.data + column + j * kLanes, floats_in(columns, j));
                each(tile, [&](VF x, int, int j) HWY_ATTR { return hn::Add(x, bias[j]); });
                break;
            }
            case backplane::cpu::kEpilogueRowBias: {
                VF bias[ROWS];
                for (int i = 0; i < ROWS; ++i) bias[i] = hn::Set(f, op.data[rows[i] * op.stride]);
                each(tile, [&](VF x, int i, int) HWY_ATTR { return hn::Add(x, bias[i]); });
                break;
            }
            case backplane::cpu::kEpilogueScale: {
                const VF factor = hn::Set(f, op.a);
                each(tile, [&](VF x, int, int) HWY_ATTR { return hn::Mul(x, factor); });
                break;
            }
            case backplane::cpu::kEpilogueAdd:
                each(tile, [&](VF x, int i, int j) HWY_ATTR {
                    return hn::Add(x,
                                   load_first(op.data + rows[i] * op.stride + column + j * kLanes, floats_in(columns, j)));
                });
                break;
            default:
                if (op.op == BP_OP_relu) {
                    each(tile, [&](VF x, int, int) HWY_ATTR { return f_relu(x, 0, 0); });
                } else if (op.op == BP_OP_leaky_relu) {
                    each(tile, [&](VF x, int, int) HWY_ATTR { return f_leaky_relu(x, op.a, 0); });
                } else if (op.op == BP_OP_clip) {
                    each(tile, [&](VF x, int, int) HWY_ATTR { return f_clip(x, op.a, op.b); });
                } else {
                    each_long(tile, op.op);
                }
        }
    }
}

// The first `valid` rows and `columns`, to `out` and rows of `out_row` floats behind it. Which sum is meant is known at each place, for sums that are
// picked by a number that is not are kept in memory, while they are made too.
template <int ROWS, int VECTORS>
HWY_INLINE void store_rows(const Tile<ROWS, VECTORS>& tile, int64_t valid, int64_t columns, float* out, int64_t out_row) {
    const bool whole = columns >= VECTORS * kLanes;
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
        if (i >= valid) return;
        float* const to = out + i * out_row;
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) {
            if (whole)
                hn::StoreU(tile.v[i][j], f, to + j * kLanes);
            else
                store_first(tile.v[i][j], to + j * kLanes, floats_in(columns, j));
        }
    }
}

// The epilogue, of a copy: its long functions take the address of what they change, so that without this sums would be in memory, epilogue or not.
template <int ROWS, int VECTORS>
HWY_INLINE void finish_copy(Tile<ROWS, VECTORS>& tile, const backplane::cpu::Epilogue& epilogue, const int64_t (&rows)[ROWS],
                            int64_t column, int64_t columns) {
    if (epilogue.count == 0) return;
    Tile<ROWS, VECTORS> finished = tile;
    finish(finished, epilogue, rows, column, columns);
    tile = finished;
}

// The epilogue, and the store to out[rows[i] * out_row + column]: one copy of it for each size of tile, for kernels of so much work that a
// call is nothing beside it.
template <int ROWS, int VECTORS>
HWY_NOINLINE void finish_and_store(Tile<ROWS, VECTORS>& tile, const backplane::cpu::Epilogue& epilogue,
                                   const int64_t (&rows)[ROWS], int64_t column, int64_t columns, float* out,
                                   int64_t out_row) {
    finish(tile, epilogue, rows, column, columns);
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < VECTORS; ++j)
            store_first(tile.v[i][j], out + rows[i] * out_row + column + j * kLanes, floats_in(columns, j));
}

}  // namespace
