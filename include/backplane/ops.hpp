// Typed builders of nodes, one an op of the table (backplane/ops/, docs/ops.md):
//
//   const TensorId y = ops::conv(graph, x, w, b, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
//   const TensorId m = ops::matmul(graph, a, q, {.transpose_b = true});
//   const TensorId c = ops::concat(graph, {y, y}, {.axis = -1});
//   const TensorId r = ops::relu(graph, y);
//   const std::vector<TensorId> parts = ops::split(graph, y, {.axis = 1, .sizes = {100, 28}});
//
// Operands come in the order of the table; optional ones may be left out at the end, or are no_tensor. Attributes are the op's own
// structure; they may be left out where all have defaults. A name for messages may follow them. Each builder throws Error(invalid)
// that names the op and the shapes, as Graph::add does, which importers use that know ops by number only. Threads: as the Graph's.
#pragma once

#include "backplane/graph.hpp"
#include "backplane/ops/table.hpp"

namespace backplane::ops {

// The attributes as Graph::add takes them: those that are stated or have defaults.
template <class A>
std::vector<Attribute> attributes_to_add(const DescriptionOf<A>& op, const A& attributes) {
    std::vector<Attribute> all;
    for (const AttributeRule& rule : op.attributes) {
        AttributeValue value;
        if (!rule.get(&attributes, value)) continue;
        const auto id = static_cast<Attr>(rule.id);
        switch (rule.kind) {
            case Kind::integer: all.push_back({id, value.integer}); break;
            case Kind::number: all.push_back({id, value.number}); break;
            case Kind::integers:
                // An empty list is one that the op completes.
                if (rule.required || !value.list.empty())
                    all.push_back({id, std::vector<int64_t>(value.list.begin(), value.list.end())});
                break;
        }
    }
    return all;
}

// A function object, so that arity and attributes come from the description.
template <const auto& op>
struct Builder {
    using A = typename std::remove_cvref_t<decltype(op)>::Attributes;
    static constexpr bool takes(uint32_t n) { return !op.any_inputs && n >= op.least_inputs() && n <= op.inputs.size(); }
    static constexpr bool needs = op.needs_attributes();
    using Result = std::conditional_t<op.several_outputs(), std::vector<TensorId>, TensorId>;

    // NOLINTBEGIN(readability-named-parameter)
    Result operator()(Graph& g, TensorId x, const A& attributes, std::string name = {}) const requires(takes(1)) {
        return add(g, {x}, attributes, std::move(name));
    }
    Result operator()(Graph& g, TensorId x) const requires(takes(1) && !needs) { return add(g, {x}, {}, {}); }
    Result operator()(Graph& g, TensorId a, TensorId b, const A& attributes, std::string name = {}) const
        requires(takes(2)) {
        return add(g, {a, b}, attributes, std::move(name));
    }
    Result operator()(Graph& g, TensorId a, TensorId b) const requires(takes(2) && !needs) { return add(g, {a, b}, {}, {}); }
    Result operator()(Graph& g, TensorId a, TensorId b, TensorId c, const A& attributes, std::string name = {}) const
        requires(takes(3)) {
        return add(g, {a, b, c}, attributes, std::move(name));
    }
    Result operator()(Graph& g, TensorId a, TensorId b, TensorId c) const requires(takes(3) && !needs) {
        return add(g, {a, b, c}, {}, {});
    }
    // Any number of operands, and ops of more than three.
    Result operator()(Graph& g, std::initializer_list<TensorId> all, const A& attributes, std::string name = {}) const
        requires(op.any_inputs || op.inputs.size() > 3) {
        return add(g, all, attributes, std::move(name));
    }
    Result operator()(Graph& g, std::span<const TensorId> all, const A& attributes, std::string name = {}) const
        requires(op.any_inputs || op.inputs.size() > 3) {
        return add_node(g, all, attributes, std::move(name));
    }
    // NOLINTEND(readability-named-parameter)

private:
    static Result add(Graph& g, std::initializer_list<TensorId> inputs, const A& attributes, std::string name) {
        return add_node(g, {inputs.begin(), inputs.size()}, attributes, std::move(name));
    }
    static Result add_node(Graph& g, std::span<const TensorId> inputs, const A& attributes, std::string name) {
        const auto id = static_cast<Op>(op.id);
        if constexpr (op.several_outputs())
            return g.add_all(id, inputs, attributes_to_add(op, attributes), std::move(name));
        else
            return g.add(id, inputs, attributes_to_add(op, attributes), std::move(name));
    }
};

#define BP_OP_BUILDER(id, identifier, name) inline constexpr Builder<op_##identifier> identifier;
BP_OPS(BP_OP_BUILDER)
#undef BP_OP_BUILDER

}  // namespace backplane::ops
