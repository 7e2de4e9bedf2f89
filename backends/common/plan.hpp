// A graph on its way to becoming a program: values and nodes that a backend's passes rewrite.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/graph.hpp"

namespace backplane::backend {

// Applied to each element of a node's result before it is stored, in order: what fusion made of the nodes that followed.
struct PostOp {
    enum Kind : uint8_t { bias, unary, scale, add, binary } kind = unary;
    uint32_t op = 0;        // unary, binary: BP_OP_*
    float a = 0, b = 0;     // unary: its attributes; scale: the factor; binary: a is 1 where `value` is the first operand
    ValueId value = kNone;  // bias: one a channel or column; add: same shape as the result; binary: the other operand
};

struct FusedNode : Node {
    std::vector<PostOp> post;
};

// Casts `from` to `to`, on behalf of another node.
FusedNode cast_node(ValueId from, ValueId to, uint32_t dtype, const Node& like);

struct PlanNodes {
    std::vector<FusedNode> nodes;
    std::vector<ValueId> outputs;  // OUTPUT and updated STATE values

    [[nodiscard]] bool is_output(ValueId value) const;
};

// Who makes and reads each value, found in one pass over the nodes. Whoever changes nodes says so (add, drop), or makes it anew.
class Readers {
public:
    // `values`: how many there are, where that is known.
    explicit Readers(const PlanNodes& plan, size_t values = 0);
    template <typename Plan>
    requires requires(const Plan& plan) { plan.values.size(); }
    explicit Readers(const Plan& plan) : Readers(plan, plan.values.size()) {}

    // How often a value is read, fused post-ops included: a node may name it twice.
    [[nodiscard]] uint32_t times(ValueId value) const { return value < of_.size() ? of_[value].times : 0; }
    // The node that reads what is read once and is no output; kNone otherwise.
    [[nodiscard]] uint32_t only(ValueId value) const {
        return times(value) == 1 && !of_[value].output ? static_cast<uint32_t>(of_[value].sum) : kNone;
    }
    [[nodiscard]] uint32_t maker(ValueId value) const { return value < of_.size() ? of_[value].maker : kNone; }

    void add(const FusedNode& node, uint32_t index) { note(node, index, 1); }
    void drop(const FusedNode& node, uint32_t index) { note(node, index, -1); }

private:
    struct Of {
        uint32_t times = 0, maker = kNone;
        int64_t sum = 0;  // of the indices of the nodes that read it
        bool output = false;
    };
    void note(const FusedNode& node, uint32_t index, int sign) {
        for (const ValueId value : node.inputs) note(value, index, sign);
        for (const PostOp& post : node.post) note(post.value, index, sign);
    }
    void note(ValueId value, uint32_t index, int sign) {
        if (value == kNone) return;
        Of& of = at(value);
        of.times += static_cast<uint32_t>(sign);
        of.sum += sign * int64_t{index};
    }
    Of& at(ValueId value) { return value < of_.size() ? of_[value] : grown_to(value); }
    Of& grown_to(ValueId value);
    std::vector<Of> of_;
};

// What is bound at each run; a backend derives its own, with what packs it.
struct Slot {
    ValueId value = kNone;
    uint32_t tensor = 0;
    uint64_t bytes = 0, plain_bytes = 0;
    uint64_t layout = 0;                   // of a weight that is packed; 0: plain, and both are the same
    uint32_t first_use = 0, last_use = 0;  // steps, counted from 1; 0: none
    bool written = false;
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
    // A temporary of these dimensions.
    ValueId temporary(uint32_t dtype, std::vector<int64_t> dim) {
        V value;
        value.dtype = dtype;
        value.dim = std::move(dim);
        return add_value(std::move(value));
    }
    // The value whose bytes hold these, itself unless it lies inside another; *at becomes the distance from its start.
    ValueId storage_of(ValueId value, uint64_t* at = nullptr) const {
        uint64_t distance = 0;
        for (; values[value].inside != kNone; value = values[value].inside) distance += values[value].inside_at;
        if (at != nullptr) *at = distance;
        return value;
    }
    // What the host binds: what is read or written, and states.
    [[nodiscard]] std::vector<ValueId> bound() const {
        std::vector<ValueId> out;
        const Readers readers(*this);
        for (ValueId id = 0; id < values.size(); ++id) {
            const uint32_t role = values[id].role;
            if (role == BP_ROLE_TEMPORARY || role == BP_ROLE_CONSTANT) continue;
            if (role == BP_ROLE_STATE || role == BP_ROLE_OUTPUT || readers.times(id) != 0) out.push_back(id);
        }
        return out;
    }
};

inline uint64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
    return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
}

