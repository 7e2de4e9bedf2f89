// The answers to a host that asks which nodes of a graph a device does.
#pragma once

#include <algorithm>

#include "common/plan.hpp"

namespace backplane::backend {

inline bool has_symbols(const sdk::GraphView& graph) {
    for (uint32_t i = 0; i < graph.tensors(); ++i) {
        const bp_tensor t = graph.tensor(i);
        if (std::any_of(t.dim, t.dim + t.rank, [](int64_t d) { return d < 0; })) return true;
    }
    return false;
}

// BP_WHY_NONE: it is done. Nothing is written where there is no room.
inline void answer(const bp_array& answers, uint32_t node, const Verdict& verdict) {
    if (node >= answers.count) return;
    bp_answer a{};
    a.code = verdict.reason == BP_WHY_NONE ? BP_OK : BP_UNSUPPORTED;
    a.reason = verdict.reason;
    sdk::write(BP_AT_OUT(bp_answer, &answers, node), a, verdict.text);
}

// `check(plan, node)`: a Verdict. Symbolic dimensions are not done.
template <typename Plan, typename Check>
void answer_query(const bp_graph* graph, const bp_array& answers, const Check& check) {
    const sdk::GraphView view(graph);
    view.validate();
    if (has_symbols(view)) {
        for (uint32_t i = 0; i < view.nodes(); ++i)
            answer(answers, i, {BP_WHY_SYMBOLIC, "a dimension is symbolic: compile the graph once per size"});
        return;
    }
    const Plan plan = plan_of<Plan>(graph);
    std::vector<Verdict> verdicts(view.nodes());  // a node of the host may be several of the plan: all of them must be done
    for (const auto& node : plan.nodes)
        if (Verdict& verdict = verdicts[node.index]; verdict.reason == BP_WHY_NONE) verdict = check(plan, node);
    for (uint32_t i = 0; i < verdicts.size(); ++i) answer(answers, i, verdicts[i]);
}

}  // namespace backplane::backend
