// What every backend here begins with: the values and nodes of a host's graph, read and checked once. A backend that keeps more of a
// value or node (where it lies, what was fused into it) derives its own from these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backplane/ops/table.hpp"
#include "backplane/sdk.hpp"

namespace backplane::backend {

using ValueId = uint32_t;
inline constexpr ValueId kNone = UINT32_MAX;

struct Value {
    uint32_t dtype = BP_F32;
    uint32_t role = BP_ROLE_TEMPORARY;
    std::vector<int64_t> dim;
    std::vector<std::byte> constant;  // role CONSTANT: its bytes
    uint32_t tensor = kNone;          // index in the graph, for what is bound at each run
    ValueId state = kNone;            // what a node writes to update this STATE value
    uint64_t bytes = 0;
    ValueId inside = kNone;  // these bytes are part of another value's, `inside_at` bytes from its start
    uint64_t inside_at = 0;
    uint32_t base = 0;  // where it lies: the memory, and the offset in it (workspace.hpp)
    uint64_t offset = 0;

    [[nodiscard]] int64_t elements() const;
    [[nodiscard]] std::string text() const;  // "f32[1,3,8,8]"
    void append_text(std::string& to) const;
};
// As std::to_string has it, without a string of its own: a plan has thousands of numbers in its labels.
void append_number(std::string& to, int64_t number);

struct Node {
    uint32_t op = 0;
    uint32_t index = 0;  // in the graph
    std::string name;
    std::vector<ValueId> inputs;  // kNone: not given
    ValueId output = kNone;
    uint32_t part = 0;                                       // which output of its op this is
    std::vector<ValueId> more;                               // the outputs behind it, until expand_recurrent (recurrent.hpp)
    std::vector<backplane::ops::AttributeValue> attributes;  // as stated; the rules have not seen them

    // The op's own structure: as<backplane::ops::ConvAttributes>().strides[0]. The node has passed check_shapes.
    template <class A>
    [[nodiscard]] A as() const {
        return backplane::ops::attributes_of<A>(*backplane::ops::find(op), attributes);
    }
    [[nodiscard]] ValueId input(size_t k) const { return k < inputs.size() ? inputs[k] : kNone; }
    // "Conv 'block/3' (node 17)"
    [[nodiscard]] std::string text() const;
};

// Why an op is not done; reason BP_WHY_NONE: it is.
struct Verdict {
    uint32_t reason = BP_WHY_NONE;
    std::string text;
};

struct ImportedGraph {
    std::vector<Value> values;
    std::vector<Node> nodes;
    std::vector<ValueId> outputs;  // OUTPUT and updated STATE values
};

// Reads the host's graph. Throws Failure(BP_INVALID); symbolic dimensions are Failure(BP_UNSUPPORTED).
ImportedGraph read_graph(const bp_graph* graph);

// One tensor or node of a graph that GraphView::validate() has seen, for a backend that makes no plan; throw as read_graph does. The bytes of
// a constant stay where they are.
Value read_tensor(const sdk::GraphView& graph, uint32_t index);
// A node as those of one output that backends know: parts of a Split are each a Slice, with its index; what chooses values and positions is the
// choice of the positions (its part 1), and the values are gathered by them. A recurrent one stays whole, with `more` outputs.
std::vector<Node> read_nodes(const sdk::GraphView& graph, uint32_t index);
void read_nodes(const sdk::GraphView& graph, uint32_t index, std::vector<Node>& into);  // behind what is there

}  // namespace backplane::backend
