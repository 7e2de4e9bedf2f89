// MatMul. ggml multiplies rows by rows: weights [N, K] and x [M, K] give [M, N]; the weights' batch repeats, x's does not.
#include "lowering.hpp"

namespace backplane::ggml {

namespace {

struct Operand {
    Tensor* x;
    Shape shape;  // [batch..., rows, K]
};

Operand rows_of(Lowering& l, uint32_t tensor, Tensor* x, bool transpose) {
    Shape shape = l.shape(tensor);
    if (!transpose) return {x, shape};
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    x = l.transposed(x, shape, order);
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return {x, shape};
}

// Weights as ggml multiplies them by itself, or decoded: it would round x to the type of the weights.
Tensor* weights_of(Lowering& l, uint32_t tensor, bool transpose) {
    return l.native() && !transpose ? l.value(tensor) : l.float_value(tensor);
}

}  // namespace

void lower_matmul(Lowering& l, const Node& node) {
    const uint32_t a = node.inputs[0];
    const uint32_t b = node.inputs[1];
    const uint32_t out = node.output;
    if (!is_float(l.dtype(a))) throw Refusal{BP_WHY_DTYPE, "ggml multiplies float32 with floats and blocks only"};
    const auto [transpose_a, transpose_b] = node.as<backplane::ops::MatMulAttributes>();
    Operand x = rows_of(l, a, l.float_value(a), transpose_a);
    Operand w = rows_of(l, b, weights_of(l, b, !transpose_b), !transpose_b);
    const int64_t depth = x.shape.back();
    const int64_t m = x.shape[x.shape.size() - 2];
    const int64_t n = w.shape[w.shape.size() - 2];
    if (depth == 0) throw Refusal{BP_WHY_SHAPE, "ggml sums over one element at least"};
    const Shape batch_x(x.shape.begin(), x.shape.end() - 2);
    const Shape batch_w(w.shape.begin(), w.shape.end() - 2);
    const Shape out_shape = l.shape(out);
    const Shape batch(out_shape.begin(), out_shape.end() - 2);
    if (product(batch_w) == 1) {  // all rows of x by one matrix
        Tensor* rows = l.shaped(x.x, {1, 1, product(batch_x) * m, depth});
        return l.set(node, l.base().mul_mat(l.context(), l.shaped(w.x, {1, 1, n, depth}), rows));
    }
    const std::vector<Shape> four = broadcast_to_four({batch_x, batch_w}, batch);
    if (four.empty() || four[2][0] != 1 || four[2][1] != 1) throw Refusal{BP_WHY_SHAPE, "its batch has more than two axes"};
    Tensor* rows = l.shaped(x.x, {four[0][2], four[0][3], m, depth});
    if (four[0] != four[2]) rows = l.base().repeat_4d(l.context(), rows, depth, m, four[2][3], four[2][2]);
    l.set(node, l.base().mul_mat(l.context(), l.shaped(w.x, {four[1][2], four[1][3], n, depth}), rows));
}

}  // namespace backplane::ggml
