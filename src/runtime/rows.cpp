#include "runtime/rows.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/attributes.hpp"
#include "runtime/row_branches.hpp"
#include "runtime/row_spread.hpp"

namespace backplane {

std::string row_input(std::string_view name, uint32_t part, uint32_t parts) {
    return std::string(name) + " (" + std::to_string(part + 1) + " of " + std::to_string(parts) + ")";
}

namespace runtime {

namespace {

class RowBuilder {
public:
    RowBuilder(const Graph& whole, uint32_t parts)
        : whole_(whole),
          parts_(parts),
          spreads_(whole, parts),
          here_(whole.tensors().size(), std::vector<TensorId>(parts)) {}

    RowGraph build() {
        made_.products = spreads_.products();
        if (made_.products == 0)
            throw Error(Code::unsupported,
                        "cannot put rows of the graph's products on " + std::to_string(parts_) +
                            " devices: it has no two products behind each other with a weight each whose sizes are their "
                            "multiple; place its layers");
        branch_of_ = branches_of(whole_, parts_, [this](const Node& node) { return is_spread(node); });
        find_wanted();
        add_inputs();
        for (size_t n = 0; n < whole_.nodes().size(); ++n) {
            const Node& node = whole_.nodes()[n];
            for (uint32_t k = 0; k < parts_; ++k)
                if (wanted_[n] >> k & 1U) add(node, k);
        }
        for (const TensorId t : whole_.with_role(Role::output)) made_.graph.output(whole_on(t, 0), whole_[t].name);
        grow(0);
        return std::move(made_);
    }

private:
    [[nodiscard]] bool is_spread(const Node& node) const { return spreads_[node.outputs[0]].kind != RowSpread::whole; }

    // Of each node the devices that do it: all of a node that is spread, of a branch one, else those that read what it makes.
    void find_wanted() {
        const uint32_t all = (1U << parts_) - 1;
        std::vector<uint32_t> read(whole_.tensors().size(), 0);  // by whom
        wanted_.assign(whole_.nodes().size(), 0);
        for (const TensorId t : whole_.with_role(Role::output)) read[t.index] = 1;
        for (size_t n = whole_.nodes().size(); n-- > 0;) {
            const Node& node = whole_.nodes()[n];
            for (const TensorId t : node.outputs) wanted_[n] |= read[t.index];
            if (wanted_[n] != 0 && is_spread(node)) wanted_[n] = all;
            if (wanted_[n] != 0 && branch_of_[n] != kNoBranch) wanted_[n] = 1U << branch_of_[n];
            for (const TensorId t : node.inputs)
                if (t.valid()) read[t.index] |= wanted_[n];
        }
    }

    void add_inputs() {
        std::vector<bool> in_parts(whole_.tensors().size(), true), read(whole_.tensors().size(), false);
        for (const Node& node : whole_.nodes())
            for (size_t i = 0; i < node.inputs.size(); ++i) {
                const TensorId t = node.inputs[i];
                if (!t.valid()) continue;
                const RowOperand how = is_spread(node) ? row_operand(whole_, spreads_, node, i) : RowOperand{};
                read[t.index] = true;
                if (!how.sliced || how.axis != 0 || how.segments.size() != 1) in_parts[t.index] = false;
            }
        for (const TensorId t : whole_.with_role(Role::input)) {
            const TensorInfo& info = whole_[t];
            if (!read[t.index] || !in_parts[t.index]) {
                inputs_[t.index] = {made_.graph.input(info.name, info.dtype, info.shape)};
                continue;
            }
            Shape part = info.shape;
            part[0] /= parts_;
            for (uint32_t k = 0; k < parts_; ++k)
                inputs_[t.index].push_back(made_.graph.input(row_input(info.name, k, parts_), info.dtype, part));
        }
    }

