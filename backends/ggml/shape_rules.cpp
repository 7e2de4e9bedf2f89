#include "shape_rules.hpp"

#include <algorithm>

namespace backplane::ggml {

namespace {

// Above every extent and attribute that makes sense; sums and products of two do not overflow, and ggml keeps some as int32.
constexpr int64_t kMost = int64_t{1} << 30;
constexpr int64_t kMostElements = int64_t{1} << 40;

void require(bool holds, const char* text) {
    if (!holds) throw Refusal{BP_WHY_SHAPE, text};
}

void require_attribute(bool holds, const char* text) {
    if (!holds) throw Refusal{BP_WHY_ATTRIBUTE, text};
}

struct Arity {
    uint32_t least, most;
};

Arity arity_of(uint32_t op) {
    switch (op) {
        case BP_OP_conv: return {2, 3};
        case BP_OP_concat: return {1, UINT32_MAX};
        case BP_OP_matmul:
        case BP_OP_gather: return {2, 2};
        case BP_OP_layer_norm:
        case BP_OP_group_norm: return {1, 3};
        case BP_OP_rms_norm: return {1, 2};
        case BP_OP_batch_norm: return {5, 5};
        default: return op >= BP_OP_add && op <= BP_OP_min ? Arity{2, 2} : Arity{1, 1};
    }
}

std::vector<uint32_t> attributes_of(uint32_t op) {
    switch (op) {
        case BP_OP_conv: return {BP_ATTR_strides, BP_ATTR_pads, BP_ATTR_dilations, BP_ATTR_group};
        case BP_OP_matmul: return {BP_ATTR_transpose_a, BP_ATTR_transpose_b};
        case BP_OP_leaky_relu: return {BP_ATTR_alpha};
        case BP_OP_gelu: return {BP_ATTR_approximate};
        case BP_OP_clip: return {BP_ATTR_least, BP_ATTR_most};
        case BP_OP_concat:
        case BP_OP_gather:
        case BP_OP_softmax: return {BP_ATTR_axis};
        case BP_OP_slice: return {BP_ATTR_starts, BP_ATTR_ends, BP_ATTR_steps};
        case BP_OP_pad: return {BP_ATTR_pads, BP_ATTR_mode, BP_ATTR_value};
        case BP_OP_reshape: return {BP_ATTR_shape};
        case BP_OP_transpose: return {BP_ATTR_perm};
        case BP_OP_cast: return {BP_ATTR_to};
        case BP_OP_depth_to_space: return {BP_ATTR_blocksize, BP_ATTR_mode};
        case BP_OP_resize: return {BP_ATTR_sizes, BP_ATTR_mode, BP_ATTR_coordinates};
        case BP_OP_layer_norm:
        case BP_OP_rms_norm: return {BP_ATTR_axis, BP_ATTR_epsilon};
        case BP_OP_batch_norm: return {BP_ATTR_epsilon};
        case BP_OP_group_norm: return {BP_ATTR_groups, BP_ATTR_epsilon};
        case BP_OP_reduce_sum:
        case BP_OP_reduce_mean: return {BP_ATTR_axes, BP_ATTR_keepdims};
        default: return {};
    }
}

struct Rules {
    const Lowering& l;
    const bp_node& node;

    [[nodiscard]] Shape shape(uint32_t k) const { return l.shape(l.view().input(node, k)); }
    [[nodiscard]] int64_t integer(uint32_t id, int64_t otherwise) const { return l.view().integer(node, id, otherwise); }

