// A compiled graph. Here "compiled" means checked; yours chooses kernels, fuses, plans memory and records commands.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backplane/graph.hpp"
#include "graph/evaluate.hpp"
#include "graph_copy.hpp"
#include "handles.hpp"

namespace backplane::reference {

class Program {
public:
    // Throws Error: unsupported (text names the node), invalid, cancelled.
    Program(Device& device, const bp_graph& graph, const bp_compile& how);

    [[nodiscard]] bp_program_info info() const;
    // Checks bindings and symbols, then submits the work. Throws Error: invalid (nothing is submitted or written), cancelled.
    void run(const bp_run& request) const;

private:
    struct Bound;
    void list_slots();
    [[nodiscard]] Bound bind(const Graph& graph, const bp_run& request) const;
    void check_overlaps(const std::vector<std::byte*>& memory) const;
    void compute(const Graph& graph, const Bound& bound, const volatile uint32_t* cancel) const;

    Device& device_;
    bool plan_only_ = false;
    std::shared_ptr<const Graph> graph_;   // with symbols at their most
    std::unique_ptr<GraphCopy> symbolic_;  // null: the graph has no symbols
    std::vector<bp_slot> slots_;
    std::string summary_;
};

}  // namespace backplane::reference
