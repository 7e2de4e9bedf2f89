// A graph of the ABI, record by record.
#pragma once

#include <algorithm>
#include <vector>

#include "backplane/module.h"
#include "backplane/ops.h"
#include "common/gpu/compile.hpp"

namespace backplane::gpu {

inline bp_attribute integer(uint32_t id, int64_t value) {
    bp_attribute a{};
    a.struct_size = sizeof a;
    a.id = id;
    a.type = BP_ATTRIBUTE_INT;
    a.integer = value;
    return a;
}

// The values stay where they are for as long as the graph is used.
inline bp_attribute list(uint32_t id, const std::vector<int64_t>& values) {
    bp_attribute a{};
    a.struct_size = sizeof a;
    a.id = id;
    a.type = BP_ATTRIBUTE_INTS;
    a.integers = {values.data(), values.size() * sizeof(int64_t)};
    return a;
}

class GraphMaker {
public:
    uint32_t tensor(uint32_t role, const std::vector<int64_t>& dims, uint32_t dtype = BP_F32) {
        bp_tensor t{};
        t.struct_size = sizeof t;
        t.role = role;
        t.dtype = dtype;
        t.rank = static_cast<uint32_t>(dims.size());
        std::copy(dims.begin(), dims.end(), t.dim);
        tensors_.push_back(t);
        return static_cast<uint32_t>(tensors_.size() - 1);
    }
    // The new value of a state, of its shape.
    uint32_t next(uint32_t state) {
        bp_tensor t = tensors_[state];
        t.state_in = 1 + state;
        tensors_.push_back(t);
        return static_cast<uint32_t>(tensors_.size() - 1);
    }
    void node(uint32_t op, const std::vector<uint32_t>& inputs, uint32_t output,
              const std::vector<bp_attribute>& attributes = {}) {
        bp_node n{};
        n.struct_size = sizeof n;
        n.op = op;
        n.input = static_cast<uint32_t>(edges_.size());
        n.inputs = static_cast<uint32_t>(inputs.size());
        edges_.insert(edges_.end(), inputs.begin(), inputs.end());
        n.output = static_cast<uint32_t>(edges_.size());
        n.outputs = 1;
        n.attribute = static_cast<uint32_t>(attributes_.size());
        n.attributes = static_cast<uint32_t>(attributes.size());
        attributes_.insert(attributes_.end(), attributes.begin(), attributes.end());
        edges_.push_back(output);
        nodes_.push_back(n);
    }
    // Valid until the next change.
    const bp_graph* get() {
        graph_.struct_size = sizeof graph_;
        graph_.tensors = span(tensors_);
        graph_.nodes = span(nodes_);
        graph_.edges = span(edges_);
        graph_.attributes = span(attributes_);
        return &graph_;
    }
    // For a device with all element types, or without whole numbers of 64 bits.
    Plan plan(bool longs = true) {
        Abilities can;
        can.halves = can.bytes = true;
        can.longs = longs;
        can.most_range = 1 << 20;
        return plan(can);
    }
    Plan plan(const Abilities& can, uint32_t math = BP_MATH_DEFAULT) {
        bp_compile how{};
        how.struct_size = sizeof how;
        how.math = math;
        return make_plan(get(), how, can);
    }

private:
    template <typename T>
    static bp_span span(const std::vector<T>& records) {
        return {records.data(), static_cast<uint32_t>(records.size()), sizeof(T)};
    }
    std::vector<bp_tensor> tensors_;
    std::vector<bp_node> nodes_;
    std::vector<uint32_t> edges_;
    std::vector<bp_attribute> attributes_;
    bp_graph graph_{};
};

// A matrix by itself.
inline GraphMaker square_of(int64_t size, uint32_t dtype) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {size, size}, dtype);
    g.node(BP_OP_matmul, {x, x}, g.tensor(BP_ROLE_OUTPUT, {size, size}, dtype));
    return g;
}

}  // namespace backplane::gpu
