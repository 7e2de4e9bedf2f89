// A BM x BN tile of a product of matrices by one workgroup: BK deep slices of both operands stand in local memory, every invocation
// sums TM x TN elements in registers. LOCAL = BM / TM * BN / TN, and a multiple of BN; TM and TN are multiples of 4. Local memory is
// read four elements at a time: its bandwidth is what limits the sums.
#define BM C3
#define BN C4
#define TM C5
#define TN C6
#define BK C7
#define TILE_COLUMNS (BN / TN)  // invocations across
#define ROW_A (BM / 4 + 1)
#define ROW_B (BN / 4)
#define TILE_A(tile, k, m) ((local float *)(tile))[(k) * (ROW_A * 4) + (m)]
#define TILE_B(tile, k, n) ((local float *)(tile))[(k) * (ROW_B * 4) + (n)]

// Rows and columns of an invocation come in fours: row i is row_of(i), column j is column_of(j).
uint row_of(uint i) { return get_local_id(0) / TILE_COLUMNS * 4 + i / 4 * (BM / TM * 4) + i % 4; }
uint column_of(uint j) { return get_local_id(0) % TILE_COLUMNS * 4 + j / 4 * (TILE_COLUMNS * 4) + j % 4; }

void multiply_tiles(local const float4 *tile_a, local const float4 *tile_b, float4 *sums) {
    uint tx = get_local_id(0) % TILE_COLUMNS;
    uint ty = get_local_id(0) / TILE_COLUMNS;
    UNROLL for (uint k = 0; k < BK; ++k) {
        float4 a[TM / 4];
        float4 b[TN / 4];
        UNROLL for (uint i = 0; i < TM / 4; ++i) a[i] = tile_a[k * ROW_A + ty + i * (BM / TM)];
        UNROLL for (uint j = 0; j < TN / 4; ++j) b[j] = tile_b[k * ROW_B + tx + j * TILE_COLUMNS];
        UNROLL for (uint i = 0; i < TM / 4; ++i) {
            UNROLL for (uint j = 0; j < TN / 4; ++j) {
                sums[(i * 4 + 0) * (TN / 4) + j] += a[i].x * b[j];
                sums[(i * 4 + 1) * (TN / 4) + j] += a[i].y * b[j];
                sums[(i * 4 + 2) * (TN / 4) + j] += a[i].z * b[j];
                sums[(i * 4 + 3) * (TN / 4) + j] += a[i].w * b[j];
            }
        }
    }
}
#define SUM_OF(sums, i, j) part_of((sums)[(i) * (TN / 4) + (j) / 4], (j) % 4)
