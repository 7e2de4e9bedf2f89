#include "runtime/rows.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "backplane/ops/table.hpp"
#include "graph/attributes.hpp"
#include "runtime/row_branches.hpp"

namespace backplane {

std::string row_input(std::string_view name, uint32_t part, uint32_t parts) {
    return std::string(name) + " (" + std::to_string(part + 1) + " of " + std::to_string(parts) + ")";
}

namespace runtime {

namespace {

using Segments = std::vector<int64_t>;

// How a tensor of the whole graph is on the devices.
struct Spread {
    enum Kind : uint8_t { whole, split, partial } kind = whole;
    uint32_t axis = 0;
    Segments segments;         // along the axis; each device has its part of each
    std::set<size_t> sources;  // products whose columns are split, of which this came
    [[nodiscard]] bool is_split() const { return kind == split; }
};

bool is_unary(Op op) { return ops::is_elementwise(static_cast<uint32_t>(op), 1) || op == Op::cast; }
bool is_binary(Op op) { return ops::is_elementwise(static_cast<uint32_t>(op), 2); }

int64_t product(const Shape& shape, size_t from, size_t to) {
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from),
                           shape.begin() + static_cast<std::ptrdiff_t>(to), int64_t{1}, std::multiplies<>());
}

// How each tensor of the graph is spread when as many products as can be are split.
class Analysis {
public:
    Analysis(const Graph& graph, uint32_t parts) : graph_(graph), parts_(parts), readers_(graph.tensors().size()) {
        for (size_t n = 0; n < graph.nodes().size(); ++n)
            for (const TensorId t : graph.nodes()[n].inputs)
                if (t.valid()) readers_[t.index].push_back(n);
        for (size_t n = 0; n < graph.nodes().size(); ++n)
            if (is_candidate(graph.nodes()[n])) columns_.insert(n);
        while (!all_go_on()) {
        }
    }
    [[nodiscard]] const Spread& operator[](TensorId t) const { return spread_[t.index]; }
    // Of a node that leaves a part of a sum one: what is added to it one device adds, what it is multiplied by each. The operand that is the part; nothing of
    // other nodes.
    [[nodiscard]] std::optional<size_t> part_of_sum(const Node& node) const {
        if (node.op != Op::add && node.op != Op::mul) return std::nullopt;
        for (size_t i = 0; i < 2; ++i) {
            const TensorId t = node.inputs[i];
            const bool alone = (*this)[t].kind == Spread::partial && readers_[t.index].size() == 1 &&
                               graph_[t].role == Role::temporary && shape(t) == shape(node.outputs[0]);
            const Spread::Kind other = (*this)[node.inputs[1 - i]].kind;
            if (alone && (other == Spread::whole || (other == Spread::partial && node.op == Op::add))) return i;
        }
        return std::nullopt;
    }
    // That are split.
    [[nodiscard]] size_t products() const {
        return static_cast<size_t>(std::count_if(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
            return (node.op == Op::matmul || is_plain_conv(node)) && (*this)[node.outputs[0]].kind != Spread::whole;
        }));
    }

private:
    [[nodiscard]] const Shape& shape(TensorId t) const { return graph_[t].shape; }
    [[nodiscard]] bool even(const Segments& segments) const {
        return std::all_of(segments.begin(), segments.end(), [&](int64_t s) { return s > 0 && s % parts_ == 0; });
    }
    [[nodiscard]] bool is_product_by_weight(const Node& node) const {
        return node.op == Op::matmul && graph_[node.inputs[1]].role == Role::weight && shape(node.inputs[1]).size() == 2 &&
               graph::AttributeView(node.attributes).integer(Attr::transpose_a) == 0;
    }
    // Of one group, by weights: a product of channels for each pixel.
    [[nodiscard]] bool is_plain_conv(const Node& node) const {
        return node.op == Op::conv && graph::AttributeView(node.attributes).integer(Attr::group) == 1 &&
               graph_[node.inputs[1]].role == Role::weight &&
               (node.inputs.size() < 3 || !node.inputs[2].valid() || graph_[node.inputs[2]].role == Role::weight);
    }
    [[nodiscard]] bool is_candidate(const Node& node) const {
        if (is_plain_conv(node)) return even({shape(node.outputs[0])[1]});
        if (!is_product_by_weight(node)) return false;
        const bool rows = graph::AttributeView(node.attributes).integer(Attr::transpose_b) != 0;
        return (rows || !is_block(graph_[node.inputs[1]].dtype)) && even(segments_behind(node.outputs[0]));
    }
    // Parts that a Split behind element-wise ops takes of the last axis; else all of it.
    [[nodiscard]] Segments segments_behind(TensorId t) const {
        const size_t last = shape(t).size() - 1;
        const int64_t extent = shape(t)[last];
        while (readers_[t.index].size() == 1) {
            const Node& reader = graph_.nodes()[readers_[t.index][0]];
            const graph::AttributeView attributes(reader.attributes);
            if (reader.op == Op::split && attributes.integer(Attr::axis) == static_cast<int64_t>(last))
                return attributes.integers(Attr::sizes);
            if ((!is_unary(reader.op) && !is_binary(reader.op)) || shape(reader.outputs[0]) != shape(t)) break;
            t = reader.outputs[0];
        }
        return {extent};
    }