    void check_operands() const {
        const Arity arity = arity_of(node.op);
        require(node.inputs >= arity.least && node.inputs <= arity.most, "it has not the number of operands of its op");
        for (uint32_t k = 0; k < node.inputs; ++k) {
            const bool optional = k >= arity.least && node.op != BP_OP_concat;
            require(l.has(node, k) || optional, "an operand is left out");
            if (!l.has(node, k)) continue;
            check_size(shape(k));
            static_cast<void>(ggml_type(l.dtype(l.view().input(node, k))));
        }
        check_size(l.shape(l.view().output(node, 0)));
    }
    static void check_size(const Shape& s) {
        int64_t elements = 1;
        for (const int64_t d : s) {
            require(d >= 0 && d <= kMost, "a dimension is too large for ggml");
            require(d == 0 || elements <= kMostElements / d, "a tensor is too large for ggml");
            elements *= d;
        }
    }
    void check_attributes(const std::vector<uint32_t>& known) const {
        uint32_t given = 0;
        for (const uint32_t id : known) {
            const bp_attribute* a = l.view().find(node, id);
            if (a == nullptr) continue;
            ++given;
            const auto list = l.view().integers(node, id);
            const auto within = [](int64_t v) { return v >= -kMost && v <= kMost; };
            require_attribute(a->type != BP_ATTRIBUTE_INT || within(a->integer), "an attribute is out of range");
            require_attribute(id == BP_ATTR_ends || id == BP_ATTR_starts || id == BP_ATTR_shape ||
                                  std::all_of(list.begin(), list.end(), within),
                              "an attribute is out of range");
        }
        require_attribute(given == node.attributes, "it has an attribute that its op does not have");
    }
    [[nodiscard]] size_t axis(size_t rank, int64_t otherwise) const {
        const int64_t at = integer(BP_ATTR_axis, otherwise);
        require_attribute(at >= 0 && at < static_cast<int64_t>(rank), "its axis lies outside its operand");
        return static_cast<size_t>(at);
    }
    // A list of `length` numbers of at least `least`; `otherwise` each when it is not given.
    [[nodiscard]] Shape list(uint32_t id, size_t length, int64_t least, int64_t otherwise) const {
        const auto given = l.view().integers(node, id);
        if (l.view().find(node, id) == nullptr) {
            require_attribute(otherwise >= least, "an attribute is missing");
            return Shape(length, otherwise);
        }
        require_attribute(given.size() == length, "an attribute has the wrong length");
        for (const int64_t v : given) require_attribute(v >= least, "an attribute is out of range");
        return {given.begin(), given.end()};
    }
    void require_parameter(uint32_t k, const Shape& wanted) const {
        require(!l.has(node, k) || shape(k) == wanted, "a parameter has a shape that does not fit");
    }