// What a host is told of a program of so many steps; `summary` stays where it is.
template <typename Plan>
bp_program_info info_of(const Plan& plan, size_t steps, const std::vector<bp_slot>& slots, const std::string& summary) {
    bp_program_info info{};
    info.workspace_bytes = plan.workspace_bytes;
    info.resident_bytes = plan.resident_bytes;
    info.kernels = static_cast<uint32_t>(steps);
    info.slots = {slots.data(), static_cast<uint32_t>(slots.size()), sizeof(bp_slot)};
    info.summary = summary.c_str();
    return info;
}

// Throws Failure(BP_UNSUPPORTED) for the first node that `check(plan, node)`, a Verdict, refuses.
template <typename Plan, typename Check>
void check_nodes(const Plan& plan, const Check& check) {
    for (const auto& node : plan.nodes)
        if (const Verdict verdict = check(plan, node); verdict.reason != BP_WHY_NONE)
            throw sdk::Failure(BP_UNSUPPORTED, "compile: " + verdict.text + "; run this node elsewhere (see query)");
}

// Slots for what the host binds, in the order of tensors.
template <typename Plan>
void add_slots(Plan& plan) {
    for (const ValueId id : plan.bound()) {
        auto& slot = plan.slots.emplace_back();
        slot.value = id;
        slot.tensor = plan[id].tensor;
        slot.bytes = slot.plain_bytes = plan[id].bytes;
    }
}

// The same as the host is told of them.
template <typename S>
std::vector<bp_slot> told_slots(const std::vector<S>& slots, uint64_t alignment) {
    std::vector<bp_slot> out;
    for (const Slot& slot : slots)
        out.push_back(
            {BP_SIZE(bp_slot, last_use), slot.tensor, slot.bytes, alignment, slot.layout, slot.first_use, slot.last_use});
    return out;
}

// Element types that a backend's kernels do not have: a node computes on those they have, with casts around it. type_of(node): the one that the node
// computes in, BP_DTYPE_UNKNOWN for one that stays as it is. stays(node, k): operand k comes as it is, k of the operands' number: the result.
template <typename Plan, typename TypeOf, typename Stays>
void cast_to_fit(Plan& plan, const TypeOf& type_of, const Stays& stays) {
    std::vector<FusedNode> nodes;
    std::map<std::pair<ValueId, uint32_t>, ValueId> made;
    for (FusedNode& node : plan.nodes) {
        const uint32_t type = type_of(node);
        const ValueId out = node.output;
        const auto fits = [&](ValueId id, size_t k) {
            return type == BP_DTYPE_UNKNOWN || id == kNone || plan[id].dtype == type || stays(node, k);
        };
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            if (fits(node.inputs[k], k)) continue;
            const auto [cast, is_new] = made.try_emplace({node.inputs[k], type}, kNone);
            if (is_new) {
                cast->second = plan.temporary(type, plan[node.inputs[k]].dim);
                nodes.push_back(cast_node(node.inputs[k], cast->second, type, node));
            }
            node.inputs[k] = cast->second;
        }
        const bool whole = fits(out, node.inputs.size());
        if (!whole) node.output = plan.temporary(type, plan[out].dim);
        FusedNode after = whole ? FusedNode{} : cast_node(node.output, out, plan[out].dtype, node);
        nodes.push_back(std::move(node));
        if (!whole) nodes.push_back(std::move(after));
    }
    plan.nodes = std::move(nodes);
}

// "Softmax f32[2,5]", for the program's summary; `values`: a plan, or what lowers it.
template <typename Values>
std::string step_label(const Values& values, const Node& node) {
    std::string label;
    label.reserve(48);
    label.append(sdk::op_name(node.op)).append(" ");
    values[node.output].append_text(label);
    return label;
}

// The graph as a plan of the backend's own, a PlanOf. Throws as read_graph does.
template <typename Plan>
Plan plan_of(const bp_graph* graph) {
    ImportedGraph read = read_graph(graph);
    Plan plan;
    plan.values.reserve(read.values.size());
    plan.nodes.reserve(read.nodes.size());
    for (Value& value : read.values) static_cast<Value&>(plan.values.emplace_back()) = std::move(value);
    for (Node& node : read.nodes) static_cast<Node&>(plan.nodes.emplace_back()) = std::move(node);
    plan.outputs = std::move(read.outputs);
    return plan;
}

}  // namespace backplane::backend
