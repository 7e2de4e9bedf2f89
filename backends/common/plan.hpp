// A graph on its way to becoming a program: values and nodes that a backend's passes rewrite.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/graph.hpp"

namespace backplane::backend {

// Applied to each element of a node's result before it is stored, in order: what fusion made of the nodes that followed.
struct PostOp {
    enum Kind : uint8_t { bias, unary, scale, add } kind = unary;
    uint32_t op = 0;        // unary: BP_OP_*
    float a = 0, b = 0;     // unary: its attributes; scale: the factor
    ValueId value = kNone;  // bias: one a channel or column; add: same shape as the result
};

struct FusedNode : Node {
    std::vector<PostOp> post;
};

// Casts `from` to `to`, on behalf of another node.
FusedNode cast_node(ValueId from, ValueId to, uint32_t dtype, const Node& like);

struct PlanNodes {
    std::vector<FusedNode> nodes;
    std::vector<ValueId> outputs;  // OUTPUT and updated STATE values

    // Nodes that read a value, fused post-ops included.
    [[nodiscard]] std::vector<uint32_t> users(ValueId value) const;
    // How often a value is read: a node may name it twice.
    [[nodiscard]] int64_t uses(ValueId value) const;
    [[nodiscard]] uint32_t producer(ValueId value) const;  // node index; kNone: none
    [[nodiscard]] bool is_output(ValueId value) const;
};

// `V`: what a backend keeps of a value, derived from Value.
template <typename V>
struct PlanOf : PlanNodes {
    std::vector<V> values;
    uint64_t workspace_bytes = 0, resident_bytes = 0;
    uint32_t math = BP_MATH_DEFAULT;

    V& operator[](ValueId id) { return values[id]; }
    const V& operator[](ValueId id) const { return values[id]; }
    ValueId add_value(V value) {
        const sdk::DTypeInfo info = sdk::dtype_info(value.dtype);
        if (value.bytes == 0) value.bytes = static_cast<uint64_t>(value.elements()) / info.block * info.bytes;
        values.push_back(std::move(value));
        return static_cast<ValueId>(values.size() - 1);
    }
    // What the host binds: what is read or written, and states.
    [[nodiscard]] std::vector<ValueId> bound() const {
        std::vector<ValueId> out;
        for (ValueId id = 0; id < values.size(); ++id) {
            const uint32_t role = values[id].role;
            if (role == BP_ROLE_TEMPORARY || role == BP_ROLE_CONSTANT) continue;
            if (role == BP_ROLE_STATE || is_output(id) || !users(id).empty()) out.push_back(id);
        }
        return out;
    }
    // The single node that reads a TEMPORARY; kNone when there are none, more, or it must be kept.
    [[nodiscard]] uint32_t only_user(ValueId value) const {
        if (values[value].role != BP_ROLE_TEMPORARY || is_output(value)) return kNone;
        const std::vector<uint32_t> readers = users(value);
        if (readers.size() != 1) return kNone;
        const std::vector<ValueId>& inputs = nodes[readers[0]].inputs;
        return std::count(inputs.begin(), inputs.end(), value) == 1 ? readers[0] : kNone;
    }
};

// The graph as a plan of the backend's own, a PlanOf. Throws as read_graph does.
template <typename Plan>
Plan plan_of(const bp_graph* graph) {
    ImportedGraph read = read_graph(graph);
    Plan plan;
    for (Value& value : read.values) plan.values.push_back({std::move(value)});
    for (Node& node : read.nodes) plan.nodes.push_back({std::move(node), {}});
    plan.outputs = std::move(read.outputs);
    return plan;
}

}  // namespace backplane::backend
