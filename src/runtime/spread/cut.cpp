#include "runtime/spread/cut.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace backplane::runtime {

namespace {

// Is the tensor made by a node? Everything else is there before the run.
std::vector<size_t> makers(const Graph& graph) {
    std::vector<size_t> maker(graph.tensors().size(), SIZE_MAX);
    for (size_t n = 0; n < graph.nodes().size(); ++n)
        for (const TensorId t : graph.nodes()[n].outputs) maker[t.index] = n;
    return maker;
}

class Scheduler {
public:
    Scheduler(const Graph& graph, const std::vector<size_t>& device_of)
        : graph_(graph), device_of_(device_of), waits_for_(device_of.size()), readers_(device_of.size()) {
        const std::vector<size_t> maker = makers(graph);
        for (size_t n = 0; n < device_of.size(); ++n) {
            if (device_of[n] == kNoDevice) continue;
            std::set<size_t> before;
            for (const TensorId t : graph.nodes()[n].inputs)
                if (t.valid() && maker[t.index] != SIZE_MAX && device_of[maker[t.index]] != kNoDevice)
                    before.insert(maker[t.index]);
            waits_for_[n] = before.size();
            for (const size_t b : before) readers_[b].push_back(n);
            if (before.empty()) ready_[device_of[n]].insert(n);
        }
    }

    std::vector<Part> run() {
        std::vector<Part> parts;
        while (!ready_.empty()) {
            // The device whose node comes first in the graph's own order.
            const auto next = std::min_element(ready_.begin(), ready_.end(), [](const auto& a, const auto& b) {
                return *a.second.begin() < *b.second.begin();
            });
            Part part{next->first, {}};
            while (ready_.contains(part.device)) part.nodes.push_back(take(part.device));
            parts.push_back(std::move(part));
        }
        return parts;
    }

private:
    size_t take(size_t device) {
        std::set<size_t>& ready = ready_[device];
        const size_t node = *ready.begin();
        ready.erase(ready.begin());
        if (ready.empty()) ready_.erase(device);
        for (const size_t reader : readers_[node])
            if (--waits_for_[reader] == 0) ready_[device_of_[reader]].insert(reader);
        return node;
    }

    const Graph& graph_;
    const std::vector<size_t>& device_of_;
    std::vector<size_t> waits_for_;
    std::vector<std::vector<size_t>> readers_;
    std::map<size_t, std::set<size_t>> ready_;  // by device, in the graph's order; none empty
};

}  // namespace

std::vector<Part> cut(const Graph& graph, const std::vector<size_t>& device_of) { return Scheduler(graph, device_of).run(); }

std::string part_name(TensorId tensor) { return "t" + std::to_string(tensor.index); }

namespace {

// Builds the graph of one part.
class PartBuilder {
public:
    PartBuilder(const Graph& whole, const Part& part)
        : whole_(whole), part_(part), read_outside_(whole.tensors().size(), false), new_of_(whole.tensors().size()) {
        const std::set<size_t> inside(part.nodes.begin(), part.nodes.end());
        std::vector<bool> made_inside(whole.tensors().size(), false);
        for (size_t n = 0; n < whole.nodes().size(); ++n) {
            for (const TensorId t : whole.nodes()[n].outputs) made_inside[t.index] = inside.contains(n);
            if (inside.contains(n)) continue;
            for (const TensorId t : whole.nodes()[n].inputs)
                if (t.valid()) read_outside_[t.index] = true;
        }
        for (uint32_t t = 0; t < whole.tensors().size(); ++t) {
            const uint32_t of = whole.tensors()[t].state_in;
            if (of != 0 && made_inside[t] && !read_outside_[t] && !read_outside_[of - 1]) new_of_[of - 1] = TensorId{t};
        }
    }

    PartGraph build() {
        for (const size_t n : part_.nodes) {
            const Node& node = whole_.nodes()[n];
            std::vector<TensorId> inputs;
            for (const TensorId t : node.inputs) inputs.push_back(t.valid() ? enter(t) : no_tensor);
            const std::vector<TensorId> outputs = made_.graph.add_all(node.op, inputs, node.attributes, node.name);
            for (size_t k = 0; k < outputs.size(); ++k) know(node.outputs[k], outputs[k]);
        }
        for (const size_t n : part_.nodes)
            for (const TensorId t : whole_.nodes()[n].outputs) hand_on(t);
        return std::move(made_);
    }

private:
    // What others read of a part becomes an output of it.
    void hand_on(TensorId t) {
        const uint32_t of = whole_[t].state_in;
        if (of != 0 && new_of_[of - 1] == t) {
            made_.graph.update(enter(TensorId{of - 1}), known_.at(t.index));
        } else if (read_outside_[t.index] || whole_[t].role == Role::output || of != 0) {
            made_.graph.output(known_.at(t.index), part_name(t));
        }
    }

    TensorId know(TensorId in_whole, TensorId here) {
        known_[in_whole.index] = here;
        if (made_.whole.size() <= here.index) made_.whole.resize(here.index + 1);
        made_.whole[here.index] = in_whole;
        return here;
    }

    TensorId enter(TensorId id) {
        if (const auto found = known_.find(id.index); found != known_.end()) return found->second;
        const TensorInfo& t = whole_[id];
        if (t.role == Role::weight) return know(id, made_.graph.weight(t.name, t.dtype, t.shape, t.content));
        if (t.role == Role::constant) return know(id, made_.graph.constant(t.name, t.dtype, t.shape, t.data));
        if (t.role == Role::state && new_of_[id.index].valid()) return know(id, made_.graph.state(t.name, t.dtype, t.shape));
        return know(id, made_.graph.input(part_name(id), t.dtype, t.shape));
    }

    const Graph& whole_;
    const Part& part_;
    std::vector<bool> read_outside_;
    std::vector<TensorId> new_of_;  // of states of this part alone: the tensor that is their new content
    PartGraph made_;
    std::map<uint32_t, TensorId> known_;  // index in the whole graph -> in the part
};

}  // namespace

PartGraph part_graph(const Graph& whole, const Part& part) { return PartBuilder(whole, part).build(); }

}  // namespace backplane::runtime