    // False: some products were taken out, since what is behind them does not stay split.
    bool all_go_on() {
        spread_.assign(graph_.tensors().size(), {});
        std::set<size_t> out;
        for (size_t n = 0; n < graph_.nodes().size(); ++n) {
            const Node& node = graph_.nodes()[n];
            std::set<size_t> sources;
            for (const TensorId t : node.inputs)
                if (t.valid() && (*this)[t].is_split()) sources.insert((*this)[t].sources.begin(), (*this)[t].sources.end());
            if (sources.empty()) {
                if (columns_.contains(n)) spread_[node.outputs[0].index] = columns_of(node, n);
                if (part_of_sum(node)) spread_[node.outputs[0].index] = {Spread::partial, 0, {}, {}};
                continue;
            }
            std::optional<std::vector<Spread>> made = behind(node);
            for (size_t i = 0; made && i < made->size(); ++i)
                if ((*made)[i].is_split() && (graph_[node.outputs[i]].role == Role::output || !even((*made)[i].segments)))
                    made.reset();
            if (!made) {
                out.insert(sources.begin(), sources.end());
                continue;
            }
            for (size_t i = 0; i < made->size(); ++i) {
                (*made)[i].sources = sources;
                spread_[node.outputs[i].index] = std::move((*made)[i]);
            }
        }
        for (const TensorId t : graph_.with_role(Role::output))
            if ((*this)[t].is_split()) out.insert((*this)[t].sources.begin(), (*this)[t].sources.end());
        for (const size_t n : out) columns_.erase(n);
        return out.empty();
    }

    [[nodiscard]] Spread columns_of(const Node& node, size_t n) const {
        const Shape& made = shape(node.outputs[0]);
        if (node.op == Op::conv) return {Spread::split, 1, {made[1]}, {n}};
        return {Spread::split, static_cast<uint32_t>(made.size() - 1), segments_behind(node.outputs[0]), {n}};
    }

