// Normalisations, softmax and reductions along rows.
#include "common/reduction.hpp"
#include "lowering.hpp"

namespace backplane::ggml {

namespace {

void require_float(const Lowering& l, const Node& node) {
    if (!is_float(l.dtype(node.inputs[0]))) throw Refusal{BP_WHY_DTYPE, "ggml computes with floats only"};
}

// y * scale + bias, each brought to this shape, where given as inputs 1 and 2.
Tensor* scaled(Lowering& l, const Node& node, Tensor* y, const Shape& shape) {
    if (node.input(1) != kNone) y = l.base().mul(l.context(), y, l.shaped(l.float_input(node, 1), shape));
    if (node.input(2) != kNone) y = l.base().add(l.context(), y, l.shaped(l.float_input(node, 2), shape));
    return y;
}

}  // namespace

void lower_softmax(Lowering& l, const Node& node) {
    require_float(l, node);
    const Shape shape = l.shape(node.inputs[0]);
    const Around a(shape, static_cast<size_t>(node.as<backplane::ops::SoftmaxAttributes>().axis));
    Tensor* x = l.float_input(node, 0);
    if (a.inner == 1) return l.set(node, l.base().soft_max(l.context(), l.shaped(x, {1, 1, a.outer, a.extent})));
    x = l.transposed(x, {a.outer, a.extent, a.inner}, {0, 2, 1});
    x = l.base().soft_max(l.context(), l.shaped(x, {1, a.outer, a.inner, a.extent}));
    l.set(node, l.transposed(x, {a.outer, a.inner, a.extent}, {0, 2, 1}));
}

void lower_row_norm(Lowering& l, const Node& node) {
    require_float(l, node);
    const Shape shape = l.shape(node.inputs[0]);
    const auto how = node.as<backplane::ops::RowNormAttributes>();
    const auto axis = static_cast<size_t>(how.axis);
    const int64_t row = product(shape, axis);
    Tensor* x = l.shaped(l.float_input(node, 0), {1, 1, product(shape, 0, axis), row});
    Tensor* y = node.op == BP_OP_rms_norm ? l.base().rms_norm(l.context(), x, static_cast<float>(how.epsilon))
                                          : l.base().norm(l.context(), x, static_cast<float>(how.epsilon));
    l.set(node, scaled(l, node, y, {1, 1, 1, row}));
}

void lower_batch_norm(Lowering& l, const Node& node) {
    require_float(l, node);
    const Shape shape = l.shape(node.inputs[0]);
    const Shape channels{1, 1, shape[1], 1};
    const BaseLibrary& g = l.base();
    Context* c = l.context();
    const auto parameter = [&](uint32_t k) { return l.shaped(l.float_input(node, k), channels); };
    Tensor* x = l.shaped(l.float_input(node, 0), {1, shape[0], shape[1], product(shape, 2)});
    const auto epsilon = static_cast<float>(node.as<backplane::ops::BatchNormAttributes>().epsilon);
    Tensor* deviation = g.sqrt(c, g.scale_bias(c, parameter(4), 1.0F, epsilon));
    Tensor* y = g.mul(c, g.sub(c, x, parameter(3)), g.div(c, parameter(1), deviation));
    l.set(node, g.add(c, y, parameter(2)));
}

void lower_group_norm(Lowering& l, const Node& node) {
    require_float(l, node);
    const Shape shape = l.shape(node.inputs[0]);
    Tensor* x = l.shaped(l.float_input(node, 0), {shape[0], shape[1], 1, product(shape, 2)});
    const auto how = backend::groups_of(node, shape[1]);
    const auto groups = static_cast<int>(how.groups.value);
    Tensor* y = l.base().group_norm(l.context(), x, groups, static_cast<float>(how.epsilon));
    l.set(node, scaled(l, node, y, {1, shape[1], 1, 1}));
}

void lower_reduce(Lowering& l, const Node& node) {
    require_float(l, node);
    const Shape shape = l.shape(node.inputs[0]);
    const std::vector<bool> reduced = backend::reduced_axes(node, shape.size());
    std::vector<size_t> order;
    int64_t row = 1;
    for (const bool last : {false, true})
        for (size_t i = 0; i < shape.size(); ++i)
            if (reduced[i] == last) {
                order.push_back(i);
                if (last) row *= shape[i];
            }
    if (row == 0) throw Refusal{BP_WHY_SHAPE, "ggml sums over one element at least"};
    Tensor* x = l.transposed(l.float_input(node, 0), shape, order);
    x = l.shaped(x, {1, 1, product(shape) / row, row});
    l.set(node, backend::is_mean(node) ? l.base().mean(l.context(), x) : l.base().sum_rows(l.context(), x));
}

}  // namespace backplane::ggml