    // All of the tensor on a device: sums what is partial.
    TensorId whole_on(TensorId t, uint32_t k) {
        const TensorInfo& info = whole_[t];
        if (info.role == Role::input) return inputs_.at(t.index).front();
        if (info.role == Role::weight || info.role == Role::constant) {
            TensorId& known = given_[t.index];
            if (!known.valid())
                known = info.role == Role::weight ? made_.graph.weight(info.name, info.dtype, info.shape, info.content)
                                                  : made_.graph.constant(info.name, info.dtype, info.shape, info.data);
            return known;
        }
        if (spreads_[t].kind != RowSpread::partial) {
            const std::vector<TensorId>& here = here_[t.index];
            return here[k].valid() ? here[k] : *std::ranges::find_if(here, [](TensorId made) { return made.valid(); });
        }
        TensorId& sum = sums_[{t.index, k}];
        if (!sum.valid()) {
            sum = here_[t.index][0];
            for (uint32_t j = 1; j < parts_; ++j) {
                made_.sums[made_.graph.nodes().size()] = t.index;
                sum = made_.graph.add(Op::add, {sum, here_[t.index][j]});
            }
            grow(k);
        }
        return sum;
    }
    TensorId slice_on(TensorId t, const RowOperand& how, uint32_t k) {
        const TensorInfo& info = whole_[t];
        if (info.role == Role::input && inputs_.at(t.index).size() > 1) return inputs_.at(t.index)[k];
        if (info.role == Role::weight) return weight_slice(info, how, k);
        const TensorId all = whole_on(t, k);
        std::vector<TensorId> pieces;
        int64_t at = 0;
        for (const int64_t segment : how.segments) {
            const int64_t part = segment / parts_;
            std::vector<int64_t> starts(info.shape.size(), 0), ends(info.shape), steps(info.shape.size(), 1);
            starts[how.axis] = at + k * part;
            ends[how.axis] = starts[how.axis] + part;
            pieces.push_back(
                made_.graph.add(Op::slice, {all}, {{Attr::starts, starts}, {Attr::ends, ends}, {Attr::steps, steps}}));
            at += segment;
        }
        const TensorId made =
            pieces.size() == 1 ? pieces[0] : made_.graph.add(Op::concat, pieces, {{Attr::axis, int64_t{how.axis}}});
        grow(k);
        return made;
    }
    TensorId weight_slice(const TensorInfo& info, const RowOperand& how, uint32_t k) {
        Shape part = info.shape;
        part[how.axis] /= parts_;
        std::string name = row_input(info.name, k, parts_) + " of axis " + std::to_string(how.axis);
        for (size_t i = 0; i < how.segments.size() && how.segments.size() > 1; ++i)
            name += (i == 0 ? " of " : "+") + std::to_string(how.segments[i]);
        made_.slices[name] = {info.name, info.dtype, info.shape, how.axis, how.segments, k, parts_};
        return made_.graph.weight(name, info.dtype, part);
    }

    void add(const Node& node, uint32_t k) {
        const bool spread = is_spread(node);
        const std::optional<size_t> part = spreads_.part_of_sum(node);
        if (part && node.op == Op::add && k > 0) {
            here_[node.outputs[0].index][k] = here_[node.inputs[*part].index][k];
            return;
        }
        std::vector<TensorId> inputs;
        const bool one_adds = node.op == Op::conv && spreads_[node.outputs[0]].kind == RowSpread::partial;  // the bias
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const TensorId t = node.inputs[i];
            if (!t.valid() || (one_adds && i == 2 && k > 0)) {
                inputs.push_back(no_tensor);
            } else if (spreads_[t].is_split() || part == i) {
                inputs.push_back(here_[t.index][k]);
            } else {
                const RowOperand how = spread ? row_operand(whole_, spreads_, node, i) : RowOperand{};
                inputs.push_back(how.sliced ? slice_on(t, how, k) : whole_on(t, k));
            }
        }
        const std::vector<TensorId> outputs =
            made_.graph.add_all(node.op, inputs, spread ? attributes_of(node) : node.attributes, node.name);
        for (size_t i = 0; i < outputs.size(); ++i) here_[node.outputs[i].index][k] = outputs[i];
        grow(k);
    }
    // Of a node that has a part of its axis.
    [[nodiscard]] std::vector<Attribute> attributes_of(const Node& node) const {
        std::vector<Attribute> attributes = node.attributes;
        const graph::AttributeView view(node.attributes);
        const RowSpread& out = spreads_[node.outputs[0]];
        if (node.op == Op::reshape) {
            std::vector<int64_t> shape = view.integers(Attr::shape);
            shape[out.axis] /= parts_;
            graph::set(attributes, {Attr::shape, shape});
        } else if (node.op == Op::split && view.integer(Attr::axis) == static_cast<int64_t>(out.axis)) {
            std::vector<int64_t> sizes = view.integers(Attr::sizes);
            for (int64_t& size : sizes) size /= parts_;
            graph::set(attributes, {Attr::sizes, sizes});
        } else if (node.op == Op::conv && view.integer(Attr::group) > 1) {
            graph::set(attributes, {Attr::group, view.integer(Attr::group) / parts_});
        }
        return attributes;
    }
    void grow(uint32_t k) { made_.device_of.resize(made_.graph.nodes().size(), k); }