    // What a node makes of split inputs; nothing where it would need all of one.
    [[nodiscard]] std::optional<std::vector<Spread>> behind(const Node& node) const {
        const Spread& x = (*this)[node.inputs[0]];
        if (is_unary(node.op)) return std::vector{Spread{Spread::split, x.axis, x.segments, {}}};
        if (is_binary(node.op)) return behind_binary(node);
        if (!x.is_split()) return std::nullopt;
        switch (node.op) {
            case Op::matmul: return behind_product(node, x);
            case Op::split: return behind_split(node, x);
            case Op::reshape: return behind_reshape(node, x);
            case Op::transpose: {
                const auto& perm = graph::AttributeView(node.attributes).integers(Attr::perm);
                const auto at = std::find(perm.begin(), perm.end(), static_cast<int64_t>(x.axis)) - perm.begin();
                return std::vector{Spread{Spread::split, static_cast<uint32_t>(at), x.segments, {}}};
            }
            case Op::attention: return behind_attention(node);
            case Op::conv: return is_plain_conv(node) ? behind_pointwise(node, x) : behind_depthwise(node, x);
            default: return std::nullopt;
        }
    }
    [[nodiscard]] std::optional<std::vector<Spread>> behind_binary(const Node& node) const {
        const Shape& out = shape(node.outputs[0]);
        std::optional<Spread> made;
        for (const TensorId t : node.inputs) {
            const Spread& in = (*this)[t];
            if (!in.is_split()) continue;
            const auto axis = static_cast<uint32_t>(in.axis + out.size() - shape(t).size());
            if (out[axis] != shape(t)[in.axis]) return std::nullopt;
            if (made && (made->axis != axis || made->segments != in.segments)) return std::nullopt;
            made = Spread{Spread::split, axis, in.segments, {}};
        }
        return std::vector{*made};
    }
    [[nodiscard]] std::optional<std::vector<Spread>> behind_product(const Node& node, const Spread& x) const {
        if (!is_product_by_weight(node) || x.axis + 1 != shape(node.inputs[0]).size()) return std::nullopt;
        const DType dtype = graph_[node.inputs[1]].dtype;
        if (is_block(dtype))  // blocks are not cut
            for (const int64_t segment : x.segments)
                if (bytes(dtype, {segment / parts_}) * static_cast<uint64_t>(parts_) != bytes(dtype, {segment}) ||
                    (segment / parts_) % 256 != 0)
                    return std::nullopt;
        return std::vector{Spread{Spread::partial, 0, {}, {}}};
    }
    [[nodiscard]] std::optional<std::vector<Spread>> behind_split(const Node& node, const Spread& x) const {
        const graph::AttributeView attributes(node.attributes);
        const std::vector<int64_t>& sizes = attributes.integers(Attr::sizes);
        const bool along = attributes.integer(Attr::axis) == static_cast<int64_t>(x.axis);
        if (along && sizes != x.segments) return std::nullopt;
        std::vector<Spread> made;
        for (const int64_t size : sizes) made.push_back({Spread::split, x.axis, along ? Segments{size} : x.segments, {}});
        return made;
    }
    // The axis of the result with as many elements before it and whole parts in it.
    [[nodiscard]] std::optional<std::vector<Spread>> behind_reshape(const Node& node, const Spread& x) const {
        const Shape &in = shape(node.inputs[0]), &out = shape(node.outputs[0]);
        if (x.segments.size() != 1) return std::nullopt;
        const int64_t before = product(in, 0, x.axis), part = product(in, x.axis, in.size()) / parts_;
        for (uint32_t axis = 0; axis < out.size(); ++axis) {
            if (product(out, 0, axis) != before || out[axis] % parts_ != 0) continue;
            if (part % product(out, axis + 1, out.size()) != 0) continue;
            return std::vector{Spread{Spread::split, axis, {out[axis]}, {}}};
        }
        return std::nullopt;
    }
    [[nodiscard]] std::optional<std::vector<Spread>> behind_attention(const Node& node) const {
        for (size_t i = 0; i < 3; ++i) {
            const Spread& in = (*this)[node.inputs[i]];
            if (!in.is_split() || in.axis != 1 || in.segments.size() != 1) return std::nullopt;
        }
        if (node.inputs.size() > 3 && node.inputs[3].valid()) return std::nullopt;  // a mask
        for (size_t i = 4; i < node.inputs.size(); ++i)
            if (node.inputs[i].valid() && (*this)[node.inputs[i]].is_split()) return std::nullopt;
        return std::vector{Spread{Spread::split, 1, {shape(node.outputs[0])[1]}, {}}};
    }
    // One over pixels would sum over all channels, too, of maps that are as large.
    [[nodiscard]] std::optional<std::vector<Spread>> behind_pointwise(const Node& node, const Spread& x) const {
        const Shape& weights = shape(node.inputs[1]);
        if (x.axis != 1 || x.segments.size() != 1 || product(weights, 2, weights.size()) != 1) return std::nullopt;
        return std::vector{Spread{Spread::partial, 0, {}, {}}};
    }
    [[nodiscard]] std::optional<std::vector<Spread>> behind_depthwise(const Node& node, const Spread& x) const {
        const int64_t channels = shape(node.inputs[0])[1];
        if (x.axis != 1 || x.segments.size() != 1 || shape(node.outputs[0])[1] != channels ||
            graph::AttributeView(node.attributes).integer(Attr::group) != channels)
            return std::nullopt;
        for (size_t i = 1; i < node.inputs.size(); ++i)
            if (node.inputs[i].valid() && (*this)[node.inputs[i]].is_split()) return std::nullopt;
        return std::vector{Spread{Spread::split, 1, {channels}, {}}};
    }

    const Graph& graph_;
    const int64_t parts_;
    std::vector<std::vector<size_t>> readers_;  // by tensor
    std::vector<Spread> spread_;                // likewise
    std::set<size_t> columns_;                  // products whose columns are split
};

// How an operand of a node that is spread comes to a device.
struct Operand {
    bool sliced = false;
    uint32_t axis = 0;
    Segments segments;
};

Operand operand_of(const Graph& graph, const Analysis& analysis, const Node& node, size_t i) {
    const Shape& shape = graph[node.inputs[i]].shape;
    const Spread& out = analysis[node.outputs[0]];
    const auto along = [](uint32_t axis, Segments segments) { return Operand{true, axis, std::move(segments)}; };
    if (node.op == Op::matmul && i == 1) {
        const bool rows = graph::AttributeView(node.attributes).integer(Attr::transpose_b) != 0;
        if (out.is_split()) return along(rows ? 0 : 1, out.segments);
        return along(rows ? 1 : 0, analysis[node.inputs[0]].segments);
    }
    if (node.op == Op::attention && i >= 5) return along(0, {shape[0]});
    if (node.op == Op::conv && i == 1 && !out.is_split()) return along(1, analysis[node.inputs[0]].segments);
    if (node.op == Op::conv && i >= 1 && out.is_split()) return along(0, {shape[0]});
    if (!is_binary(node.op) || !out.is_split()) return {};
    const size_t rank = graph[node.outputs[0]].shape.size();
    if (shape.size() + out.axis < rank) return {};
    const auto axis = static_cast<uint32_t>(out.axis + shape.size() - rank);
    return shape[axis] == 1 ? Operand{} : along(axis, out.segments);
}

