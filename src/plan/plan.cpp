#include "plan/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/json.hpp"
#include "base/visible_text.hpp"
#include "plan/residency.hpp"

namespace backplane::plan {

namespace {

// Calls visit(stage, use) for what stages bind on the port that is their first choice.
template <typename Visit>
void each_use(const Plan& plan, uint32_t port, Visit visit) {
    for (const Stage& stage : plan.stages)
        if (!stage.ports.empty() && stage.ports.front() == port)
            for (const SlotUse& use : stage.uses) visit(stage, use);
}

// Bytes of the values that `wanted` names, each counted once.
template <typename Wanted>
uint64_t sum_on(const Plan& plan, uint32_t port, Wanted wanted) {
    std::vector<bool> seen(plan.values.size(), false);
    uint64_t sum = 0;
    each_use(plan, port, [&](const Stage&, const SlotUse& use) {
        if (seen[use.value] || !wanted(use, plan.values[use.value].kind)) return;
        seen[use.value] = true;
        sum += plan.values[use.value].bytes;
    });
    return sum;
}

bool in_frame(Kind kind) { return kind == Kind::input || kind == Kind::output || kind == Kind::boundary; }

uint64_t place_of(const Plan& plan, const Stage& stage) {
    uint64_t sum = 0;
    for (const SlotUse& use : stage.uses)
        if (use.streamed) sum += Ring::in_place(plan.values[use.value].bytes);
    return sum;
}

struct WeightsOf {  // bytes of one stage
    uint64_t resident = 0, streamed = 0;
};

WeightsOf weights_of(const Plan& plan, const Stage& stage) {
    WeightsOf sum;
    for (const SlotUse& use : stage.uses)
        if (plan.values[use.value].kind == Kind::weight)
            (use.streamed ? sum.streamed : sum.resident) += plan.values[use.value].bytes;
    return sum;
}

}  // namespace

const char* name_of(Kind kind) noexcept {
    switch (kind) {
        case Kind::input: return "input";
        case Kind::output: return "output";
        case Kind::boundary: return "boundary";
        case Kind::state: return "state";
        default: return "weight";
    }
}

bool Stage::streams() const {
    return std::any_of(uses.begin(), uses.end(), [](const SlotUse& use) { return use.streamed; });
}

uint64_t Plan::weight_bytes(uint32_t port) const {
    return sum_on(*this, port, [](const SlotUse& use, Kind kind) { return kind == Kind::weight && !use.streamed; });
}

uint64_t Plan::place_bytes(uint32_t port) const {
    uint64_t most = 0;
    for (const Stage& stage : stages)
        if (std::find(stage.ports.begin(), stage.ports.end(), port) != stage.ports.end())
            most = std::max(most, place_of(*this, stage));
    return most;
}

uint64_t Plan::ring_bytes(uint32_t port) const {
    uint64_t most = 0;
    for (const Stage& stage : stages)
        if (stage.ports.front() == port) most = std::max(most, place_of(*this, stage));
    return ring * most;
}

uint64_t Plan::state_bytes(uint32_t port) const {
    return sum_on(*this, port, [](const SlotUse&, Kind kind) { return kind == Kind::state; });
}

std::vector<uint32_t> Plan::last_reads() const {
    std::vector<uint32_t> last(values.size(), 0);
    for (uint32_t s = 0; s < stages.size(); ++s)
        for (const SlotUse& use : stages[s].uses)
            if (!use.written) last[use.value] = s;
    return last;
}

Plan::Blocks Plan::blocks(uint32_t port) const {
    const std::vector<uint32_t> last = last_reads();
    Blocks made{std::vector<uint32_t>(values.size(), kNoBlock), {}};
    std::vector<bool> kept(values.size(), false);
    for (const Carried& one : carried) kept[one.value] = true;
    std::multimap<uint64_t, uint32_t> spare;                   // blocks by their bytes
    std::vector<std::vector<uint32_t>> let_go(stages.size());  // by the last stage that needs them: blocks
    for (uint32_t s = 0; s < stages.size(); ++s) {
        if (stages[s].ports.front() == port)
            for (const SlotUse& use : stages[s].uses) {
                const uint64_t wanted = values[use.value].bytes;
                if (values[use.value].kind != Kind::boundary || kept[use.value] || made.of[use.value] != kNoBlock) continue;
                // The smallest that is large enough, else the largest there is, which grows.
                auto found = spare.lower_bound(wanted);
                if (found == spare.end() && !spare.empty()) --found;
                uint32_t block = static_cast<uint32_t>(made.bytes.size());
                if (found != spare.end()) {
                    block = found->second;
                    spare.erase(found);
                } else {
                    made.bytes.push_back(0);
                }
                made.bytes[block] = std::max(made.bytes[block], wanted);
                made.of[use.value] = block;
                let_go[std::max(last[use.value], s)].push_back(block);
            }
        for (const uint32_t block : let_go[s]) spare.emplace(made.bytes[block], block);
    }
    return made;
}

uint64_t Plan::frame_bytes(uint32_t port) const {
    const Blocks shared = blocks(port);
    std::vector<bool> counted(values.size(), false);
    uint64_t sum = std::accumulate(shared.bytes.begin(), shared.bytes.end(), uint64_t{0});
    each_use(*this, port, [&](const Stage&, const SlotUse& use) {
        if (!in_frame(values[use.value].kind) || shared.of[use.value] != kNoBlock || counted[use.value]) return;
        counted[use.value] = true;
        sum += values[use.value].bytes;
    });
    return sum;
}

uint64_t Plan::workspace_bytes(uint32_t port) const {
    uint64_t most = 0;
    for (const Stage& stage : stages)
        if (!stage.ports.empty() && stage.ports.front() == port) most = std::max(most, stage.workspace);
    return most;
}

uint64_t Plan::bytes_on(uint32_t port) const {
    return weight_bytes(port) + ring_bytes(port) + state_bytes(port) + frames * frame_bytes(port) + workspace_bytes(port);
}

bool Plan::has_state() const {
    return !carried.empty() ||
           std::any_of(values.begin(), values.end(), [](const Value& value) { return value.kind == Kind::state; });
}

bool Plan::comes_from_peers(uint32_t value) const {
    constexpr uint64_t kLeast = uint64_t{1} << 20;
    return values[value].kind == Kind::input && values[value].bytes >= kLeast;
}

std::vector<uint32_t> Plan::groups() const {
    std::vector<uint32_t> all(stages.size());
    std::set<uint32_t> ports_of_group, written;
    for (uint32_t s = 0; s < stages.size(); ++s) {
        const std::vector<SlotUse>& uses = stages[s].uses;
        const bool beside = s > 0 && !has_state() && !ports_of_group.contains(stages[s].ports.front()) &&
                            std::ranges::none_of(uses, [&](const SlotUse& use) { return written.contains(use.value); });
        all[s] = beside ? all[s - 1] : s;
        if (!beside) ports_of_group.clear(), written.clear();
        ports_of_group.insert(stages[s].ports.front());
        for (const SlotUse& use : uses)
            if (use.written) written.insert(use.value);
    }
    return all;
}

Plan::Crossing Plan::crossing() const {
    std::vector<std::set<uint32_t>> there(values.size());  // ports that have the value
    std::vector<bool> on_host(values.size(), true);
    Crossing sum;
    const auto bring = [&](uint32_t value, uint32_t port) {
        if (!there[value].insert(port).second) return;
        const uint64_t bytes = values[value].bytes;
        const auto has = [&](uint32_t from) { return pulls(from, port); };
        if ((!on_host[value] || comes_from_peers(value)) && std::any_of(there[value].begin(), there[value].end(), has)) {
            sum.peer += bytes;
            return;
        }
        // By way of the host, which keeps it: another device that wants it costs one more copy.
        sum.host += on_host[value] ? bytes : 2 * bytes;
        on_host[value] = true;
    };
    for (const Stage& stage : stages) {
        const uint32_t port = stage.ports.front();
        for (const SlotUse& use : stage.uses) {
            const Value& value = values[use.value];
            if (use.streamed) sum.host += value.bytes;
            if (!in_frame(value.kind)) continue;
            if (!use.written) bring(use.value, port);
            if (use.written) there[use.value] = {port}, on_host[use.value] = false;
        }
    }
    for (const Value& value : values)
        if (value.kind == Kind::output) sum.host += value.bytes;
    return sum;
}

std::string Plan::describe() const {
    std::string text;
    for (size_t s = 0; s < stages.size(); ++s) {
        const Stage& stage = stages[s];
        text += "stage " + std::to_string(s + 1) + " on " + ports[stage.ports.front()] + ": " +
                (stage.ops.empty() ? stage.name : stage.ops);
        const WeightsOf weights = weights_of(*this, stage);
        if (weights.resident > 0) text += "; weights " + std::to_string(weights.resident) + " bytes, resident";
        if (weights.streamed > 0) text += "; weights " + std::to_string(weights.streamed) + " bytes, streamed";
        if (stage.workspace > 0) text += "; workspace " + std::to_string(stage.workspace) + " bytes";
        if (stage.sum) text += "; by all devices at a time";
        for (size_t i = 1; i < stage.ports.size(); ++i) text += (i == 1 ? "; else on " : ", ") + ports[stage.ports[i]];
        text += "\n";
    }
    for (uint32_t p = 0; p < ports.size(); ++p)
        if (const uint64_t bytes = bytes_on(p); bytes > 0)
            text += ports[p] + " holds " + std::to_string(bytes) + " bytes: weights " + std::to_string(weight_bytes(p)) +
                    ", ring " + std::to_string(ring_bytes(p)) + ", state " + std::to_string(state_bytes(p)) + ", " +
                    std::to_string(frames) + " x " + std::to_string(frame_bytes(p)) +
                    " of inputs, outputs and values between" + ", workspace " + std::to_string(workspace_bytes(p)) + "\n";
    const Crossing moved = crossing();
    text += "moved by one run, host to host: " + std::to_string(moved.host) + " bytes";
    if (moved.peer > 0) text += "; from device to device: " + std::to_string(moved.peer) + " bytes";
    return text + "\n";
}

std::string Plan::json() const {
    using base::Json;
    Json json{{"stages", Json::array()}, {"devices", Json::array()}};
    for (const Stage& stage : stages) {
        const WeightsOf weights = weights_of(*this, stage);
        Json one{{"device", ports[stage.ports.front()]},
                 {"else_on", Json::array()},
                 {"nodes", stage.nodes},
                 {"ops", stage.ops},
                 {"weights", stage.streams() ? "streamed" : "resident"},
                 {"weights_resident", weights.resident},
                 {"weights_streamed", weights.streamed},
                 {"workspace", stage.workspace},
                 {"values", Json::array()}};
        for (size_t i = 1; i < stage.ports.size(); ++i) one["else_on"].push_back(ports[stage.ports[i]]);
        for (const SlotUse& use : stage.uses) {
            const Value& value = values[use.value];
            if (value.kind == Kind::weight) continue;
            one["values"].push_back(
                {{"name", value.name}, {"kind", name_of(value.kind)}, {"bytes", value.bytes}, {"written", use.written}});
        }
        json["stages"].push_back(std::move(one));
    }
    for (uint32_t p = 0; p < ports.size(); ++p)
        json["devices"].push_back({{"id", ports[p]},
                                   {"bytes", bytes_on(p)},
                                   {"weights", weight_bytes(p)},
                                   {"ring", ring_bytes(p)},
                                   {"state", state_bytes(p)},
                                   {"frame", frame_bytes(p)},
                                   {"workspace", workspace_bytes(p)}});
    json["frames"] = frames;
    json["bytes_moved"] = crossing().host;
    json["bytes_peer"] = crossing().peer;
    base::carry_bytes(json);
    return json.dump(-1, base::BadText::replace);
}

}  // namespace backplane::plan
