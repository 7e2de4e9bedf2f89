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

PartGraph part_graph(const Graph& whole, const Part& part) {
    const std::set<size_t> inside(part.nodes.begin(), part.nodes.end());
    std::vector<bool> read_outside(whole.tensors().size(), false);
    for (size_t n = 0; n < whole.nodes().size(); ++n) {
        if (inside.contains(n)) continue;
        for (const TensorId t : whole.nodes()[n].inputs)
            if (t.valid()) read_outside[t.index] = true;
    }
    PartGraph made;
    std::map<uint32_t, TensorId> known;  // index in the whole graph -> in the part
    auto enter = [&](TensorId id) {
        if (const auto found = known.find(id.index); found != known.end()) return found->second;
        const Tensor& t = whole[id];
        TensorId here;
        if (t.role == Role::weight) {
            here = made.graph.weight(t.name, t.dtype, t.shape, t.content);
        } else if (t.role == Role::constant) {
            here = made.graph.constant(t.name, t.dtype, t.shape, t.data);
        } else {
            here = made.graph.input(part_name(id), t.dtype, t.shape);
            made.inputs.push_back(id);
        }
        known.emplace(id.index, here);
        return here;
    };
    for (const size_t n : part.nodes) {
        const Node& node = whole.nodes()[n];
        std::vector<TensorId> inputs;
        for (const TensorId t : node.inputs) inputs.push_back(t.valid() ? enter(t) : no_tensor);
        known[node.outputs.front().index] = made.graph.add(node.op, inputs, node.attributes, node.name);
    }
    for (const size_t n : part.nodes) {
        const TensorId t = whole.nodes()[n].outputs.front();
        if (!read_outside[t.index] && whole[t].role != Role::output && whole[t].state_in == 0) continue;
        made.graph.output(known.at(t.index), part_name(t));
        made.outputs.push_back(t);
    }
    return made;
}

}  // namespace backplane::runtime
