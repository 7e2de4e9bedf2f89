// A graph compiled to a ggml graph: built once, placed where each run says, run many times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/workspace.hpp"
#include "handles.hpp"
#include "lowering.hpp"

namespace backplane::ggml {

class Program {
public:
    // Throws sdk::Failure: unsupported (the text names the node), invalid, cancelled, no device memory.
    Program(OpenDevice& device, const bp_graph& graph, const bp_compile& how);

    [[nodiscard]] bp_program_info info() const;
    void run(const bp_run& request);                   // [device]
    void pack(uint32_t slot, const bp_copy& request);  // [device]

private:
    struct Bound {  // a tensor of the graph that the host binds
        uint32_t tensor;
        uint64_t bytes;
        Tensor* leaf;
        uint64_t serial = 0, offset = 0;  // where it was placed last
    };
    struct Temporary {  // of the workspace
        Tensor* tensor;
        backend::Life life;  // over nodes of the ggml graph
    };
    void lower(const sdk::GraphView& view, const bp_compile& how, bool native);
    void bind_outputs(const sdk::GraphView& view, Lowering& lowering);
    void list_slots(const sdk::GraphView& view, const Lowering& lowering);
    void keep_constants(const Lowering& lowering);
    void plan_workspace(const Lowering& lowering);
    void collect_views();
    void place(Tensor* tensor, Buffer* buffer, std::byte* address);
    void bind(const bp_run& request);
    void place_workspace(const bp_run& request);

    OpenDevice& device_;
    const BaseLibrary& base_;
    bool plan_only_;
    bool native_;
    std::unique_ptr<ContextHandle> context_;
    Graph* graph_ = nullptr;
    std::vector<Bound> bound_;
    std::vector<bp_slot> slots_;  // beside bound_
    std::vector<Temporary> temporaries_;
    std::vector<std::pair<Tensor*, Tensor*>> views_;  // (source, view), sorted by source, in order of making
    std::unique_ptr<DeviceBuffer> constants_;
    uint64_t workspace_ = 0;
    uint64_t placed_serial_ = 0, placed_offset_ = 0;
    std::string summary_;
};

}  // namespace backplane::ggml
