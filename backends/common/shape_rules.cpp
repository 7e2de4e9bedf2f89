#include "common/shape_rules.hpp"

#include <algorithm>

namespace backplane::backend {

namespace {

using Dims = std::vector<int64_t>;

// Above every attribute that makes sense, and small enough that sums and products of two do not overflow.
constexpr int64_t kMost = int64_t{1} << 30;

struct Refusal {
    uint32_t reason;
    const char* text;
};

void require(bool holds, const char* text) {
    if (!holds) throw Refusal{BP_WHY_SHAPE, text};
}

void require_attribute(bool holds, const char* text) {
    if (!holds) throw Refusal{BP_WHY_ATTRIBUTE, text};
}

// How many operands an op has; those beyond `least` may be left out.
struct Arity {
    size_t least, most;
};

Arity arity_of(const Node& node) {
    switch (node.op) {
        case BP_OP_concat: return {std::max<size_t>(1, node.inputs.size()), SIZE_MAX};
        case BP_OP_conv: return {2, 3};
        case BP_OP_matmul:
        case BP_OP_gather: return {2, 2};
        case BP_OP_layer_norm:
        case BP_OP_group_norm: return {1, 3};
        case BP_OP_rms_norm: return {1, 2};
        case BP_OP_batch_norm: return {5, 5};
        default: return node.op >= BP_OP_add && node.op <= BP_OP_min ? Arity{2, 2} : Arity{1, 1};
    }
}

uint32_t type_of_attribute(uint32_t id) {
    switch (id) {
#define BP_ATTRIBUTE_TYPE(number, identifier, type, name) \
    case number: return BP_ATTRIBUTE_##type;
        BP_ATTRIBUTES(BP_ATTRIBUTE_TYPE)
#undef BP_ATTRIBUTE_TYPE
        default: return 0;
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
        case BP_OP_reduce_mean:
        case BP_OP_reduce_max:
        case BP_OP_reduce_min: return {BP_ATTR_axes, BP_ATTR_keepdims};
        default: return {};
    }
}

void check_attributes(const Node& node) {
    const std::vector<uint32_t> known = attributes_of(node.op);
    auto require_known = [&](const auto& given, uint32_t type) {
        for (const auto& [id, value] : given) {
            require_attribute(std::find(known.begin(), known.end(), id) != known.end(),
                              "has an attribute that the op does not have, or one twice");
            require_attribute(type_of_attribute(id) == type, "has an attribute of another type than its own");
        }
    };
    require_known(node.integers, BP_ATTRIBUTE_INT);
    require_known(node.numbers, BP_ATTRIBUTE_FLOAT);
    require_known(node.lists, BP_ATTRIBUTE_INTS);
    for (const auto& [id, value] : node.integers)
        require_attribute(value >= -kMost && value <= kMost, "has an attribute out of range");
    for (const auto& [id, list] : node.lists)
        if (id != BP_ATTR_shape && id != BP_ATTR_starts && id != BP_ATTR_ends)
            for (const int64_t value : list)
                require_attribute(value >= -kMost && value <= kMost, "has an attribute out of range");
}

// The rule of each op, on the dimensions of its operands.
struct Rules {
    const std::vector<const Value*>& inputs;
    const Value& output;
    const Node& node;

    [[nodiscard]] const Dims& dim(size_t k) const { return inputs[k]->dim; }
    [[nodiscard]] bool has(size_t k) const { return node.input(k) != kNone; }
    [[nodiscard]] size_t axis(size_t rank) const {
        const int64_t at = node.integer(BP_ATTR_axis, node.op == BP_OP_gather ? 0 : -1);  // else it must be stated
        require_attribute(at >= 0 && at < static_cast<int64_t>(rank), "has an axis outside its operand");
        return static_cast<size_t>(at);
    }
    // A list of `length` numbers of at least `least`; `otherwise` each when it is not given.
    [[nodiscard]] Dims list(uint32_t id, size_t length, int64_t least, int64_t otherwise) const {
        Dims out = node.list(id, Dims(length, otherwise));
        require_attribute(out.size() == length, "has an attribute of the wrong length");
        for (const int64_t v : out) require_attribute(v >= least, "has an attribute out of range");
        return out;
    }
    // A choice from `first`, which is meant when it is not given, to `last`.
    [[nodiscard]] int64_t one_of(uint32_t id, int64_t first, int64_t last) const {
        const int64_t chosen = node.integer(id, first);
        require_attribute(chosen >= first && chosen <= last, "has an unknown mode");
        return chosen;
    }
    void require_parameter(size_t k, const Dims& wanted) const {
        if (has(k)) require(dim(k) == wanted, "has a parameter whose shape does not fit its operand");
    }

