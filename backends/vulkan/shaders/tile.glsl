// A BM x BN tile of a product of matrices by one workgroup: BK deep slices of both operands stand in shared memory, every invocation
// sums TM x TN elements in registers. LOCAL = BM / TM * BN / TN, and a multiple of BN.
layout(constant_id = 0) const uint LOCAL = 64;
layout(constant_id = 3) const uint BM = 32;
layout(constant_id = 4) const uint BN = 32;
layout(constant_id = 5) const uint TM = 4;
layout(constant_id = 6) const uint TN = 4;
layout(constant_id = 7) const uint BK = 16;
const uint kColumns = BN / TN;  // invocations across
const uint kRows = BM / TM;
const uint kRowA = BM + 1;
shared float tile_a[BK * (BM + 1)];
shared float tile_b[BK * BN];
float sums[TM * TN];

void clear_sums() {
    [[unroll]] for (uint i = 0; i < TM * TN; ++i) sums[i] = 0.0;
}

// Row r of an invocation is ty + r * kRows, column c is tx + c * kColumns: neighbours read neighbours.
void multiply_tiles() {
    uint tx = gl_LocalInvocationID.x % kColumns;
    uint ty = gl_LocalInvocationID.x / kColumns;
    float a[TM];
    float b[TN];
    [[unroll]] for (uint k = 0; k < BK; ++k) {
        [[unroll]] for (uint i = 0; i < TM; ++i) a[i] = tile_a[k * kRowA + ty + i * kRows];
        [[unroll]] for (uint j = 0; j < TN; ++j) b[j] = tile_b[k * BN + tx + j * kColumns];
        [[unroll]] for (uint i = 0; i < TM; ++i) {
            [[unroll]] for (uint j = 0; j < TN; ++j) sums[i * TN + j] += a[i] * b[j];
        }
    }
}
