// A graph of the ABI, record by record.
#pragma once

#include <algorithm>
#include <vector>

#include "backplane/module.h"
#include "backplane/ops.h"

namespace backplane::gpu {

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
    void node(uint32_t op, const std::vector<uint32_t>& inputs, uint32_t output) {
        bp_node n{};
        n.struct_size = sizeof n;
        n.op = op;
        n.input = static_cast<uint32_t>(edges_.size());
        n.inputs = static_cast<uint32_t>(inputs.size());
        edges_.insert(edges_.end(), inputs.begin(), inputs.end());
        n.output = static_cast<uint32_t>(edges_.size());
        n.outputs = 1;
        edges_.push_back(output);
        nodes_.push_back(n);
    }
    // Valid until the next change.
    const bp_graph* get() {
        graph_.struct_size = sizeof graph_;
        graph_.tensors = span(tensors_);
        graph_.nodes = span(nodes_);
        graph_.edges = span(edges_);
        return &graph_;
    }

private:
    template <typename T>
    static bp_span span(const std::vector<T>& records) {
        return {records.data(), static_cast<uint32_t>(records.size()), sizeof(T)};
    }
    std::vector<bp_tensor> tensors_;
    std::vector<bp_node> nodes_;
    std::vector<uint32_t> edges_;
    bp_graph graph_{};
};

}  // namespace backplane::gpu
