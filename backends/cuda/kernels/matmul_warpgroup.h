// clang-format off
#include "common.h"
#include "warpgroup.h"
#include "epilogue.h"
// A product of halves on the matrix units of compute capability 9.0, sums in float32: the first four warps have the device copy slices of both
// operands, 64 deep, into a ring of STAGES in shared memory; two times four others make 64 x BN each of a tile of 128 x BN. A workgroup goes on
// with further tiles, whose operands are on their way while it finishes one. Rows of memory are of multiples of eight elements.
// Clusters of workgroups that share what they read were slower in all of a sweep (docs/benchmarks.md). Those of SPLIT_DEPTH share a tile: each of
// SPLIT multiplies its part of the slices, and finishes a part of the columns with the sums of all.
CONSTANT(3, BN, 128)
CONSTANT(4, STAGES, 4)
CONSTANT(5, TRANSPOSE_A, 0)
CONSTANT(6, TRANSPOSE_B, 0)
#if defined(SPLIT_DEPTH)
CONSTANT(7, PARTS, 4)
#define SPLIT PARTS
#define IN_CLUSTERS __cluster_dims__(SPLIT, 1, 1)
#else
#define SPLIT 1u
#define IN_CLUSTERS
#endif
#define BM 128u
#define BK 64u
#define BYTES_A (BM * LINE_BYTES)
#define BYTES_B (BN * LINE_BYTES)
#define STAGE_BYTES (BYTES_A + BYTES_B)
#define BAND 2u  // tiles below each other before it goes on across: those that are made at once share more of what they read
#define SUMS_BYTES (SPLIT > 1u ? BM * BN * 4u : 0u)
#define BLOCKS (BN / 32u)  // of columns, which an invocation holds 16 sums of
static_assert(STAGES * (STAGE_BYTES + 16u) + SUMS_BYTES + 1024u <= SHARED_BYTES, "instances.cmake: shared");
struct Tile { uint batch, row, column; };
WARPGROUP_FUNCTION Tile tile_of(uint number, uint down, uint across) {
    uint in_matrix = number % (down * across), size = BAND * across;
    uint band = in_matrix / size * BAND, height = min(down - band, BAND);
    return Tile{number / (down * across), (band + in_matrix % size % height) * BM, in_matrix % size / height * BN};
}
// A slice of an operand that is `width` across and lies along the depth, or across it (`turned`), by all of the four warps.
WARPGROUP_FUNCTION void copy_slice(uint to, const F16 *p, U64 matrix, uint turned, uint across, uint size, uint width, uint deep, uint depth) {
    if (turned != 0u) {
        for (uint c = 0u; c < size / 64u; ++c) copy_lines(to + c * BK * LINE_BYTES, p, matrix, BK, deep, depth, across + c * 64u, width, width);
    } else {
        copy_lines(to, p, matrix, size, across, width, deep, depth, depth);
    }
}
#if defined(BUFFERS)
// The same, asked for.
template <uint SIZE>
WARPGROUP_FUNCTION void ask_slice(uint to, const F16 *p, U64 matrix, uint turned, uint across, uint width, uint deep, uint depth) {
    if (turned != 0u) {
        UNROLL for (uint c = 0u; c < SIZE / 64u; ++c) ask_lines<BK>(to + c * BK * LINE_BYTES, p, matrix, deep, depth, across + c * 64u, width, width);
    } else {
        ask_lines<SIZE>(to, p, matrix, across, width, deep, depth, depth);
    }
}
#else
// The same by the device, one invocation's doing.
template <uint SIZE>
WARPGROUP_FUNCTION void ask_slice(uint to, const TensorMap &map, uint bar, uint turned, uint across, uint deep, uint matrix) {
    if (turned != 0u) {
        UNROLL for (uint c = 0u; c < SIZE / 64u; ++c) copy_box(to + c * BK * LINE_BYTES, map, bar, across + c * 64u, deep, matrix);
    } else {
        copy_box(to, map, bar, deep, across, matrix);
    }
}
#endif
// All slices of a tile; `free(slot)` says that one has been multiplied.
template <int TA, int TB, typename Free>
WARPGROUP_FUNCTION void multiply_slices(float (&d)[BN / 2u], Ring<STAGES> &ring, uint slices, uint full, uint slots, uint own, const Free &free) {
    uint before = 0u;
    for (uint k = 0u; k < slices; ++k) {
        wait_filled(full + 8u * ring.slot, ring.turn);
        U64 left = lines_at(slots + ring.slot * STAGE_BYTES + own * (64u * LINE_BYTES), BK * LINE_BYTES);
        U64 right = lines_at(slots + ring.slot * STAGE_BYTES + BYTES_A, BK * LINE_BYTES);
        UNITS_BEGIN;
        UNROLL for (uint i = 0u; i < BK / 16u; ++i)
            Units<BN>::template multiply<TA, TB>(d, left + i * (TA ? 16u * LINE_BYTES / 16u : 2u), right + i * (TB ? 16u * LINE_BYTES / 16u : 2u), k + i > 0u);
        UNITS_END;
        if (k > 0u) {
            UNITS_WAIT(1);
            free(before);
        }
        before = ring.slot;
        ring.next();
    }
    UNITS_WAIT(0);
    free(before);
}
// Until all of a cluster have come so far, and what they wrote can be seen.
WARPGROUP_FUNCTION void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
WARPGROUP_FUNCTION void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
// Where four sums of block g of columns lie for the others of a cluster.
WARPGROUP_FUNCTION uint shown_at(uint sums, uint own, uint g, uint j) { return sums + (((own * BLOCKS + g) * 4u + j) * 128u + LOCAL_INDEX % 128u) * 16u; }
WARPGROUP_FUNCTION void show_sums(const float (&d)[BN / 2u], uint sums, uint own) {
    UNROLL for (uint e = 0u; e < BN / 2u; e += 4u)
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(shown_at(sums, own, e / 16u, e / 4u % 4u)), "f"(d[e]), "f"(d[e + 1u]), "f"(d[e + 2u]), "f"(d[e + 3u]) : "memory");
    cluster_arrive();
    cluster_wait();
}
// To a block's own sums what the others have of them. Those that the units write stay as they are: the compiler would have each product waited for.
WARPGROUP_FUNCTION void add_others(float (&v)[16], uint sums, uint own, uint g, uint part) {
    UNROLL for (uint o = 1u; o < SPLIT; ++o)
        UNROLL for (uint j = 0u; j < 4u; ++j) {
            uint there;
            float more[4];
            asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shown_at(sums, own, g, j)), "r"((part + o) % SPLIT));
            asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(more[0]), "=f"(more[1]), "=f"(more[2]), "=f"(more[3]) : "r"(there) : "memory");
            UNROLL for (uint i = 0u; i < 4u; ++i) v[j * 4u + i] += more[i];
        }
}
// One step (`simple`: no function but Silu) of what is done with sums, with those of four eights of columns that an invocation holds of two rows.
WARPGROUP_FUNCTION void finish(uint kind, float (&v)[16], const F16 *bias, const F16 *residual, float a, float b, uint row, uint column, uint rows, uint columns, U64 matrix, bool simple) {
    if (simple && kind == EPILOGUE_FUNCTION) {
        UNROLL for (uint i = 0u; i < 16u; ++i) v[i] *= sigmoid_nearly(v[i]);
        return;
    }
    if (kind == EPILOGUE_FUNCTION) {
        float x[16];
        UNROLL for (uint i = 0u; i < 16u; ++i) x[i] = v[i];
        UNROLL_STEPS for (uint i = 0u; i < 16u; ++i) x[i] = unary_op(EPILOGUE_OP, x[i], a, b);
        UNROLL for (uint i = 0u; i < 16u; ++i) v[i] = x[i];
        return;
    }
    // What is outside is not stored, and reads what is inside.
    if (kind == EPILOGUE_BIAS) {
        UNROLL for (uint g = 0u; g < 4u; ++g)
            UNROLL for (uint c = 0u; c < 2u; ++c) {
                float own = LOAD(bias, min(column + g * 8u + c, columns - 1u));
                v[g * 4u + c] += own;
                v[g * 4u + 2u + c] += own;
            }
    } else if (kind == EPILOGUE_ADD_FIRST || kind == EPILOGUE_ADD_SECOND) {
        UNROLL for (uint r = 0u; r < 2u; ++r) {
            const F16 *line = residual + matrix + (U64)min(row + 8u * r, rows - 1u) * columns;
            UNROLL for (uint g = 0u; g < 4u; ++g)
                UNROLL for (uint c = 0u; c < 2u; ++c) v[g * 4u + r * 2u + c] += LOAD(line, min(column + g * 8u + c, columns - 1u));
        }
    } else if (kind == EPILOGUE_SCALE) {
        UNROLL for (uint i = 0u; i < 16u; ++i) v[i] *= a;
    } else if (kind == EPILOGUE_LEAKY) {
        UNROLL for (uint i = 0u; i < 16u; ++i) v[i] = v[i] < 0.0f ? a * v[i] : v[i];
    } else {
        float least = kind == EPILOGUE_RELU ? 0.0f : a, highest = kind == EPILOGUE_RELU ? K_INFINITY : b;
        UNROLL for (uint i = 0u; i < 16u; ++i) {
            float raised = v[i] < least ? least : v[i];
            v[i] = is_nan(v[i]) ? v[i] : raised > highest ? highest : raised;
        }
    }
}
#if defined(BUFFERS)
#define MAPS
#define PREFETCH_MAPS
#define ASK_SLICE(size, to, name, turned, across, width, deep) ask_slice<size>(to, name, first_##name, turned, across, width, deep, depth)
#else
#define MAPS , const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b
#define PREFETCH_MAPS prefetch_map(map_a), prefetch_map(map_b)
#define ASK_SLICE(size, to, name, turned, across, width, deep) ask_slice<size>(to, map_##name, bar, turned, across, deep, matrix_##name)
#endif
extern "C" __global__ void IN_CLUSTERS __launch_bounds__(LOCAL, 1) ENTRY_NAMED(INSTANCE)(
    PARAMETERS(MatMul), const T *a, const T *b, const T *bias, const T *residual0, const T *residual1, T *y MAPS) {
    TAKE_OPERAND(0, a) TAKE_OPERAND(1, b) TAKE_OPERAND(2, bias) TAKE_OPERAND(3, residual0) TAKE_OPERAND(4, residual1) TAKE_OPERAND(5, y)
    const MatMulParameters &P = *(const MatMulParameters *)words.word;
    START_THOSE_BEHIND;
    extern __shared__ char shared[];
    uint slots = (shared_place(shared) + 1023u) & ~1023u;
    uint full = slots + STAGES * STAGE_BYTES, empty = full + 8u * STAGES, sums = empty + 8u * STAGES;
    if (LOCAL_INDEX == 0u) {
        make_ring(full, empty, STAGES, 2u);
        bars_are_made();
    }
    BARRIER;
    uint rows = P.rows, columns = P.columns, depth = P.depth;
    uint down = (rows + BM - 1u) / BM, across = (columns + BN - 1u) / BN;
    uint slices = (depth + BK - 1u) / BK;
    uint part = blockIdx.x % SPLIT, first_slice = slices * part / SPLIT, end_slice = slices * (part + 1u) / SPLIT;
    if (LOCAL_INDEX == 0u && ALIGNED_8(a, 0) && ALIGNED_8(b, 0)) { PREFETCH_MAPS; }
    BP_WAIT_FOR_THOSE_BEFORE
    Ring<STAGES> ring;
    uint tiles = P.blocks;  // of all matrices
    uint kinds = EPILOGUE_KINDS, turned_a = TRANSPOSE_A, turned_b = 1u - TRANSPOSE_B;  // looked up once: what is asked for in a loop is on its way all the time
    if (LOCAL_INDEX < 128u) {
        fewer_registers();
        auto matrix_of = [&](uint batch, uint steps) {
            uint matrix = 0u;
            for (uint d = P.batch_rank; d-- > 0u;) {
                matrix += batch % WORD(MATMUL_SIZES + d) * WORD(steps + d);
                batch /= WORD(MATMUL_SIZES + d);
            }
            return matrix;
        };
        bool by_device = ALIGNED_8(a, 0) && ALIGNED_8(b, 0);
        if (WRITERS == 1u && by_device && LOCAL_INDEX != 0u) return;
        for (uint number = blockIdx.x / SPLIT; number < tiles; number += gridDim.x / SPLIT) {
            Tile tile = tile_of(number, down, across);
            uint matrix_a = matrix_of(tile.batch, MATMUL_STEPS_A), matrix_b = matrix_of(tile.batch, MATMUL_STEPS_B);
            U64 first_a = (U64)matrix_a * rows * depth, first_b = (U64)matrix_b * columns * depth;
            for (uint k = first_slice; k < end_slice; ++k) {
                uint bar = full + 8u * ring.slot, at = slots + ring.slot * STAGE_BYTES;
                bar_wait(empty + 8u * ring.slot, ring.turn ^ 1u);
                fill(
                    bar, by_device, STAGE_BYTES,
                    [&] {
                        ASK_SLICE(BM, at, a, turned_a, tile.row, rows, k * BK);
                        ASK_SLICE(BN, at + BYTES_A, b, turned_b, tile.column, columns, k * BK);
                    },
                    [&] {
                        copy_slice(at, a, first_a, turned_a, tile.row, BM, rows, k * BK, depth);
                        copy_slice(at + BYTES_A, b, first_b, turned_b, tile.column, BN, columns, k * BK, depth);
                    });
                ring.next();
            }
        }
    } else {
        more_registers();
        uint own = LOCAL_INDEX / 128u - 1u, lane = LOCAL_INDEX % 32u, q = lane % 4u;
        auto free = [&](uint slot) {
            if (LOCAL_INDEX % 128u == 0u) bar_arrive(empty + 8u * slot);
        };
        for (uint number = blockIdx.x / SPLIT; number < tiles; number += gridDim.x / SPLIT) {
            Tile tile = tile_of(number, down, across);
            float d[BN / 2u];
            if (turned_a == 0u && turned_b == 0u) multiply_slices<0, 0>(d, ring, end_slice - first_slice, full, slots, own, free);
            else if (turned_a == 0u) multiply_slices<0, 1>(d, ring, end_slice - first_slice, full, slots, own, free);
            else if (turned_b == 0u) multiply_slices<1, 0>(d, ring, end_slice - first_slice, full, slots, own, free);
            else multiply_slices<1, 1>(d, ring, end_slice - first_slice, full, slots, own, free);
            if constexpr (SPLIT > 1u) show_sums(d, sums, own);
            auto elsewhere = [&](uint g) { return SPLIT > 1u && (own * BLOCKS + g) % SPLIT != part; };
            uint row = tile.row + own * 64u + LOCAL_INDEX % 128u / 32u * 16u + lane / 4u;
            U64 matrix = (U64)tile.batch * rows * columns;
            bool eights = columns % 8u == 0u && ALIGNED_8(y, 0);
            auto put = [&](float (&v)[16], uint g, bool at_once) {  // what four eights of columns become, and where they go
                UNROLL for (uint r = 0u; r < 2u; ++r) {
                    uint own_row = row + r * 8u;
                    uint4 v8 = whole_eight(two_halves(v[2u * r], v[2u * r + 1u]), two_halves(v[4u + 2u * r], v[5u + 2u * r]),
                                           two_halves(v[8u + 2u * r], v[9u + 2u * r]), two_halves(v[12u + 2u * r], v[13u + 2u * r]), q);
                    uint column = tile.column + g * 32u + q * 8u;
                    if (own_row < rows && column < columns) {
                        ushort *to = (ushort *)y + matrix + (U64)own_row * columns + column;
                        if (at_once) *(uint4 *)to = v8;
                        else {
                            uint w[4] = {v8.x, v8.y, v8.z, v8.w};
                            UNROLL for (uint i = 0u; i < 8u; ++i)
                                if (column + i < columns) to[i] = (ushort)(w[i / 2u] >> (i % 2u * 16u));
                        }
                    }
                }
            };
            auto finish_and_put = [&](float (&v)[16], uint g, bool simple) {
                if constexpr (SPLIT > 1u) add_others(v, sums, own, g, part);
                UNROLL_STEPS for (uint s = 0u; s < EPILOGUE_STEPS; ++s) {
                    uint kind = (kinds >> (4u * s) & 15u) - 1u;
                    if (kind == EPILOGUE_NONE) break;
                    finish(kind, v, bias, kind == EPILOGUE_ADD_FIRST ? residual0 : residual1, WORD_FLOAT(MATMUL_EPILOGUE + 2u + 3u * s),
                           WORD_FLOAT(MATMUL_EPILOGUE + 3u + 3u * s), row, tile.column + g * 32u + q * 2u, rows, columns, matrix, simple);
                }
                put(v, g, simple || eights);
            };
            if (eights && (EPILOGUE_OP == BP_OP_silu || !has_kind(kinds, EPILOGUE_FUNCTION))) {
                UNROLL for (uint g = 0u; g < BLOCKS; ++g) {
                    if (elsewhere(g)) continue;
                    float v[16];
                    UNROLL for (uint e = 0u; e < 16u; ++e) v[e] = d[g * 16u + e];
                    finish_and_put(v, g, true);
                }
            } else {  // the text of all functions stands here once
                UNROLL_STEPS for (uint g = 0u; g < BLOCKS; ++g) {
                    if (elsewhere(g)) continue;
                    float v[16];
                    UNROLL for (uint i = 0u; i < BLOCKS; ++i)
                        if (g == i) UNROLL for (uint e = 0u; e < 16u; ++e) v[e] = d[i * 16u + e];
                    finish_and_put(v, g, false);
                }
            }
            if constexpr (SPLIT > 1u) cluster_arrive(), cluster_wait();  // others read what this one has
        }
    }
}