    const Graph& whole_;
    const uint32_t parts_;
    const RowSpreads spreads_;
    RowGraph made_;
    std::vector<uint32_t> branch_of_;          // by node: the device that does it; kNoBranch: it is of no branch
    std::vector<uint32_t> wanted_;             // by node: devices that do it, a bit each
    std::vector<std::vector<TensorId>> here_;  // by tensor and device
    std::map<uint32_t, TensorId> given_;       // weights and constants
    std::map<uint32_t, std::vector<TensorId>> inputs_;
    std::map<std::pair<uint32_t, uint32_t>, TensorId> sums_;
};

}  // namespace

RowGraph row_graph(const Graph& whole, uint32_t parts) {
    constexpr uint32_t kMostParts = 16;
    if (parts < 2 || parts > kMostParts)
        throw Error(Code::invalid, "rows of products go on 2 to " + std::to_string(kMostParts) + " devices, not on " +
                                       std::to_string(parts));
    if (!whole.with_role(Role::state).empty())
        throw Error(Code::unsupported,
                    "cannot put rows of the products of a graph with state on several devices: leave it "
                    "to one");
    return RowBuilder(whole, parts).build();
}

std::vector<PlannedPart> RowGraph::stages(uint32_t devices, std::optional<uint64_t> apart_from) const {
    constexpr uint32_t kNoSum = UINT32_MAX;
    const auto sum_of = [&](size_t n) {
        const auto found = sums.find(n);
        if (found == sums.end() || !apart_from) return kNoSum;
        const TensorInfo& made = graph[graph.nodes()[n].outputs[0]];
        const bool does = made.dtype == DType::f32 || made.dtype == DType::f16;
        return does && bytes(made.dtype, made.shape) >= *apart_from ? found->second : kNoSum;
    };
    std::vector<size_t> maker(graph.tensors().size(), SIZE_MAX);
    std::vector<uint32_t> crossings(graph.nodes().size(), 0);  // before a node
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<size_t>> nodes;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
        const Node& node = graph.nodes()[n];
        for (const TensorId t : node.inputs) {
            if (!t.valid() || maker[t.index] == SIZE_MAX) continue;
            const size_t from = maker[t.index];
            const bool crosses = device_of[from] != device_of[n] || sum_of(from) != sum_of(n);
            crossings[n] = std::max(crossings[n], crossings[from] + (crosses ? 1U : 0U));
        }
        for (const TensorId t : node.outputs) maker[t.index] = n;
        nodes[{crossings[n], sum_of(n), device_of[n]}].push_back(n);
    }
    std::vector<PlannedPart> all;
    for (auto& [where, of] : nodes) {
        const auto [before, sum, device] = where;
        PlannedPart part{{device}, std::move(of)};
        if (sum != kNoSum) part.sum = graph[graph.nodes()[part.nodes.front()].outputs[0]].dtype;
        for (uint32_t d = 0; d < devices; ++d)
            if (d != device) part.devices.push_back(d);
        all.push_back(std::move(part));
    }
    return all;
}

}  // namespace runtime

}  // namespace backplane
