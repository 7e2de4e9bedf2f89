// clang-format off
// A BM x BN tile of a product of matrices by one workgroup: BK deep slices of both operands stand in shared memory, every invocation sums
// TM x TN elements in registers. LOCAL = BM / TM * BN / TN, and a multiple of BN; TM and TN are multiples of 4. Shared memory is read four
// elements at a time: its bandwidth is what limits the sums.
CONSTANT(3, BM, 32)
CONSTANT(4, BN, 32)
CONSTANT(5, TM, 4)
CONSTANT(6, TN, 4)
CONSTANT(7, BK, 16)
#define TILE_COLUMNS (BN / TN)  // invocations across
#define ROW_A (BM / 4 + 1)
#define ROW_B (BN / 4)
#define SHARED_TILES SHARED(float4, tile_a, BK * (BM / 4 + 1)) SHARED(float4, tile_b, BK * (BN / 4))
// Operands in memory, and an element on its way from there.
#define LEFT_TYPE U
#define RIGHT_TYPE T
#define FETCHED float
#define FETCH_LEFT LOAD_U
#define FETCH_RIGHT LOAD
#define PUT_A(k, m, v) PUT_PART(tile_a, (k) * (ROW_A * 4) + (m), v)
#define PUT_B(k, n, v) PUT_PART(tile_b, (k) * (ROW_B * 4) + (n), v)

// Rows and columns of an invocation come in fours: row i is row_of(i), column j is column_of(j).
#define ROW_OF(i) (LOCAL_INDEX / TILE_COLUMNS * 4u + (i) / 4u * (BM / TM * 4) + (i) % 4u)
#define COLUMN_OF(j) (LOCAL_INDEX % TILE_COLUMNS * 4u + (j) / 4u * (TILE_COLUMNS * 4) + (j) % 4u)

#define TILE_SUMS(sums)           \
    float4 sums[TM * TN / 4];     \
    UNROLL for (uint i_ = 0u; i_ < TM * TN / 4; ++i_) sums[i_] = ALL_4(0.0f);
#define SUM_AT(sums, i, j) PART(sums[(i) * (TN / 4) + (j) / 4u], (j) % 4u)
#define MULTIPLY_TILES(sums)                                                                                           \
    UNROLL for (uint k_ = 0u; k_ < BK; ++k_) {                                                                         \
        float4 a_[TM / 4];                                                                                             \
        float4 b_[TN / 4];                                                                                             \
        UNROLL for (uint i_ = 0u; i_ < TM / 4; ++i_)                                                                   \
            a_[i_] = tile_a[k_ * ROW_A + LOCAL_INDEX / TILE_COLUMNS + i_ * (BM / TM)];                                 \
        UNROLL for (uint j_ = 0u; j_ < TN / 4; ++j_)                                                                   \
            b_[j_] = tile_b[k_ * ROW_B + LOCAL_INDEX % TILE_COLUMNS + j_ * TILE_COLUMNS];                              \
        UNROLL for (uint i_ = 0u; i_ < TM / 4; ++i_) {                                                                 \
            UNROLL for (uint j_ = 0u; j_ < TN / 4; ++j_) {                                                             \
                sums[(i_ * 4u + 0u) * (TN / 4) + j_] += a_[i_].x * b_[j_];                                             \
                sums[(i_ * 4u + 1u) * (TN / 4) + j_] += a_[i_].y * b_[j_];                                             \
                sums[(i_ * 4u + 2u) * (TN / 4) + j_] += a_[i_].z * b_[j_];                                             \
                sums[(i_ * 4u + 3u) * (TN / 4) + j_] += a_[i_].w * b_[j_];                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
// TAKE(row, column, sum) of each element that is this invocation's.
#define EACH_SUM(sums, TAKE)                                                                                           \
    UNROLL_ON_GPUS for (uint i_ = 0u; i_ < TM; ++i_) {                                                                 \
        UNROLL_ON_GPUS for (uint j_ = 0u; j_ < TN; ++j_) TAKE(ROW_OF(i_), COLUMN_OF(j_), SUM_AT(sums, i_, j_))         \
    }
