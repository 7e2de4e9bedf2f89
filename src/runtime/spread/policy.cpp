#include "runtime/spread/policy.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "registry/device_state.hpp"

namespace backplane::runtime {

namespace {

std::string sentence_on(const Device& device, Op op, const OpFault& fault) {
    const std::string what = fault.kind == OpFault::wrong
                                 ? device.info().id + " computes " + name_of(op) + " wrongly (" + fault.text + ")"
                                 : device.info().id + " would not build or run " + name_of(op) + " (" + fault.text + ")";
    return what + ": it is left to the next device" + (fault.remembered.empty() ? "" : "; " + fault.remembered);
}

class Assignment {
public:
    Assignment(const std::vector<Device>& devices, const Graph& graph, Weights::State& weights, bool check_ops,
               std::vector<std::string>& notes)
        : devices_(devices),
          graph_(graph),
          weights_(weights),
          check_ops_(check_ops),
          notes_(notes),
          able_(graph.nodes().size()) {
        for (size_t n = 0; n < able_.size(); ++n) open_.push_back(n);
    }

    // Of each node, the devices that can run it, best first.
    const std::vector<std::vector<uint32_t>>& run() {
        for (uint32_t d = 0; d < devices_.size(); ++d) {
            if (!devices_[d]) throw Error(Code::invalid, "cannot spread a graph: one of the devices is none");
            if (DeviceAccess::state(devices_[d])->lost()) continue;
            try {
                offer(d);
            } catch (const Error& error) {
                if (error.code() != Code::device_lost) throw;
                note(error.what());
            }
        }
        if (open_.empty()) return able_;
        std::string where;
        for (const Device& device : devices_) where += (where.empty() ? "" : ", ") + device.info().id;
        // What a device says of itself is the reason, and the only place where somebody who gets this error reads it.
        throw Error(Code::unsupported, "cannot run the graph: no device of " + where + " runs " +
                                           counted_ops(graph_, open_) +
                                           (!notes_.empty()     ? "; " + notes_.back()
                                            : !nothing_.empty() ? "; " + nothing_
                                                                : ""));
    }

private:
    void note(const std::string& text) {
        if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
    }

    void offer(uint32_t d) {
        const Device& device = devices_[d];
        const std::vector<NodeSupport> support = query(device, graph_);
        std::set<Op> ops;
        for (const size_t n : open_)
            if (support[n].supported) ops.insert(graph_.nodes()[n].op);
        const std::map<Op, OpFault> faulty = check_ops_ ? weights_.faulty_ops(device, ops) : std::map<Op, OpFault>{};
        const std::set<size_t> open(open_.begin(), open_.end());
        std::vector<size_t> refused;
        open_.clear();
        for (size_t n = 0; n < able_.size(); ++n) {
            const auto bad = faulty.find(graph_.nodes()[n].op);
            if (support[n].supported && bad == faulty.end()) {
                able_[n].push_back(d);
                continue;
            }
            if (!open.contains(n)) continue;
            open_.push_back(n);
            if (!support[n].supported) refused.push_back(n);
            if (support[n].supported && bad != faulty.end()) note(sentence_on(device, bad->first, bad->second));
        }
        if (refused.empty()) return;
        const std::string& words = support[refused.front()].text;
        const std::string what = device.info().id + " does not support " + counted_ops(graph_, refused) +
                                 (words.empty() ? "" : " (" + words + ")");
        if (refused.size() < graph_.nodes().size()) return note(what + ": left to the next device");
        nothing_ = what;
    }

    const std::vector<Device>& devices_;
    const Graph& graph_;
    Weights::State& weights_;
    bool check_ops_;
    std::vector<std::string>& notes_;
    std::vector<std::vector<uint32_t>> able_;
    std::vector<size_t> open_;  // that no device runs yet
    std::string nothing_;       // of a device that runs none of it: why
};

}  // namespace

std::vector<PlannedPart> spread_parts(const std::vector<Device>& devices, const Graph& graph, Weights::State& weights,
                                      bool check_ops, std::vector<std::string>& notes) {
    Assignment assignment(devices, graph, weights, check_ops, notes);
    const std::vector<std::vector<uint32_t>>& able = assignment.run();
    // By all that can run a node, so that whoever stands in for the first can run the whole part.
    std::map<std::vector<uint32_t>, size_t> numbers;
    std::vector<const std::vector<uint32_t>*> lists;
    std::vector<size_t> list_of;
    for (const std::vector<uint32_t>& list : able) {
        const auto [found, fresh] = numbers.try_emplace(list, lists.size());
        if (fresh) lists.push_back(&found->first);
        list_of.push_back(found->second);
    }
    std::vector<PlannedPart> parts;
    for (Part& part : cut(graph, list_of)) parts.push_back({*lists[part.device], std::move(part.nodes)});
    if (parts.empty()) parts.push_back({{0}, {}});  // a graph without nodes
    if (parts.size() == 1) parts.front().nodes.clear();
    return parts;
}

}  // namespace backplane::runtime