class RowBuilder {
public:
    RowBuilder(const Graph& whole, uint32_t parts)
        : whole_(whole),
          parts_(parts),
          analysis_(whole, parts),
          here_(whole.tensors().size(), std::vector<TensorId>(parts)) {}

    RowGraph build() {
        made_.products = analysis_.products();
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
    [[nodiscard]] bool is_spread(const Node& node) const { return analysis_[node.outputs[0]].kind != Spread::whole; }

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
                const Operand how = is_spread(node) ? operand_of(whole_, analysis_, node, i) : Operand{};
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
        if (analysis_[t].kind != Spread::partial) {
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
    TensorId slice_on(TensorId t, const Operand& how, uint32_t k) {
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
    TensorId weight_slice(const TensorInfo& info, const Operand& how, uint32_t k) {
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
        const std::optional<size_t> part = analysis_.part_of_sum(node);
        if (part && node.op == Op::add && k > 0) {
            here_[node.outputs[0].index][k] = here_[node.inputs[*part].index][k];
            return;
        }
        std::vector<TensorId> inputs;
        const bool one_adds = node.op == Op::conv && analysis_[node.outputs[0]].kind == Spread::partial;  // the bias
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const TensorId t = node.inputs[i];
            if (!t.valid() || (one_adds && i == 2 && k > 0)) {
                inputs.push_back(no_tensor);
            } else if (analysis_[t].is_split() || part == i) {
                inputs.push_back(here_[t.index][k]);
            } else {
                const Operand how = spread ? operand_of(whole_, analysis_, node, i) : Operand{};
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
        const Spread& out = analysis_[node.outputs[0]];
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
    const Analysis analysis_;
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

std::span<const std::byte> bytes_of(const RowSlice& slice, std::span<const std::byte> whole, std::vector<std::byte>& room) {
    const auto axis = static_cast<std::ptrdiff_t>(slice.axis);
    const auto until = [&](int64_t i) {  // bytes of the first i along the axis
        Shape shape(slice.shape.begin() + axis, slice.shape.end());
        shape[0] = i;
        return static_cast<size_t>(bytes(slice.dtype, shape));
    };
    const auto outer = static_cast<size_t>(product(slice.shape, 0, slice.axis));
    const size_t step = until(slice.shape[slice.axis]);
    if (whole.size() != outer * step)
        throw Error(Code::invalid, "weight '" + slice.of + "': the source gives " + std::to_string(whole.size()) +
                                       " bytes, " + name_of(slice.dtype) + " " + to_string(slice.shape) + " has " +
                                       std::to_string(outer * step));
    for (size_t o = 0; o < outer; ++o) {
        int64_t at = 0;
        for (const int64_t segment : slice.segments) {
            const int64_t part = segment / slice.parts;
            const size_t from = until(at + slice.part * part), to = until(at + (slice.part + 1) * part);
            const auto piece = whole.subspan(o * step + from, to - from);
            if (outer == 1 && slice.segments.size() == 1) return piece;
            room.insert(room.end(), piece.begin(), piece.end());
            at += segment;
        }
    }
    return room;
}

RowWeights::RowWeights(std::shared_ptr<const WeightSource> source, const std::string& name)
    : held_(std::make_shared<Held>()),
      weights_(
          [held = held_, source = std::move(source)](std::string_view wanted) -> std::span<const std::byte> {
              const std::lock_guard lock(held->mutex);
              const auto found = held->slices.find(wanted);
              if (found == held->slices.end()) return (*source)(wanted);
              if (const auto made = held->made.find(wanted); made != held->made.end()) return made->second;
              std::vector<std::byte> room;
              const std::span<const std::byte> bytes = bytes_of(found->second, (*source)(found->second.of), room);
              if (room.empty()) return bytes;
              return held->made.emplace(wanted, std::move(room)).first->second;
          },
          name) {}

const Weights& RowWeights::with(const std::map<std::string, RowSlice>& slices) {
    const std::lock_guard lock(held_->mutex);
    held_->slices.insert(slices.begin(), slices.end());
    return weights_;
}

}  // namespace runtime

}  // namespace backplane
