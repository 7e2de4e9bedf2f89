// What both kernels of matrix products share: y = a b, batched; sizes and steps of the batch are in matrices. WEIGHT(i): element i of b. Blocks
// are as their format has them, or in PLANES (split_blocks.kernel): what is in all blocks, then all scales, from P.scales on.
#if defined(Q8)  // blocks of 32: a scale, then a byte each
FUNCTION float digit(uint bits, uint i) { return CAST(float, CAST(int, bits << 24) >> 24); }
#define SCALE_AT(i) (PLANES ? P.scales + ((i) >> 5) : ((i) >> 5) * 17u)
#define DIGIT_AT(i) (PLANES ? (i) : ((i) >> 5) * 34u + 2u + ((i)&31u))
#elif defined(Q4)  // a scale, then a byte for two, 16 apart
FUNCTION float digit(uint bits, uint i) { return CAST(float, CAST(int, (i & 31u) < 16u ? bits & 15u : bits >> 4) - 8); }
#define SCALE_AT(i) (PLANES ? P.scales + ((i) >> 5) : ((i) >> 5) * 9u)
#define DIGIT_AT(i) (((i) >> 5) * (PLANES ? 16u : 18u) + (PLANES ? 0u : 2u) + ((i)&15u))
#endif
#if defined(Q8) || defined(Q4)
#define WEIGHT(i) (LOAD_HALF(scales, SCALE_AT(i)) * digit(CAST(uint, RAW(b, DIGIT_AT(i))), i))
#else
#define WEIGHT(i) LOAD_U(b, i)
#endif
#if defined(Q8) || defined(Q4)
#define BLOCKS
#define PRODUCT(name)                                                                                                \
    KERNEL_7(name, MatMul, (READ, a, T), (READ, b, U8), (READ, bias, T), (READ, residual0, T), (READ, residual1, T), \
             (WRITE, y, T), (READ, scales, F16))
#else
#define PRODUCT(name)                                                                                               \
    KERNEL_6(name, MatMul, (READ, a, T), (READ, b, U), (READ, bias, T), (READ, residual0, T), (READ, residual1, T), \
             (WRITE, y, T))
#endif
// Where the matrices of this product begin.
#define MATRICES(matrix_a, matrix_b)                \
    uint matrix_a = 0u;                             \
    uint matrix_b = 0u;                             \
    uint rest_ = BATCH_INDEX;                       \
    for (uint d_ = P.batch_rank; d_-- > 0u;) {      \
        uint k_ = rest_ % WORD(MATMUL_SIZES + d_);  \
        rest_ /= WORD(MATMUL_SIZES + d_);           \
        matrix_a += k_ * WORD(MATMUL_STEPS_A + d_); \
        matrix_b += k_ * WORD(MATMUL_STEPS_B + d_); \
    }                                               \
    matrix_a *= P.rows * P.depth;                   \
    matrix_b *= P.columns * P.depth;
// The tile of BM x BN that this workgroup makes. Workgroups go down by BAND before they go on across: those that run at once share more of
// what they read.
#define BAND 16u
#define TILE_OF_PRODUCT(first_row, first_column)                        \
    uint band_size_ = BAND * ((P.columns + BN - 1u) / BN);              \
    uint band_ = GROUP_INDEX / band_size_ * BAND;                       \
    if (band_ >= P.blocks) return;                                      \
    uint height_ = min(P.blocks - band_, BAND);                         \
    uint first_row = (band_ + GROUP_INDEX % band_size_ % height_) * BM; \
    uint first_column = GROUP_INDEX % band_size_ / height_ * BN;