    [[nodiscard]] Shape conv() const {
        const Shape x = shape(0);
        const Shape w = shape(1);
        require(x.size() == 4 && w.size() == 4, "its operands are not of rank 4");
        const Shape strides = list(BP_ATTR_strides, 2, 1, 1);
        const Shape pads = list(BP_ATTR_pads, 4, 0, 0);
        const Shape dilations = list(BP_ATTR_dilations, 2, 1, 1);
        const int64_t group = integer(BP_ATTR_group, 1);
        require_attribute(group >= 1, "its group is below 1");
        require(w[0] % group == 0 && x[1] % group == 0 && w[1] == x[1] / group, "channels of its weights do not fit");
        require_parameter(2, {w[0]});
        Shape out{x[0], w[0]};
        for (size_t d = 0; d < 2; ++d) {
            require(w[2 + d] >= 1, "its kernel is empty");
            const int64_t room = x[2 + d] + pads[d] + pads[2 + d] - (w[2 + d] - 1) * dilations[d] - 1;
            require(room >= 0, "its kernel is larger than its padded operand");
            out.push_back(room / strides[d] + 1);
        }
        return out;
    }
    [[nodiscard]] static Shape broadcast(Shape x, Shape y) {
        if (x.size() < y.size()) std::swap(x, y);
        const size_t shift = x.size() - y.size();
        for (size_t d = 0; d < y.size(); ++d) {
            require(x[d + shift] == y[d] || x[d + shift] == 1 || y[d] == 1, "its operands do not broadcast");
            if (x[d + shift] == 1) x[d + shift] = y[d];
        }
        return x;
    }
    [[nodiscard]] Shape matmul() const {
        Shape a = shape(0);
        Shape b = shape(1);
        require(a.size() >= 2 && b.size() >= 2, "an operand has a rank below 2");
        if (integer(BP_ATTR_transpose_a, 0) != 0) std::swap(a[a.size() - 2], a.back());
        if (integer(BP_ATTR_transpose_b, 0) != 0) std::swap(b[b.size() - 2], b.back());
        require(a.back() == b[b.size() - 2], "inner dimensions of its operands differ");
        const uint32_t type = l.dtype(l.view().input(node, 1));
        require((type != BP_Q8_0 && type != BP_Q4_0) || integer(BP_ATTR_transpose_b, 0) != 0,
                "blocks must run along the inner dimension");
        Shape out = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
        out.push_back(a[a.size() - 2]);
        out.push_back(b.back());
        return out;
    }
    [[nodiscard]] Shape concat() const {
        Shape out = shape(0);
        const size_t along = axis(out.size(), -1);
        for (uint32_t k = 1; k < node.inputs; ++k) {
            Shape next = shape(k);
            require(next.size() == out.size(), "its operands have different ranks");
            const int64_t length = next[along];
            next[along] = out[along];
            require(next == out, "its operands do not fit together");
            out[along] += length;
        }
        return out;
    }
    [[nodiscard]] Shape slice() const {
        const Shape x = shape(0);
        const Shape starts = list(BP_ATTR_starts, x.size(), 0, -1);
        const Shape ends = list(BP_ATTR_ends, x.size(), 0, -1);
        const Shape steps = list(BP_ATTR_steps, x.size(), 1, 1);
        Shape out;
        for (size_t d = 0; d < x.size(); ++d) {
            require_attribute(starts[d] <= ends[d] && ends[d] <= x[d], "it reaches outside its operand");
            out.push_back((ends[d] - starts[d] + steps[d] - 1) / steps[d]);
        }
        return out;
    }
    [[nodiscard]] Shape pad() const {
        Shape out = shape(0);
        const Shape pads = list(BP_ATTR_pads, 2 * out.size(), 0, -1);
        const int64_t mode = integer(BP_ATTR_mode, BP_PAD_CONSTANT);
        require_attribute(mode == BP_PAD_CONSTANT || mode == BP_PAD_EDGE || mode == BP_PAD_REFLECT, "its mode is none");
        for (size_t d = 0; d < out.size(); ++d) {
            const int64_t most = std::max(pads[d], pads[out.size() + d]);
            require(most == 0 || mode == BP_PAD_CONSTANT || out[d] > (mode == BP_PAD_REFLECT ? most : 0),
                    "it repeats more than there is");
            out[d] += pads[d] + pads[shape(0).size() + d];
        }
        return out;
    }
    [[nodiscard]] Shape transpose() const {
        const Shape x = shape(0);
        Shape order(x.size());
        for (size_t d = 0; d < x.size(); ++d) order[d] = static_cast<int64_t>(x.size() - 1 - d);
        if (l.view().find(node, BP_ATTR_perm) != nullptr) order = list(BP_ATTR_perm, x.size(), 0, 0);
        Shape sorted = order;
        std::sort(sorted.begin(), sorted.end());
        Shape out;
        for (size_t d = 0; d < x.size(); ++d)
            require_attribute(sorted[d] == static_cast<int64_t>(d), "its perm does not name each axis once");
        for (const int64_t d : order) out.push_back(x[static_cast<size_t>(d)]);
        return out;
    }
    [[nodiscard]] Shape gather() const {
        const Shape x = shape(0);
        const Shape indices = shape(1);
        const uint32_t type = l.dtype(l.view().input(node, 1));
        if (type != BP_I32 && type != BP_I64) throw Refusal{BP_WHY_DTYPE, "its indices are neither i32 nor i64"};
        const auto along = static_cast<std::ptrdiff_t>(axis(x.size(), 0));
        Shape out(x.begin(), x.begin() + along);
        out.insert(out.end(), indices.begin(), indices.end());
        out.insert(out.end(), x.begin() + along + 1, x.end());
        return out;
    }
    [[nodiscard]] Shape depth_to_space() const {
        const Shape x = shape(0);
        const int64_t b = integer(BP_ATTR_blocksize, 0);
        require(x.size() == 4, "its operand is not of rank 4");
        require_attribute(b >= 1 && b <= 1 << 14, "its blocksize is out of range");
        require(x[1] % (b * b) == 0, "its blocks do not divide its channels");
        return {x[0], x[1] / (b * b), x[2] * b, x[3] * b};
    }
    [[nodiscard]] Shape resize() const {
        const Shape x = shape(0);
        require(x.size() == 4, "its operand is not of rank 4");
        const Shape sizes = list(BP_ATTR_sizes, 2, 0, -1);
        for (size_t d = 0; d < 2; ++d) require(sizes[d] == 0 || x[2 + d] > 0, "its operand is empty");
        return {x[0], x[1], sizes[0], sizes[1]};
    }
    [[nodiscard]] Shape row_norm() const {
        const Shape x = shape(0);
        const auto first = static_cast<std::ptrdiff_t>(axis(x.size(), static_cast<int64_t>(x.size()) - 1));
        for (uint32_t k = 1; k < node.inputs; ++k) require_parameter(k, {x.begin() + first, x.end()});
        return x;
    }
    [[nodiscard]] Shape channel_norm() const {
        const Shape x = shape(0);
        require(x.size() >= 2, "its operand has no channel axis");
        for (uint32_t k = 1; k < node.inputs; ++k) require_parameter(k, {x[1]});
        const int64_t groups = integer(BP_ATTR_groups, node.op == BP_OP_group_norm ? 0 : 1);
        require_attribute(groups >= 1 && x[1] % groups == 0, "its groups do not divide its channels");
        return x;
    }
    [[nodiscard]] Shape reduce() const {
        const Shape x = shape(0);
        const auto axes = l.view().integers(node, BP_ATTR_axes);
        const bool keep = integer(BP_ATTR_keepdims, 1) != 0;
        std::vector<bool> reduced(x.size(), axes.empty());
        for (size_t i = 0; i < axes.size(); ++i) {
            require_attribute(axes[i] >= (i == 0 ? 0 : axes[i - 1] + 1) && axes[i] < static_cast<int64_t>(x.size()),
                              "its axes are not ascending or lie outside its operand");
            reduced[static_cast<size_t>(axes[i])] = true;
        }
        Shape out;
        for (size_t d = 0; d < x.size(); ++d)
            if (!reduced[d] || keep) out.push_back(reduced[d] ? 1 : x[d]);
        return out;
    }
    [[nodiscard]] Shape result() const {
        switch (node.op) {
            case BP_OP_conv: return conv();
            case BP_OP_matmul: return matmul();
            case BP_OP_concat: return concat();
            case BP_OP_slice: return slice();
            case BP_OP_pad: return pad();
            case BP_OP_reshape:
                require(product(shape(0)) == product(l.shape(l.view().output(node, 0))),
                        "it changes the number of elements");
                return l.shape(l.view().output(node, 0));
            case BP_OP_transpose: return transpose();
            case BP_OP_gather: return gather();
            case BP_OP_depth_to_space: return depth_to_space();
            case BP_OP_resize: return resize();
            case BP_OP_softmax: static_cast<void>(axis(shape(0).size(), -1)); return shape(0);
            case BP_OP_layer_norm:
            case BP_OP_rms_norm: return row_norm();
            case BP_OP_batch_norm:
            case BP_OP_group_norm: return channel_norm();
            case BP_OP_reduce_sum:
            case BP_OP_reduce_mean: return reduce();
            default: return node.inputs == 2 ? broadcast(shape(0), shape(1)) : shape(0);
        }
    }
    // All ops but Cast have the type of their first operand. Ops that move bytes need all operands alike but indices.
    void check_types() const {
        const uint32_t type = l.dtype(l.view().input(node, 0));
        const uint32_t out = l.dtype(l.view().output(node, 0));
        if (node.op == BP_OP_cast) {
            require_attribute(integer(BP_ATTR_to, out) == int64_t{out},
                              "it casts to another element type than its result has");
            return;
        }
        if (type != out) throw Refusal{BP_WHY_DTYPE, "its result has another element type than its operand"};
        if (type == BP_Q8_0 || type == BP_Q4_0) throw Refusal{BP_WHY_DTYPE, "blocks are decoded by Cast and MatMul only"};
        const bool mixed = node.op == BP_OP_matmul || node.op == BP_OP_conv || node.op == BP_OP_gather;
        for (uint32_t k = 1; k < node.inputs && !mixed; ++k)
            if (l.has(node, k) && l.dtype(l.view().input(node, k)) != type)
                throw Refusal{BP_WHY_DTYPE, "its operands have different element types"};
    }
};

}  // namespace

void check_node(const Lowering& lowering, const bp_node& node) {
    const Rules rules{lowering, node};
    rules.check_operands();
    rules.check_attributes(attributes_of(node.op));
    rules.check_types();
    require(rules.result() == lowering.shape(lowering.view().output(node, 0)),
            "the shape of its result does not follow from its operands");
}

}  // namespace backplane::ggml
