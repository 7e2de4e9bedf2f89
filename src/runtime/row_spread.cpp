#include "runtime/row_spread.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backplane/ops/table.hpp"
#include "graph/attributes.hpp"
#include "runtime/costs/work.hpp"

namespace backplane::runtime {

namespace {

bool is_unary(Op op) { return ops::is_elementwise(static_cast<uint32_t>(op), 1) || op == Op::cast; }
bool is_binary(Op op) { return ops::is_elementwise(static_cast<uint32_t>(op), 2); }

int64_t product(const Shape& shape, size_t from, size_t to) {
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from),
                           shape.begin() + static_cast<std::ptrdiff_t>(to), int64_t{1}, std::multiplies<>());
}

}  // namespace

RowSpreads::RowSpreads(const Graph& graph, uint32_t parts) : graph_(graph), parts_(parts), readers_(graph.tensors().size()) {
    for (size_t n = 0; n < graph.nodes().size(); ++n)
        for (const TensorId t : graph.nodes()[n].inputs)
            if (t.valid()) readers_[t.index].push_back(n);
    for (size_t n = 0; n < graph.nodes().size(); ++n)
        if (is_candidate(graph.nodes()[n])) columns_.insert(n);
    while (!all_go_on()) {
    }
}

std::optional<size_t> RowSpreads::part_of_sum(const Node& node) const {
    if (node.op != Op::add && node.op != Op::mul) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
        const TensorId t = node.inputs[i];
        const bool alone = (*this)[t].kind == RowSpread::partial && readers_[t.index].size() == 1 &&
                           graph_[t].role == Role::temporary && shape(t) == shape(node.outputs[0]);
        const RowSpread::Kind other = (*this)[node.inputs[1 - i]].kind;
        if (alone && (other == RowSpread::whole || (other == RowSpread::partial && node.op == Op::add))) return i;
    }
    return std::nullopt;
}

size_t RowSpreads::products() const {
    return static_cast<size_t>(std::count_if(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
        return (node.op == Op::matmul || is_plain_conv(node)) && (*this)[node.outputs[0]].kind != RowSpread::whole;
    }));
}

bool RowSpreads::even(const Segments& segments) const {
    return std::all_of(segments.begin(), segments.end(), [&](int64_t s) { return s > 0 && s % parts_ == 0; });
}

bool RowSpreads::is_product_by_weight(const Node& node) const {
    return node.op == Op::matmul && graph_[node.inputs[1]].role == Role::weight && shape(node.inputs[1]).size() == 2 &&
           graph::AttributeView(node.attributes).integer(Attr::transpose_a) == 0;
}

// Of one group, by weights: a product of channels for each pixel.
bool RowSpreads::is_plain_conv(const Node& node) const {
    return node.op == Op::conv && graph::AttributeView(node.attributes).integer(Attr::group) == 1 &&
           graph_[node.inputs[1]].role == Role::weight &&
           (node.inputs.size() < 3 || !node.inputs[2].valid() || graph_[node.inputs[2]].role == Role::weight);
}

bool RowSpreads::is_candidate(const Node& node) const {
    if (is_plain_conv(node)) return even({shape(node.outputs[0])[1]});
    if (!is_product_by_weight(node)) return false;
    const bool rows = graph::AttributeView(node.attributes).integer(Attr::transpose_b) != 0;
    return (rows || !is_block(graph_[node.inputs[1]].dtype)) && even(segments_behind(node.outputs[0]));
}

