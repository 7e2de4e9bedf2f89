// The rows of a backend's ops, which stand in the files of its folder ops/, by the number of an op.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <unordered_map>

#include "common/element_types.hpp"
#include "common/graph.hpp"

namespace backplane::backend {

template <typename Row>
class OpRows {
public:
    explicit OpRows(std::initializer_list<std::span<const Row>> families) {
        for (const std::span<const Row> family : families)
            for (const Row& row : family) (row.op < first_.size() ? first_[row.op] : others_[row.op]) = &row;
    }
    // Null: there is none.
    [[nodiscard]] const Row* find(uint32_t op) const {
        if (op < first_.size()) return first_[op];
        const auto found = others_.find(op);
        return found != others_.end() ? found->second : nullptr;
    }

private:
    std::array<const Row*, 256> first_{};  // those of the op table: each pass of a compile asks for each node
    std::unordered_map<uint32_t, const Row*> others_;
};

// Does the row of a node take its operands and its result, and the node? `also(types, value)`: what else a backend asks of each.
template <typename Plan, typename N, typename Row, typename Also>
Verdict check_row(const Plan& plan, const N& node, const Row& row, const Also& also) {
    const Types types = row.types(node);
    for (size_t k = 0; k <= node.inputs.size(); ++k) {
        const bool result = k == node.inputs.size();
        const ValueId id = result ? node.output : node.inputs[k];
        if (id == kNone) continue;
        const auto& value = plan[id];
        const bool own = !result && (row.owns(k) || (row.takes_blocks(k) && is_block(value.dtype)));
        if (!own && !welcome(types, value.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for " + value.text()};
        if (Verdict verdict = also(types, value); verdict.reason != BP_WHY_NONE) return verdict;
    }
    return row.check != nullptr ? row.check(plan, node) : Verdict{};
}

}  // namespace backplane::backend
