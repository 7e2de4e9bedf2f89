#include "runtime/spread/cut.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace backplane::runtime {

std::vector<size_t> makers(const Graph& graph) {
    std::vector<size_t> maker(graph.tensors().size(), SIZE_MAX);
    for (size_t n = 0; n < graph.nodes().size(); ++n)
        for (const TensorId t : graph.nodes()[n].outputs) maker[t.index] = n;
    return maker;
}

namespace {

class Scheduler {
public:
    Scheduler(const Graph& graph, const std::vector<size_t>& device_of)
        : device_of_(device_of), waits_for_(device_of.size()), readers_(device_of.size()) {
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

    const std::vector<size_t>& device_of_;
    std::vector<size_t> waits_for_;
    std::vector<std::vector<size_t>> readers_;
    std::map<size_t, std::set<size_t>> ready_;  // by device, in the graph's order; none empty
};

}  // namespace

std::vector<Part> cut(const Graph& graph, const std::vector<size_t>& device_of) { return Scheduler(graph, device_of).run(); }

std::string part_name(TensorId tensor) { return "t" + std::to_string(tensor.index); }

namespace {

constexpr uint32_t kNobody = UINT32_MAX, kSeveral = UINT32_MAX - 1;

// Of each tensor, which part makes it and which reads it.
struct Sides {
    std::vector<uint32_t> made_by, read_by;
    std::vector<TensorId> new_of;  // of states that one part alone reads and writes: the tensor that is their new content

    Sides(const Graph& whole, const std::vector<std::vector<size_t>>& parts)
        : made_by(whole.tensors().size(), kNobody),
          read_by(whole.tensors().size(), kNobody),
          new_of(whole.tensors().size()) {
        std::vector<uint32_t> part_of(whole.nodes().size(), kSeveral);  // a node of no part is a stranger to all
        for (uint32_t p = 0; p < parts.size(); ++p)
            for (const size_t n : parts[p]) part_of[n] = p;
        for (size_t n = 0; n < whole.nodes().size(); ++n) {
            for (const TensorId t : whole.nodes()[n].outputs) made_by[t.index] = part_of[n];
            for (const TensorId t : whole.nodes()[n].inputs)
                if (t.valid())
                    read_by[t.index] = read_by[t.index] == kNobody || read_by[t.index] == part_of[n] ? part_of[n] : kSeveral;
        }
        for (uint32_t t = 0; t < whole.tensors().size(); ++t) {
            const uint32_t of = whole.tensors()[t].state_in;
            if (of != 0 && made_by[t] < kSeveral && !read_beside(t, made_by[t]) && !read_beside(of - 1, made_by[t]))
                new_of[of - 1] = TensorId{t};
        }
    }
    [[nodiscard]] bool read_beside(uint32_t tensor, uint32_t part) const {
        return read_by[tensor] != kNobody && read_by[tensor] != part;
    }
    // The new content of a state that is this part's own.
    [[nodiscard]] TensorId new_in(uint32_t state, uint32_t part) const {
        return new_of[state].valid() && made_by[new_of[state].index] == part ? new_of[state] : no_tensor;
    }
};

// Builds the graph of one part.
class PartBuilder {
public:
    PartBuilder(const Graph& whole, const Sides& sides, uint32_t part, const std::vector<size_t>& nodes)
        : whole_(whole), sides_(sides), part_(part), nodes_(nodes) {}

    PartGraph build() {
        for (const size_t n : nodes_) {
            const Node& node = whole_.nodes()[n];
            std::vector<TensorId> inputs;
            for (const TensorId t : node.inputs) inputs.push_back(t.valid() ? enter(t) : no_tensor);
            const std::vector<TensorId> outputs = made_.graph.add_all(node.op, inputs, node.attributes, node.name);
            for (size_t k = 0; k < outputs.size(); ++k) know(node.outputs[k], outputs[k]);
        }
        for (const size_t n : nodes_)
            for (const TensorId t : whole_.nodes()[n].outputs) hand_on(t);
        return std::move(made_);
    }

private:
    // What others read of a part becomes an output of it.
    void hand_on(TensorId t) {
        const uint32_t of = whole_[t].state_in;
        if (of != 0 && sides_.new_in(of - 1, part_) == t) {
            made_.graph.update(enter(TensorId{of - 1}), known_.at(t.index));
        } else if (sides_.read_beside(t.index, part_) || whole_[t].role == Role::output || of != 0) {
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
        if (t.role == Role::state && sides_.new_in(id.index, part_).valid())
            return know(id, made_.graph.state(t.name, t.dtype, t.shape));
        return know(id, made_.graph.input(part_name(id), t.dtype, t.shape));
    }

    const Graph& whole_;
    const Sides& sides_;
    uint32_t part_;
    const std::vector<size_t>& nodes_;
    PartGraph made_;
    std::map<uint32_t, TensorId> known_;  // index in the whole graph -> in the part
};

}  // namespace

std::vector<PartGraph> part_graphs(const Graph& whole, const std::vector<std::vector<size_t>>& parts) {
    const Sides sides(whole, parts);
    std::vector<PartGraph> made;
    made.reserve(parts.size());
    for (uint32_t p = 0; p < parts.size(); ++p) made.push_back(PartBuilder(whole, sides, p, parts[p]).build());
    return made;
}

}  // namespace backplane::runtime
