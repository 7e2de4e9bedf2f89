#include "lowering.hpp"

#include <algorithm>
#include <utility>

#include "common/hash.hpp"
#include "common/op_rows.hpp"
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
    const uint32_t role = plan[weight].role;
    if (packings_of_.size() <= weight) packings_of_.resize(weight + 1, kNone);
    if (role == BP_ROLE_WEIGHT)
        for (uint32_t at = packings_of_[weight]; at != kNone; at = packings_[at].next)
            if (Packing& known = packings_[at]; known.layout == layout && known.bytes == bytes) {
                ++known.readers;
                return known.made;
            }
    Value value;
    value.dtype = BP_U8;
    value.dim = {static_cast<int64_t>(bytes)};
    const ValueId id = plan.add_value(std::move(value));
    if (role == BP_ROLE_CONSTANT) {
        plan.residents.push_back({id, weight, std::move(pack)});
    } else {
        const uint32_t before = std::exchange(packings_of_[weight], static_cast<uint32_t>(packings_.size()));
        packings_.push_back({weight, id, layout, bytes, std::move(pack), 1, plan.steps.size(), before});
    }
    return id;
}

void Lowering::place_packed() {
    std::vector<std::pair<size_t, Step>> packs;  // before which step; in order, as steps were
    for (Packing& one : packings_) {
        const bool all = one.readers == readers_.times(one.weight) && slot_of_.size() > one.weight;
        if (plan[one.weight].role == BP_ROLE_WEIGHT && all && slot_of_[one.weight] != kNone) {
            Slot& slot = plan.slots[slot_of_[one.weight]];
            slot.bytes = one.bytes;
            slot.layout = one.layout;
            slot.pack = std::move(one.pack);
            plan[one.made].inside = one.weight;
            continue;
        }
        Step step;
        step.label = "pack ";
        plan[one.weight].append_text(step.label);
        step.reads = {one.weight};
        step.writes = {one.made};
        step.run = [weight = one.weight, id = one.made, pack = std::move(one.pack)](const Run& run) {
            pack(run.at<std::byte>(weight), run.at<std::byte>(id), run.pool());
        };
        step.moved = one.bytes;
        packs.emplace_back(one.before, std::move(step));
    }
    packings_.clear();
    packings_of_.clear();
    if (packs.empty()) return;
    std::vector<Step> steps;
    steps.reserve(plan.steps.size() + packs.size());
    size_t at = 0;
    for (auto& [before, pack] : packs) {
        for (; at < before; ++at) steps.push_back(std::move(plan.steps[at]));
        steps.push_back(std::move(pack));
    }
    for (; at < plan.steps.size(); ++at) steps.push_back(std::move(plan.steps[at]));
    plan.steps = std::move(steps);
}

namespace {

// Not moved alone: an op's description has all of its floats in the type of the first operand.
bool computes_in_doubles(const Plan& plan, const Node& node, const OpLowering& lowering) {
    return lowering.types(node) != Types::moves && node.input(0) != kNone && plan[node.inputs[0]].dtype == BP_F64;
}

}  // namespace

Verdict check_node(const Plan& plan, const Node& node) {
    const OpLowering* lowering = find_lowering(node.op);
    if (lowering == nullptr) return {BP_WHY_OP, node.text() + " is not an op of this backend"};
    if (Verdict verdict = backend::check_shapes(plan, node); verdict.reason != BP_WHY_NONE) return verdict;
    if (computes_in_doubles(plan, node, *lowering)) {
        if (find_lowering(node.op | kInDoubles) != nullptr) return {};
        return {BP_WHY_DTYPE, node.text() + " is not done for " + plan[node.inputs[0]].text()};
    }
    return backend::check_row(plan, node, *lowering, [](Types, const Value&) { return Verdict{}; });
}

void mark_doubles(Plan& plan) {
    for (Node& node : plan.nodes)
        if (computes_in_doubles(plan, node, *find_lowering(node.op))) node.op |= kInDoubles;
}

uint64_t layout_id(const std::string& text) {
    const uint64_t hash = backend::hash_of(text);
    return hash != 0 ? hash : 1;
}

}  // namespace backplane::cpu
