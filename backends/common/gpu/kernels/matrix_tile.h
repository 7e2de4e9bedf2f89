// clang-format off
// As tile.h, on the matrix units (matrices.h), operands in f16 and sums in float32: a workgroup of four warps makes 64 x 128, each warp 64 x 32.
#define BM 64u
#define BN 128u
#define BK 32u
#define ROW_A (BK + 8u)
#define ROW_B (BN + 8u)
#define SHARED_TILES SHARED_HALVES(tile_a, BM * ROW_A) SHARED_HALVES(tile_b, BK * ROW_B) SHARED(uint4, stage, 256)
#define LEFT_TYPE H
#define RIGHT_TYPE H
#define FETCHED H
#define FETCH_LEFT RAW
#define FETCH_RIGHT RAW
#define PUT_A(k, m, v) PUT_HALF(tile_a, (m) * ROW_A + (k), v)
#define PUT_B(k, n, v) PUT_HALF(tile_b, (k) * ROW_B + (n), v)
#define TILE_SUMS(sums)  \
    MATRIX_SUM sums[8];  \
    UNROLL_MATRICES for (uint n_ = 0u; n_ < 8u; ++n_) CLEAR_SUM(sums[n_]);
#define MULTIPLY_TILES(sums)                                                                                           \
    UNROLL_MATRICES for (uint k_ = 0u; k_ < BK; k_ += 16u) {                                                           \
        MATRIX_B right_[2];                                                                                            \
        UNROLL_MATRICES for (uint j_ = 0u; j_ < 2u; ++j_)                                                              \
            LOAD_B(right_[j_], tile_b, HALVES(k_ * ROW_B + WARP_INDEX * 32u + j_ * 16u), HALVES(ROW_B), false);        \
        UNROLL_MATRICES for (uint i_ = 0u; i_ < 4u; ++i_) {                                                            \
            MATRIX_A above_;                                                                                           \
            LOAD_A(above_, tile_a, HALVES(i_ * 16u * ROW_A + k_), HALVES(ROW_A), false);                               \
            UNROLL_MATRICES for (uint j_ = 0u; j_ < 2u; ++j_) MULTIPLY(sums[i_ * 2u + j_], above_, right_[j_]);        \
        }                                                                                                              \
    }
// Through shared memory, a matrix at a time: who holds which element of a sum is the driver's.
#define EACH_SUM(sums, TAKE)                                                                                           \
    UNROLL_MATRICES for (uint n_ = 0u; n_ < 8u; ++n_) {                                                                \
        STORE_SUM(sums[n_], stage, WARP_INDEX * 64u, 4u);                                                              \
        BARRIER;                                                                                                       \
        UNROLL_ON_GPUS for (uint at_ = LANE_INDEX; at_ < 256u; at_ += 32u) {                                           \
            TAKE(n_ / 2u * 16u + at_ / 16u, WARP_INDEX * 32u + n_ % 2u * 16u + at_ % 16u,                              \
                 STAGED(stage, WARP_INDEX * 64u, 4u, at_ / 16u, at_ % 16u))                                            \
        }                                                                                                              \
        BARRIER;                                                                                                       \
    }
