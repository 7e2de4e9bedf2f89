#include "lowering.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "limits.hpp"

namespace backplane::ggml {

namespace {

constexpr int64_t kMostCopies = 64;  // of one move; each is a step of ggml
constexpr size_t kMostCopiesOfNode = 256;

struct Entry {
    uint32_t op;
    LowerOp lower;
};

constexpr Entry kOps[] = {
    {BP_OP_conv, lower_conv},
    {BP_OP_matmul, lower_matmul},
    {BP_OP_abs, lower_unary},
    {BP_OP_neg, lower_unary},
    {BP_OP_exp, lower_unary},
    {BP_OP_log, lower_unary},
    {BP_OP_sqrt, lower_unary},
    {BP_OP_reciprocal, lower_unary},
    {BP_OP_sin, lower_unary},
    {BP_OP_cos, lower_unary},
    {BP_OP_relu, lower_unary},
    {BP_OP_leaky_relu, lower_unary},
    {BP_OP_sigmoid, lower_unary},
    {BP_OP_tanh, lower_unary},
    {BP_OP_gelu, lower_unary},
    {BP_OP_silu, lower_unary},
    {BP_OP_softplus, lower_unary},
    {BP_OP_clip, lower_unary},
    {BP_OP_add, lower_binary},
    {BP_OP_sub, lower_binary},
    {BP_OP_mul, lower_binary},
    {BP_OP_div, lower_binary},
    {BP_OP_concat, lower_concat},
    {BP_OP_slice, lower_slice},
    {BP_OP_pad, lower_pad},
    {BP_OP_reshape, lower_reshape},
    {BP_OP_transpose, lower_transpose},
    {BP_OP_gather, lower_gather},
    {BP_OP_cast, lower_cast},
    {BP_OP_depth_to_space, lower_depth_to_space},
    {BP_OP_resize, lower_resize},
    {BP_OP_softmax, lower_softmax},
    {BP_OP_layer_norm, lower_row_norm},
    {BP_OP_rms_norm, lower_row_norm},
    {BP_OP_batch_norm, lower_batch_norm},
    {BP_OP_group_norm, lower_group_norm},
    {BP_OP_reduce_sum, lower_reduce},
    {BP_OP_reduce_mean, lower_reduce},
    {BP_OP_instance_norm, lower_group_norm},
    {BP_OP_global_average_pool, lower_reduce},
};

// Four axes, innermost first, leading axes joined.
std::array<int64_t, kDims> innermost_first(const Shape& shape) {
    std::array<int64_t, kDims> ne{1, 1, 1, 1};
    for (size_t i = 0; i < shape.size(); ++i) ne[std::min<size_t>(i, kDims - 1)] *= shape[shape.size() - 1 - i];
    return ne;
}

}  // namespace

LowerOp find_lowering(uint32_t op) {
    const auto* found = std::find_if(std::begin(kOps), std::end(kOps), [&](const Entry& e) { return e.op == op; });
    return found == std::end(kOps) ? nullptr : found->lower;
}

size_t tensors_of(const sdk::GraphView& view, const bp_node& node) {
    if (node.op >= BP_OP_abs && node.op <= BP_OP_min) return 48;
    const int64_t groups = node.op == BP_OP_conv ? view.integer(node, BP_ATTR_group, 1) : 1;
    const size_t parts = static_cast<size_t>(std::clamp<int64_t>(groups, 1, kMostCopies));
    // A copy takes three tensors; concatenation makes one for each operand.
    return 64 + 3 * kMostCopiesOfNode + 24 * parts + 8 * size_t{node.inputs} * (node.op == BP_OP_concat ? 1 : 0);
}

int32_t ggml_type(uint32_t dtype) {
    switch (dtype) {
        case BP_F32: return kF32;
        case BP_F16: return kF16;
        case BP_BF16: return kBF16;
        case BP_F64: return kF64;
        case BP_I8:
        case BP_U8:
        case BP_BOOL: return kI8;
        case BP_I16:
        case BP_U16: return kI16;
        case BP_I32: return kI32;
        case BP_I64: return kI64;
        case BP_Q8_0: return kQ8_0;
        case BP_Q4_0: return kQ4_0;
        case BP_Q4_1: return kQ4_1;
        case BP_Q5_0: return kQ5_0;
        case BP_Q5_1: return kQ5_1;
        case BP_Q2_K: return kQ2_K;
        case BP_Q3_K: return kQ3_K;
        case BP_Q4_K: return kQ4_K;
        case BP_Q5_K: return kQ5_K;
        case BP_Q6_K: return kQ6_K;
        case BP_IQ4_NL: return kIQ4_NL;
        case BP_IQ4_XS: return kIQ4_XS;
        default: throw Refusal{BP_WHY_DTYPE, "ggml has no such element type"};
    }
}

bool is_float(uint32_t dtype) { return dtype == BP_F32 || dtype == BP_F16 || dtype == BP_BF16; }

void Lowering::lower(uint32_t index) {
    const bp_node plain = view_.node(index);
    copies_ = 0;
    if (plain.op != BP_OP_split && find_lowering(plain.op) == nullptr) throw Refusal{BP_WHY_OP, "ggml has no such op"};
    if (plain.op != BP_OP_split && (plain.outputs != 1 || view_.output(plain, 0) == BP_NO_TENSOR))
        throw Refusal{BP_WHY_OP, "it has other outputs than one"};
    for (const Node& node : backend::read_nodes(view_, index)) lower_one(node);
}

void Lowering::lower_one(const Node& node) {
    op_ = node.op;
    const LowerOp how = find_lowering(node.op);
    check_node(view_, node);
    for (const uint32_t in : node.inputs)  // each is a slot, read or not
        if (in != kNone && view_.tensor(in).role != BP_ROLE_CONSTANT) value(in);
    if (product(shape(node.output)) == 0) {  // nothing to compute, and ggml asserts on some empty tensors
        value(node.output);
        return;
    }
    how(*this, node);
}

Shape Lowering::shape(uint32_t tensor) const {
    const bp_tensor t = view_.tensor(tensor);
    return {t.dim, t.dim + t.rank};
}

Tensor* Lowering::leaf(int32_t type, const Shape& s) {
    const auto ne = innermost_first(s);
    return base_.new_tensor_4d(context_, type, ne[0], ne[1], ne[2], ne[3]);
}

Tensor* Lowering::constant(int32_t type, const Shape& s, const void* bytes) {
    Tensor* made = leaf(type, s);
    const auto* data = static_cast<const std::byte*>(bytes);
    constants_.push_back({made, {data, data + base_.nbytes(made)}});
    return made;
}

Tensor* Lowering::value(uint32_t tensor) {
    Tensor*& known = values_[tensor];
    if (known != nullptr) return known;
    const bp_tensor t = view_.tensor(tensor);
    if (t.role == BP_ROLE_CONSTANT && view_.elements(t) != 0)
        return known = constant(ggml_type(t.dtype), shape(tensor), t.data.data);
    return known = leaf(ggml_type(t.dtype), shape(tensor));
}

Tensor* Lowering::float_value(uint32_t tensor) {
    Tensor*& known = floats_[tensor];
    if (known != nullptr) return known;
    Tensor* x = value(tensor);
    if (x->type == kF32) return known = x;
    const uint32_t type = dtype(tensor);
    if (!is_float(type) && sdk::dtype_info(type).block == 1) throw Refusal{BP_WHY_DTYPE, "ggml computes with floats only"};
    return known = base_.cast(context_, x, kF32);
}

Tensor* Lowering::shaped(Tensor* x, const Shape& four) {
    const auto ne = innermost_first(four);
    if (std::equal(ne.begin(), ne.end(), x->ne)) return x;
    return base_.reshape_4d(context_, x, ne[0], ne[1], ne[2], ne[3]);
}

void Lowering::set(const Node& node, Tensor* x) {
    const uint32_t out = node.output;
    const int32_t type = ggml_type(dtype(out));
    if (x->type != type) x = base_.cast(context_, x, type);
    x = shaped(x, shape(out));
    values_[out] = x;
    schedule(x);
}

Tensor* Lowering::copy_to_leaf(uint32_t tensor) {
    Tensor* to = leaf(ggml_type(dtype(tensor)), shape(tensor));
    schedule(base_.cpy(context_, values_[tensor], to));
    return to;
}

// Axes beyond these, up to four, have one element and the stride of the whole.
Tensor* Lowering::strided(Tensor* x, const std::vector<Move::Axis>& axes, bool from, int64_t offset) {
    const size_t size = base_.type_size(x->type);
    std::array<int64_t, kDims> ne{1, 1, 1, 1};
    std::array<size_t, kDims> nb{size, size, size, size};
    for (size_t i = 0; i < kDims; ++i) {
        if (i < axes.size()) {
            const Move::Axis& axis = axes[axes.size() - 1 - i];
            ne[i] = axis.extent;
            nb[i] = static_cast<size_t>(from ? axis.from : axis.to) * size;
        } else if (i > 0) {
            nb[i] = nb[i - 1] * static_cast<size_t>(ne[i - 1]);
        }
    }
    Tensor* made =
        base_.view_4d(context_, x, ne[0], ne[1], ne[2], ne[3], nb[1], nb[2], nb[3], static_cast<size_t>(offset) * size);
    made->nb[0] = nb[0];  // the function takes all strides but this
    return made;
}

void Lowering::move(Tensor* from, Tensor* to, const Move& what) {
    std::vector<Move> todo{simplified(what)};
    while (todo.back().axes.size() > kDims) {
        // One copy for each index along the shortest axis.
        std::vector<Move> cut;
        for (const Move& m : todo) {
            const auto shortest = std::min_element(m.axes.begin(), m.axes.end(),
                                                   [](const auto& a, const auto& b) { return a.extent < b.extent; });
            for (int64_t i = 0; i < shortest->extent; ++i) {
                Move one{{}, m.from_offset + i * shortest->from, m.to_offset + i * shortest->to};
                for (const Move::Axis& axis : m.axes)
                    if (&axis != &*shortest) one.axes.push_back(axis);
                cut.push_back(simplified(one));
                if (cut.size() > static_cast<size_t>(kMostCopies))
                    throw Refusal{BP_WHY_SHAPE, "it takes too many copies of four axes"};
            }
        }
        todo = std::move(cut);
    }
    copies_ += todo.size();
    if (copies_ > kMostCopiesOfNode && op_ != BP_OP_concat) throw Refusal{BP_WHY_SHAPE, "it takes too many copies"};
    for (const Move& m : todo) {
        Tensor* source = strided(from, m.axes, true, m.from_offset);
        schedule(base_.cpy(context_, source, strided(to, m.axes, false, m.to_offset)));
    }
}

Tensor* Lowering::transposed(Tensor* x, const Shape& s, const std::vector<size_t>& order) {
    Shape out;
    Move what;
    const Shape strides = strides_of(s);
    for (const size_t axis : order) out.push_back(s[axis]);
    const Shape to = strides_of(out);
    for (size_t i = 0; i < order.size(); ++i) what.axes.push_back({out[i], strides[order[i]], to[i]});
    const Move least = simplified(what);
    if (least.axes.size() <= 1) return x;  // nothing moves
    if (least.axes.size() <= kDims) return base_.cont(context_, strided(x, least.axes, true, 0));
    Tensor* y = leaf(x->type, out);
    move(x, y, what);
    return y;
}

}  // namespace backplane::ggml
