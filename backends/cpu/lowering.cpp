#include "lowering.hpp"

#include <algorithm>

#include "common/hash.hpp"
#include "common/shape_rules.hpp"

namespace backplane::cpu {

Lowering::Lowering(Plan& to, const Kernels& with)
    : plan(to), kernels(with), readers_(to), slot_of_(to.values.size(), kNone) {
    for (uint32_t i = 0; i < to.slots.size(); ++i) slot_of_[to.slots[i].value] = i;
}

Step& Lowering::step(std::string label, std::vector<ValueId> reads, std::vector<ValueId> writes,
                     std::function<void(const Run&)> run) {
    std::erase(reads, kNone);
    Step& added = plan.steps.emplace_back();
    added.label = std::move(label);
    added.reads = std::move(reads);
    added.writes = std::move(writes);
    added.scratch = std::move(pending_scratch_);
    added.run = std::move(run);
    pending_scratch_.clear();
    return added;
}

ValueId Lowering::scratch(uint64_t bytes) {
    Value value;
    value.dtype = BP_U8;
    value.dim = {static_cast<int64_t>(bytes)};
    const ValueId id = plan.add_value(std::move(value));
    pending_scratch_.push_back(id);
    return id;
}

ValueId Lowering::packed(ValueId weight, uint64_t layout, uint64_t bytes, PackFunction pack) {
    Value value;
    value.dtype = BP_U8;
    value.dim = {static_cast<int64_t>(bytes)};
    const uint32_t role = plan[weight].role;
    if (role == BP_ROLE_WEIGHT && readers_.times(weight) == 1) {
        if (slot_of_[weight] != kNone) {
            Slot& slot = plan.slots[slot_of_[weight]];
            slot.bytes = bytes;
            slot.layout = layout;
            slot.pack = std::move(pack);
        }
        return weight;
    }
    const ValueId id = plan.add_value(std::move(value));
    if (role == BP_ROLE_CONSTANT) {
        plan.residents.push_back({id, weight, std::move(pack)});
        return id;
    }
    Step& added = plan.steps.emplace_back();
    added.label = "pack " + plan[weight].text();
    added.reads = {weight};
    added.writes = {id};
    added.run = [weight, id, pack = std::move(pack)](const Run& run) {
        pack(run.at<std::byte>(weight), run.at<std::byte>(id), run.pool());
    };
    added.moved = bytes;
    return id;
}

namespace {

Verdict wrong_type(const Node& node, const Value& value) {
    return {BP_WHY_DTYPE, node.text() + " is not done for " + value.text()};
}

}  // namespace

Verdict check_node(const Plan& plan, const Node& node) {
    const OpLowering* lowering = find_lowering(node.op);
    if (lowering == nullptr) return {BP_WHY_OP, node.text() + " is not an op of this backend"};
    if (Verdict verdict = backend::check_shapes(plan, node); verdict.reason != BP_WHY_NONE) return verdict;
    const Types types = lowering->types(node);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] == kNone || lowering->owns(k)) continue;
        const Value& value = plan[node.inputs[k]];
        if (lowering->takes_blocks(k) && is_block(value.dtype)) continue;
        if (!backend::welcome(types, value.dtype)) return wrong_type(node, value);
    }
    const Value& output = plan[node.output];
    if (!backend::welcome(types, output.dtype)) return wrong_type(node, output);
    return lowering->check != nullptr ? lowering->check(plan, node) : Verdict{};
}

uint64_t layout_id(const std::string& text) {
    const uint64_t hash = backend::hash_of(text);
    return hash != 0 ? hash : 1;
}

}  // namespace backplane::cpu