// Parts that a Split behind element-wise ops takes of the last axis; else all of it.
Segments RowSpreads::segments_behind(TensorId t) const {
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
bool RowSpreads::all_go_on() {
    spread_.assign(graph_.tensors().size(), {});
    std::set<size_t> out;
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
        const Node& node = graph_.nodes()[n];
        std::set<size_t> sources;
        for (const TensorId t : node.inputs)
            if (t.valid() && (*this)[t].is_split()) sources.insert((*this)[t].sources.begin(), (*this)[t].sources.end());
        if (sources.empty()) {
            if (columns_.contains(n)) spread_[node.outputs[0].index] = columns_of(node, n);
            if (part_of_sum(node)) spread_[node.outputs[0].index] = {RowSpread::partial, 0, {}, {}};
            continue;
        }
        std::optional<std::vector<RowSpread>> made = behind(node);
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

RowSpread RowSpreads::columns_of(const Node& node, size_t n) const {
    const Shape& made = shape(node.outputs[0]);
    if (node.op == Op::conv) return {RowSpread::split, 1, {made[1]}, {n}};
    return {RowSpread::split, static_cast<uint32_t>(made.size() - 1), segments_behind(node.outputs[0]), {n}};
}

// What a node makes of split inputs; nothing where it would need all of one.
std::optional<std::vector<RowSpread>> RowSpreads::behind(const Node& node) const {
    const RowSpread& x = (*this)[node.inputs[0]];
    if (is_unary(node.op)) return std::vector{RowSpread{RowSpread::split, x.axis, x.segments, {}}};
    if (is_binary(node.op)) return behind_binary(node);
    if (!x.is_split()) return std::nullopt;
    switch (node.op) {
        case Op::matmul: return behind_product(node, x);
        case Op::split: return behind_split(node, x);
        case Op::reshape: return behind_reshape(node, x);
        case Op::transpose: {
            const auto& perm = graph::AttributeView(node.attributes).integers(Attr::perm);
            const auto at = std::find(perm.begin(), perm.end(), static_cast<int64_t>(x.axis)) - perm.begin();
            return std::vector{RowSpread{RowSpread::split, static_cast<uint32_t>(at), x.segments, {}}};
        }
        case Op::attention: return behind_attention(node);
        case Op::conv: return is_plain_conv(node) ? behind_pointwise(node, x) : behind_depthwise(node, x);
        default: return std::nullopt;
    }
}

std::optional<std::vector<RowSpread>> RowSpreads::behind_binary(const Node& node) const {
    const Shape& out = shape(node.outputs[0]);
    std::optional<RowSpread> made;
    for (const TensorId t : node.inputs) {
        const RowSpread& in = (*this)[t];
        if (!in.is_split()) continue;
        const auto axis = static_cast<uint32_t>(in.axis + out.size() - shape(t).size());
        if (out[axis] != shape(t)[in.axis]) return std::nullopt;
        if (made && (made->axis != axis || made->segments != in.segments)) return std::nullopt;
        made = RowSpread{RowSpread::split, axis, in.segments, {}};
    }
    return std::vector{*made};
}

std::optional<std::vector<RowSpread>> RowSpreads::behind_product(const Node& node, const RowSpread& x) const {
    if (!is_product_by_weight(node) || x.axis + 1 != shape(node.inputs[0]).size()) return std::nullopt;
    const DType dtype = graph_[node.inputs[1]].dtype;
    if (is_block(dtype))  // blocks are not cut
        for (const int64_t segment : x.segments)
            if (bytes(dtype, {segment / parts_}) * static_cast<uint64_t>(parts_) != bytes(dtype, {segment}) ||
                (segment / parts_) % 256 != 0)
                return std::nullopt;
    return std::vector{RowSpread{RowSpread::partial, 0, {}, {}}};
}

std::optional<std::vector<RowSpread>> RowSpreads::behind_split(const Node& node, const RowSpread& x) const {
    const graph::AttributeView attributes(node.attributes);
    const std::vector<int64_t>& sizes = attributes.integers(Attr::sizes);
    const bool along = attributes.integer(Attr::axis) == static_cast<int64_t>(x.axis);
    if (along && sizes != x.segments) return std::nullopt;
    std::vector<RowSpread> made;
    for (const int64_t size : sizes) made.push_back({RowSpread::split, x.axis, along ? Segments{size} : x.segments, {}});
    return made;
}

// The axis of the result with as many elements before it and whole parts in it.
std::optional<std::vector<RowSpread>> RowSpreads::behind_reshape(const Node& node, const RowSpread& x) const {
    const Shape &in = shape(node.inputs[0]), &out = shape(node.outputs[0]);
    if (x.segments.size() != 1) return std::nullopt;
    const int64_t before = product(in, 0, x.axis), part = product(in, x.axis, in.size()) / parts_;
    for (uint32_t axis = 0; axis < out.size(); ++axis) {
        if (product(out, 0, axis) != before || out[axis] % parts_ != 0) continue;
        if (part % product(out, axis + 1, out.size()) != 0) continue;
        return std::vector{RowSpread{RowSpread::split, axis, {out[axis]}, {}}};
    }
    return std::nullopt;
}

std::optional<std::vector<RowSpread>> RowSpreads::behind_attention(const Node& node) const {
    for (size_t i = 0; i < 3; ++i) {
        const RowSpread& in = (*this)[node.inputs[i]];
        if (!in.is_split() || in.axis != 1 || in.segments.size() != 1) return std::nullopt;
    }
    if (node.inputs.size() > 3 && node.inputs[3].valid()) return std::nullopt;  // a mask
    for (size_t i = 4; i < node.inputs.size(); ++i)
        if (node.inputs[i].valid() && (*this)[node.inputs[i]].is_split()) return std::nullopt;
    return std::vector{RowSpread{RowSpread::split, 1, {shape(node.outputs[0])[1]}, {}}};
}

// A large sum takes a link, and each device to add it, longer than the operations take that are saved where there are few to a byte of it: 300 of
// convolutions of 256 channels, 3000 and up of a speech network's products.
bool RowSpreads::is_worth_a_sum(const Node& node, const RowSpread& x) const {
    constexpr uint64_t kLargeBytes = uint64_t{16} << 20;
    constexpr double kLeastWork = 1000;  // operations a byte
    const uint64_t crossing = bytes(graph_[node.outputs[0]].dtype, shape(node.outputs[0]));
    double work = operations_of(graph_, node);
    for (const size_t n : x.sources) work += operations_of(graph_, graph_.nodes()[n]);
    return crossing < kLargeBytes || work >= kLeastWork * static_cast<double>(crossing);
}

// One over pixels would sum over all channels, too, of maps that are as large.
std::optional<std::vector<RowSpread>> RowSpreads::behind_pointwise(const Node& node, const RowSpread& x) const {
    const Shape& weights = shape(node.inputs[1]);
    if (x.axis != 1 || x.segments.size() != 1 || product(weights, 2, weights.size()) != 1 || !is_worth_a_sum(node, x))
        return std::nullopt;
    return std::vector{RowSpread{RowSpread::partial, 0, {}, {}}};
}

std::optional<std::vector<RowSpread>> RowSpreads::behind_depthwise(const Node& node, const RowSpread& x) const {
    const int64_t channels = shape(node.inputs[0])[1];
    if (x.axis != 1 || x.segments.size() != 1 || shape(node.outputs[0])[1] != channels ||
        graph::AttributeView(node.attributes).integer(Attr::group) != channels)
        return std::nullopt;
    for (size_t i = 1; i < node.inputs.size(); ++i)
        if (node.inputs[i].valid() && (*this)[node.inputs[i]].is_split()) return std::nullopt;
    return std::vector{RowSpread{RowSpread::split, 1, {channels}, {}}};
}

RowOperand row_operand(const Graph& graph, const RowSpreads& spreads, const Node& node, size_t i) {
    const Shape& shape = graph[node.inputs[i]].shape;
    const RowSpread& out = spreads[node.outputs[0]];
    const auto along = [](uint32_t axis, Segments segments) { return RowOperand{true, axis, std::move(segments)}; };
    if (node.op == Op::matmul && i == 1) {
        const bool rows = graph::AttributeView(node.attributes).integer(Attr::transpose_b) != 0;
        if (out.is_split()) return along(rows ? 0 : 1, out.segments);
        return along(rows ? 1 : 0, spreads[node.inputs[0]].segments);
    }
    if (node.op == Op::attention && i >= 5) return along(0, {shape[0]});
    if (node.op == Op::conv && i == 1 && !out.is_split()) return along(1, spreads[node.inputs[0]].segments);
    if (node.op == Op::conv && i >= 1 && out.is_split()) return along(0, {shape[0]});
    if (!is_binary(node.op) || !out.is_split()) return {};
    const size_t rank = graph[node.outputs[0]].shape.size();
    if (shape.size() + out.axis < rank) return {};
    const auto axis = static_cast<uint32_t>(out.axis + shape.size() - rank);
    return shape[axis] == 1 ? RowOperand{} : along(axis, out.segments);
}

}  // namespace backplane::runtime
