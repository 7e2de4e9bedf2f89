// MatMul: a[..., M, K], b[..., K, N] -> y[..., M, N]; the axes before the last two broadcast as numpy's.
//   y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]; of nothing (K = 0) zeros.
// ONNX MatMul 13 for ranks 2 and up. transpose_a: a is [..., K, M]; transpose_b: b is [..., N, K].
// Types: a and y alike f32, f16, bf16 or f64; b the same, or for a f32 also f16, bf16, and blocks with transpose_b.
// Attributes: transpose_a (0), transpose_b (0).
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::matmul {

namespace {

// Where the matrices of an operand lie, for each batch of the result, and how far its rows and columns are apart.
struct Matrices {
    Matrices(const ReferenceTensor& from, const Shape& batch_, bool transposed) : tensor(from) {
        const Shape own(from.shape.begin(), from.shape.end() - 2);
        batch = broadcast_strides(own, batch_);
        const int64_t rows = from.shape[from.shape.size() - 2];
        const int64_t columns = from.shape.back();
        for (int64_t& stride : batch) stride *= rows * columns;
        row = transposed ? 1 : columns;
        column = transposed ? columns : 1;
    }
    [[nodiscard]] const double* at(const Index& index) const { return tensor.data.data() + offset_of(index, batch); }
    const ReferenceTensor& tensor;
    std::vector<int64_t> batch;
    int64_t row = 1, column = 1;
};

void reference(const ReferenceCall& call) {
    const Shape& y = call.output.shape;
    const Shape batch(y.begin(), y.end() - 2);
    const bool transpose_a = call.attributes.integer(Attr::transpose_a) == 1;
    const Matrices a(call.input(0), batch, transpose_a);
    const Matrices b(call.input(1), batch, call.attributes.integer(Attr::transpose_b) == 1);
    const Shape& a_shape = call.input(0).shape;
    const int64_t depth = a_shape[a_shape.size() - (transpose_a ? 2 : 1)];
    const int64_t rows = y[y.size() - 2];
    const int64_t columns = y.back();
    double* out = call.output.data.data();
    for_each_index(batch, [&](const Index& index, size_t) {
        const double* left = a.at(index);
        const double* right = b.at(index);
        for (int64_t m = 0; m < rows; ++m)
            for (int64_t n = 0; n < columns; ++n) {
                double sum = 0;
                for (int64_t k = 0; k < depth; ++k) sum += left[m * a.row + k * a.column] * right[k * b.row + n * b.column];
                *out++ = sum;
            }
    });
}

}  // namespace

constinit const OpDefinition op_matmul{backplane::ops::op_matmul, reference};

}  // namespace backplane::graph::ops::matmul
