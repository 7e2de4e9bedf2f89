#include "workgroup_matrices.h"
#include "common.h"
#include "product.h"
#include "epilogue.h"
// As matmul_matrix.kernel, by matrices of the whole workgroup. There are BM rows and BN columns at least: the last tiles end where the result
// ends, and make again what those before them make. BK divides the depth.
CONSTANT(3, BM, 128)
CONSTANT(4, BN, 128)
CONSTANT(5, BK, 64)
CONSTANT(6, TRANSPOSE_A, 0)
CONSTANT(7, TRANSPOSE_B, 0)
PRODUCT(matmul_workgroup)
float finished(const in uint row, const in uint column, const in float sum, const in uint top, const in uint left, const in uint matrix) {
    float v = sum;
    FINISH(MATMUL_EPILOGUE, v, left + column, (matrix * P.rows + top + row) * P.columns + left + column)
    return v;
}
#define MULTIPLY(at_a, at_b)                                                                                                      \
    for (uint first = 0u; first < P.depth; first += BK) {                                                                         \
        LEFT(BM, BK) a_;                                                                                                          \
        RIGHT(BK, BN) b_;                                                                                                         \
        if (TRANSPOSE_A != 0u) coopMatLoadTensorNV(a_, a, at_a, sliceTensorLayoutNV(of_a, first, BK, first_row, BM), TURNED);     \
        else coopMatLoadTensorNV(a_, a, at_a, sliceTensorLayoutNV(of_a, first_row, BM, first, BK));                               \
        if (TRANSPOSE_B != 0u) coopMatLoadTensorNV(b_, b, at_b, sliceTensorLayoutNV(of_b, first_column, BN, first, BK), TURNED);  \
        else coopMatLoadTensorNV(b_, b, at_b, sliceTensorLayoutNV(of_b, first, BK, first_column, BN));                            \
        sums = coopMatMulAdd(a_, b_, sums);                                                                                       \
    }
BEGIN
    TILE_OF_PRODUCT(first_row, first_column)
    first_row = min(first_row, P.rows - BM);
    first_column = min(first_column, P.columns - BN);
    MATRICES(matrix_a, matrix_b)
    // Rows of memory are of multiples of eight elements.
    uint across_a = EIGHTS(TRANSPOSE_A != 0u ? P.rows : P.depth);
    uint across_b = EIGHTS(TRANSPOSE_B != 0u ? P.depth : P.columns);
    MATRIX_OF(of_a, TRANSPOSE_A != 0u ? P.depth : P.rows, across_a)
    MATRIX_OF(of_b, TRANSPOSE_B != 0u ? P.columns : P.depth, across_b)
    of_a = setTensorLayoutStrideNV(of_a, across_a, 1u);
    of_b = setTensorLayoutStrideNV(of_b, across_b, 1u);
    SUMS(BM, BN) sums = SUMS(BM, BN)(0.0);
    uint at_a = first_a() + matrix_a;
    uint at_b = first_b() + matrix_b;
    if (at_a % 8u == 0u && at_b % 8u == 0u) { MULTIPLY(EIGHTS(at_a), EIGHTS(at_b)) }
    else { MULTIPLY(at_a, at_b) }
    if (EPILOGUE_KINDS != 0u) coopMatPerElementNV(sums, sums, finished, first_row, first_column, BATCH_INDEX);
    MATRIX_OF(of_y, P.rows, P.columns)
    coopMatStoreTensorNV(ROUNDED(BM, BN)(sums), y, first_y() + BATCH_INDEX * P.rows * P.columns,
                         sliceTensorLayoutNV(of_y, first_row, BM, first_column, BN));
END
