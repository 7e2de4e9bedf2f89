// A BM x BN tile of a product of matrices by one workgroup: BK deep slices of both operands stand in shared memory, every invocation
// sums TM x TN elements in registers. LOCAL = BM / TM * BN / TN, and a multiple of BN; TM and TN are multiples of 4. Shared memory is
// read four elements at a time: its bandwidth is what limits the sums.
layout(constant_id = 3) const uint BM = 32;
layout(constant_id = 4) const uint BN = 32;
layout(constant_id = 5) const uint TM = 4;
layout(constant_id = 6) const uint TN = 4;
layout(constant_id = 7) const uint BK = 16;
const uint kColumns = BN / TN;  // invocations across
const uint kRowA = BM / 4 + 1;
const uint kRowB = BN / 4;
shared vec4 tile_a[BK * (BM / 4 + 1)];
shared vec4 tile_b[BK * (BN / 4)];
vec4 sums[TM * TN / 4];

void clear_sums() {
    [[unroll]] for (uint i = 0; i < TM * TN / 4; ++i) sums[i] = vec4(0.0);
}

void put_a(uint k, uint m, float v) { tile_a[k * kRowA + m / 4][m % 4] = v; }
void put_b(uint k, uint n, float v) { tile_b[k * kRowB + n / 4][n % 4] = v; }

// Rows and columns of an invocation come in fours: row i is row_of(i), column j is column_of(j).
uint row_of(uint i) { return gl_LocalInvocationID.x / kColumns * 4 + i / 4 * (BM / TM * 4) + i % 4; }
uint column_of(uint j) { return gl_LocalInvocationID.x % kColumns * 4 + j / 4 * (kColumns * 4) + j % 4; }

void multiply_tiles() {
    uint tx = gl_LocalInvocationID.x % kColumns;
    uint ty = gl_LocalInvocationID.x / kColumns;
    vec4 a[TM / 4];
    vec4 b[TN / 4];
    [[unroll]] for (uint k = 0; k < BK; ++k) {
        [[unroll]] for (uint i = 0; i < TM / 4; ++i) a[i] = tile_a[k * kRowA + ty + i * (BM / TM)];
        [[unroll]] for (uint j = 0; j < TN / 4; ++j) b[j] = tile_b[k * kRowB + tx + j * kColumns];
        [[unroll]] for (uint i = 0; i < TM; ++i) {
            [[unroll]] for (uint j = 0; j < TN / 4; ++j) sums[i * (TN / 4) + j] += a[i / 4][i % 4] * b[j];
        }
    }
}
float sum_of(uint i, uint j) { return sums[i * (TN / 4) + j / 4][j % 4]; }
