// Plain data of a graph that outlives the call it came in (a graph is lent for the call only).
#pragma once

#include <string>
#include <vector>

#include "backplane/sdk.hpp"

namespace backplane::reference {

class GraphCopy {
public:
    // Throws sdk::Failure(BP_INVALID) when an index is out of range.
    explicit GraphCopy(const bp_graph& from);
    GraphCopy(const GraphCopy&) = delete;
    GraphCopy& operator=(const GraphCopy&) = delete;
    [[nodiscard]] const bp_graph* get() const { return &graph_; }

private:
    void copy_tensors(const sdk::GraphView& from);
    void copy_nodes(const sdk::GraphView& from);
    void copy_attributes(const bp_span& from);
    const char* keep(const char* name);

    std::vector<bp_tensor> tensors_;
    std::vector<bp_node> nodes_;
    std::vector<bp_attribute> attributes_;
    std::vector<bp_symbol> symbols_;
    std::vector<uint32_t> edges_;
    std::vector<std::vector<char>> blobs_;  // of constants, lists and names; the inner memory never moves
    bp_graph graph_{};
};

}  // namespace backplane::reference