    [[nodiscard]] Dims conv() const {
        const Dims& x = dim(0);
        const Dims& w = dim(1);
        require(x.size() == 4 && w.size() == 4, "is done for two spatial dimensions only");
        const Dims strides = list(BP_ATTR_strides, 2, 1, 1);
        const Dims pads = list(BP_ATTR_pads, 4, 0, 0);
        const Dims dilations = list(BP_ATTR_dilations, 2, 1, 1);
        const int64_t group = node.integer(BP_ATTR_group, 1);
        require_attribute(group >= 1, "needs a group of 1 or more");
        require(w[0] % group == 0 && x[1] % group == 0 && w[1] == x[1] / group,
                "has weights whose channels do not fit its operand and groups");
        require_parameter(2, {w[0]});
        Dims out = {x[0], w[0]};
        for (size_t d = 0; d < 2; ++d) {
            require(w[2 + d] >= 1 && w[2 + d] < kMost && x[2 + d] < kMost, "has an empty or too large kernel or map");
            const int64_t room = x[2 + d] + pads[d] + pads[2 + d] - (w[2 + d] - 1) * dilations[d] - 1;
            require(room >= 0, "has a kernel that is larger than its padded operand");
            out.push_back(room / strides[d] + 1);
        }
        return out;
    }
    [[nodiscard]] Dims matmul() const {
        Dims a = dim(0);
        Dims b = dim(1);
        require(a.size() >= 2 && b.size() >= 2, "has an operand of rank below 2");
        if (node.integer(BP_ATTR_transpose_a, 0) != 0) std::swap(a[a.size() - 2], a.back());
        if (node.integer(BP_ATTR_transpose_b, 0) != 0) std::swap(b[b.size() - 2], b.back());
        require(a.back() == b[b.size() - 2], "has operands whose inner dimensions differ");
        Dims out = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
        out.push_back(a[a.size() - 2]);
        out.push_back(b.back());
        return out;
    }
    [[nodiscard]] static Dims broadcast(Dims x, Dims y) {
        if (x.size() < y.size()) std::swap(x, y);
        const size_t shift = x.size() - y.size();
        for (size_t d = 0; d < y.size(); ++d) {
            require(x[d + shift] == y[d] || x[d + shift] == 1 || y[d] == 1, "has operands that do not broadcast");
            if (x[d + shift] == 1) x[d + shift] = y[d];
        }
        return x;
    }
    [[nodiscard]] Dims concat() const {
        Dims out = dim(0);
        const size_t along = axis(out.size());
        for (size_t k = 1; k < node.inputs.size(); ++k) {
            Dims next = dim(k);
            require(next.size() == out.size(), "has operands of different ranks");
            const int64_t length = next[along];
            next[along] = out[along];
            require(next == out && length < kMost * kMost - out[along], "has operands that do not fit together");
            out[along] += length;
        }
        return out;
    }
    [[nodiscard]] Dims slice() const {
        const Dims& x = dim(0);
        const Dims starts = list(BP_ATTR_starts, x.size(), 0, 0);
        const Dims ends = list(BP_ATTR_ends, x.size(), 0, -1);
        const Dims steps = list(BP_ATTR_steps, x.size(), 1, 1);
        Dims out;
        for (size_t d = 0; d < x.size(); ++d) {
            require_attribute(starts[d] <= ends[d] && ends[d] <= x[d], "reaches outside its operand");
            const int64_t length = ends[d] - starts[d];
            out.push_back(length / steps[d] + (length % steps[d] != 0 ? 1 : 0));
        }
        return out;
    }
    [[nodiscard]] Dims pad() const {
        const Dims& x = dim(0);
        const Dims pads = list(BP_ATTR_pads, 2 * x.size(), 0, 0);
        const int64_t mode = one_of(BP_ATTR_mode, BP_PAD_CONSTANT, BP_PAD_REFLECT);
        Dims out;
        for (size_t d = 0; d < x.size(); ++d) {
            const int64_t most = std::max(pads[d], pads[x.size() + d]);
            require(x[d] < kMost * kMost, "is too large");
            require(mode != BP_PAD_EDGE || most == 0 || x[d] > 0, "has no element to repeat");
            require(mode != BP_PAD_REFLECT || most == 0 || x[d] > most, "reflects more than there is");
            out.push_back(x[d] + pads[d] + pads[x.size() + d]);
        }
        return out;
    }
    [[nodiscard]] Dims reshape() const {
        require(output.elements() == inputs[0]->elements(), "changes the number of elements");
        return node.list(BP_ATTR_shape, output.dim);
    }
    [[nodiscard]] Dims transpose() const {
        const Dims& x = dim(0);
        Dims order(x.size());
        for (size_t d = 0; d < x.size(); ++d) order[d] = static_cast<int64_t>(x.size() - 1 - d);
        order = node.list(BP_ATTR_perm, order);
        Dims sorted = order;
        std::sort(sorted.begin(), sorted.end());
        Dims out;
        for (size_t d = 0; d < sorted.size(); ++d)
            require_attribute(sorted[d] == static_cast<int64_t>(d), "needs a perm that names each axis once");
        require_attribute(order.size() == x.size(), "needs a perm that names each axis once");
        for (const int64_t d : order) out.push_back(x[static_cast<size_t>(d)]);
        return out;
    }
    [[nodiscard]] Dims gather() const {
        const Dims& x = dim(0);
        const Dims& indices = dim(1);
        const auto along = static_cast<std::ptrdiff_t>(axis(x.size()));
        Dims out(x.begin(), x.begin() + along);
        out.insert(out.end(), indices.begin(), indices.end());
        out.insert(out.end(), x.begin() + along + 1, x.end());
        return out;
    }
    [[nodiscard]] Dims depth_to_space() const {
        const Dims& x = dim(0);
        const int64_t b = node.integer(BP_ATTR_blocksize, 1);
        require(x.size() == 4, "needs an operand of rank 4");
        static_cast<void>(one_of(BP_ATTR_mode, BP_DTS_DCR, BP_DTS_CRD));
        require_attribute(b >= 1 && b < kMost >> 15, "has a blocksize out of range");
        require(x[1] % (b * b) == 0 && x[2] < kMost && x[3] < kMost, "has channels that its blocks do not divide");
        return {x[0], x[1] / (b * b), x[2] * b, x[3] * b};
    }
    [[nodiscard]] Dims resize() const {
        const Dims& x = dim(0);
        require(x.size() == 4, "needs an operand of rank 4");
        static_cast<void>(one_of(BP_ATTR_mode, BP_RESIZE_NEAREST, BP_RESIZE_LINEAR));
        static_cast<void>(one_of(BP_ATTR_coordinates, BP_COORDINATES_ASYMMETRIC, BP_COORDINATES_ALIGN_CORNERS));
        const Dims sizes = list(BP_ATTR_sizes, 2, 0, -1);
        for (size_t d = 0; d < 2; ++d) require(sizes[d] == 0 || x[2 + d] > 0, "has an empty operand");
        return {x[0], x[1], sizes[0], sizes[1]};
    }
    [[nodiscard]] Dims normalised_from_axis() const {
        const Dims& x = dim(0);
        const auto first = static_cast<std::ptrdiff_t>(axis(x.size()));
        require_parameter(1, {x.begin() + first, x.end()});
        require_parameter(2, {x.begin() + first, x.end()});
        return x;
    }
    [[nodiscard]] Dims normalised_channels() const {
        const Dims& x = dim(0);
        require(x.size() >= 2, "needs an operand with a batch and a channel axis");
        for (size_t k = 1; k < node.inputs.size(); ++k) require_parameter(k, {x[1]});
        if (node.op == BP_OP_group_norm) {
            const int64_t groups = node.integer(BP_ATTR_groups, 1);
            require_attribute(groups >= 1 && x[1] % groups == 0, "has groups that do not divide its channels");
        }
        return x;
    }
    [[nodiscard]] Dims reduce() const {
        const Dims& x = dim(0);
        const Dims axes = node.list(BP_ATTR_axes);
        const bool keep = node.integer(BP_ATTR_keepdims, 1) != 0;
        std::vector<bool> reduced(x.size(), axes.empty());
        for (size_t i = 0; i < axes.size(); ++i) {
            require_attribute(axes[i] >= (i == 0 ? 0 : axes[i - 1] + 1) && axes[i] < static_cast<int64_t>(x.size()),
                              "needs ascending axes within its operand");
            reduced[static_cast<size_t>(axes[i])] = true;
        }
        Dims out;
        for (size_t d = 0; d < x.size(); ++d) {
            if (!reduced[d]) out.push_back(x[d]);
            if (reduced[d] && keep) out.push_back(1);
        }
        return out;
    }
    [[nodiscard]] Dims result() const {
        switch (node.op) {
            case BP_OP_conv: return conv();
            case BP_OP_matmul: return matmul();
            case BP_OP_concat: return concat();
            case BP_OP_slice: return slice();
            case BP_OP_pad: return pad();
            case BP_OP_reshape: return reshape();
            case BP_OP_transpose: return transpose();
            case BP_OP_gather: return gather();
            case BP_OP_depth_to_space: return depth_to_space();
            case BP_OP_resize: return resize();
            case BP_OP_softmax: (void)axis(dim(0).size()); return dim(0);
            case BP_OP_layer_norm:
            case BP_OP_rms_norm: return normalised_from_axis();
            case BP_OP_batch_norm:
            case BP_OP_group_norm: return normalised_channels();
            case BP_OP_reduce_sum:
            case BP_OP_reduce_mean:
            case BP_OP_reduce_max:
            case BP_OP_reduce_min: return reduce();
            default: return node.op >= BP_OP_add && node.op <= BP_OP_min ? broadcast(dim(0), dim(1)) : dim(0);
        }
    }
};

}  // namespace

Verdict check_shapes(const Node& node, const std::vector<const Value*>& inputs, const Value& output) {
    const Arity arity = arity_of(node);
    for (size_t k = 0; k < arity.least; ++k)
        if (k >= inputs.size() || inputs[k] == nullptr)
            return {BP_WHY_SHAPE, node.text() + ": operand " + std::to_string(k) + " is missing"};
    if (inputs.size() > arity.most)
        return {BP_WHY_SHAPE, node.text() + " has " + std::to_string(inputs.size()) + " operands, the op has " +
                                  std::to_string(arity.most) + " at most"};
    try {
        check_attributes(node);
        require(Rules{inputs, output, node}.result() == output.dim,
                "has a result whose shape does not follow from its operands");
        require_attribute(node.op != BP_OP_cast || node.integer(BP_ATTR_to, output.dtype) == int64_t{output.dtype},
                          "casts to another element type than its result has");
    } catch (const Refusal& refusal) {
        return {refusal.reason, node.text() + " " + refusal.text};
    }
    return {};
}

Verdict check_plain_types(const Node& node, const std::vector<const Value*>& inputs, const Value& output) {
    for (const Value* in : inputs)
        if (in != nullptr && (in->dtype != output.dtype || sdk::dtype_info(in->dtype).block != 1))
            return {BP_WHY_DTYPE,
                    node.text() + " copies plain elements of one type, not " + in->text() + " to " + output.text()};
    return {};
}

}  // namespace backplane::backend
