#include "runtime/row_branches.hpp"

#include <algorithm>
#include <set>

namespace backplane::runtime {

namespace {

using Readers = std::vector<std::vector<size_t>>;  // by tensor

Readers readers_of(const Graph& graph) {
    Readers all(graph.tensors().size());
    for (size_t n = 0; n < graph.nodes().size(); ++n)
        for (const TensorId t : graph.nodes()[n].inputs)
            if (t.valid()) all[t.index].push_back(n);
    return all;
}

// What a branch takes of what all read, and puts around it: the first and the last begin and end elsewhere than those between.
bool is_taking(Op op) { return op == Op::slice || op == Op::pad; }

// Nodes that nothing but the operand of the Concat comes of; in descending order.
std::vector<size_t> branch(const Graph& graph, const Readers& readers, size_t concat, TensorId operand,
                           const std::function<bool(const Node&)>& stays_out) {
    std::vector<size_t> nodes;
    std::set<size_t> in{concat};
    const auto stays = [&](TensorId t) {
        return graph[t].role == Role::temporary && std::ranges::all_of(readers[t.index], [&](size_t reader) {
                   return in.contains(reader) && (reader != concat || t == operand);
               });
    };
    for (size_t n = concat; n-- > 0;) {
        const Node& node = graph.nodes()[n];
        if (stays_out(node) || !std::ranges::all_of(node.outputs, stays)) continue;
        in.insert(n);
        nodes.push_back(n);
    }
    return nodes;
}

}  // namespace

std::vector<uint32_t> branches_of(const Graph& graph, uint32_t count, const std::function<bool(const Node&)>& stays_out) {
    constexpr size_t kLeastNodes = 8;  // of a branch: less is not worth what crosses
    const Readers readers = readers_of(graph);
    std::vector<uint32_t> all(graph.nodes().size(), kNoBranch);
    for (size_t n = graph.nodes().size(); n-- > 0;) {
        const Node& node = graph.nodes()[n];
        if (node.op != Op::concat || node.inputs.size() != count || stays_out(node) || all[n] != kNoBranch) continue;
        std::vector<std::vector<size_t>> branches;
        std::vector<std::vector<Op>> ops;
        for (const TensorId t : node.inputs) {
            std::vector<Op>& of = ops.emplace_back();
            for (const size_t m : branches.emplace_back(branch(graph, readers, n, t, stays_out)))
                if (!is_taking(graph.nodes()[m].op)) of.push_back(graph.nodes()[m].op);
            std::ranges::sort(of);
        }
        const bool alike = std::ranges::all_of(ops, [&](const auto& of) { return of == ops[0]; });
        for (uint32_t k = 0; alike && ops[0].size() >= kLeastNodes && k < count; ++k)
            for (const size_t m : branches[k]) all[m] = k;
    }
    return all;
}

}  // namespace backplane::runtime
