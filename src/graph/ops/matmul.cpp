// MatMul: a[..., M, K], b[..., K, N] -> y[..., M, N]; the axes before the last two broadcast as numpy's.
//   y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]; of nothing (K = 0) zeros.
// ONNX MatMul 13 for ranks 2 and up. transpose_a: a is [..., K, M]; transpose_b: b is [..., N, K].
// Types: a and y alike f32, f16, bf16 or f64; b the same, or for a f32 also f16, bf16, and q8_0, q4_0 with transpose_b.
// Attributes: transpose_a (0), transpose_b (0).
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::matmul {

namespace {

constexpr AttributeRule kAttributes[] = {integer(Attr::transpose_a, 0), integer(Attr::transpose_b, 0)};

bool flag(const InferCall& call, Attr id) {
    const int64_t value = call.integer(id);
    require(call, value == 0 || value == 1, std::string("attribute ") + name_of(id) + " is 0 or 1");
    return value == 1;
}

void check_types(const InferCall& call, bool transpose_b) {
    require_types(call, 0, Types::floats);
    const DType b = call.dtype(1);
    const bool mixed = call.dtype(0) == DType::f32 && (b == DType::f16 || b == DType::bf16 || is_block(b));
    require(call, mixed || b == call.dtype(0),
            call.typed_text(1) + " must have the element type of " + call.typed_text(0) +
                ", or be f16, bf16, q8_0 or q4_0 for f32");
    require(call, !is_block(b) || transpose_b, call.typed_text(1) + " needs transpose_b: its blocks must run along K");
}

InferResult infer(const InferCall& call) {
    const bool transpose_a = flag(call, Attr::transpose_a);
    const bool transpose_b = flag(call, Attr::transpose_b);
    check_types(call, transpose_b);
    for (size_t i = 0; i < 2; ++i) require(call, call.rank(i) >= 2, call.text(i) + " must have rank 2 or more");
    const Shape& a = call.shape(0);
    const Shape& b = call.shape(1);
    const int64_t m = a[a.size() - (transpose_a ? 1 : 2)];
    const int64_t k = a[a.size() - (transpose_a ? 2 : 1)];
    const int64_t bk = b[b.size() - (transpose_b ? 1 : 2)];
    const int64_t n = b[b.size() - (transpose_b ? 2 : 1)];
    require(call, k == bk,
            call.text(0) + (transpose_a ? " transposed" : "") + " has K = " + std::to_string(k) + ", " + call.text(1) +
                (transpose_b ? " transposed" : "") + " has K = " + std::to_string(bk));
    Shape out = broadcast(call, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
    out.push_back(m);
    out.push_back(n);
    return {call.dtype(0), std::move(out)};
}

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

constinit const OpDefinition op_matmul{Op::matmul, "MatMul", "matrix product, batched", kBinaryInputs, kAttributes, nullptr,
                                       infer,      reference};

}  // namespace backplane::graph::ops::matmul
