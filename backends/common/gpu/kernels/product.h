// What the kernels of matrix products share: y = a b, batched; sizes and steps of the batch are in matrices. BLOCKS: b is planes (planes.h).
#if defined(BLOCKS)
#define PRODUCT(name)                                                                                                  \
    KERNEL_7(name, MatMul, (READ, a, T), (READ, b, uint), (READ, bias, T), (READ, residual0, T), (READ, residual1, T), \
             (WRITE, y, T), (READ, factors, F16))
#else
#define PRODUCT(name)                                                                                               \
    KERNEL_6(name, MatMul, (READ, a, T), (READ, b, U), (READ, bias, T), (READ, residual0, T), (READ, residual1, T), \
             (WRITE, y, T))
#endif
// Which matrices this product is of, and where they begin.
#define NUMBERS_OF_MATRICES(matrix_a, matrix_b)     \
    uint matrix_a = 0u;                             \
    uint matrix_b = 0u;                             \
    uint rest_ = BATCH_INDEX;                       \
    for (uint d_ = P.batch_rank; d_-- > 0u;) {      \
        uint k_ = rest_ % WORD(MATMUL_SIZES + d_);  \
        rest_ /= WORD(MATMUL_SIZES + d_);           \
        matrix_a += k_ * WORD(MATMUL_STEPS_A + d_); \
        matrix_b += k_ * WORD(MATMUL_STEPS_B + d_); \
    }
#define MATRICES(matrix_a, matrix_b)        \
    NUMBERS_OF_MATRICES(matrix_a, matrix_b) \
    matrix_a *= P.rows * P.depth;           \
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
