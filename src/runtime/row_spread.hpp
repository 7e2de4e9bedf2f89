// What becomes of each tensor of a graph whose products are split over devices (rows.hpp), found from the ops.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::runtime {

using Segments = std::vector<int64_t>;

// How a tensor of the whole graph is on the devices.
struct RowSpread {
    enum Kind : uint8_t { whole, split, partial } kind = whole;
    uint32_t axis = 0;
    Segments segments;         // along the axis; each device has its part of each
    std::set<size_t> sources;  // products whose columns are split, of which this came
    [[nodiscard]] bool is_split() const { return kind == split; }
};

// How each tensor of the graph is spread when as many products as can be are split.
class RowSpreads {
public:
    // The graph outlives this.
    RowSpreads(const Graph& graph, uint32_t parts);

    [[nodiscard]] const RowSpread& operator[](TensorId t) const { return spread_[t.index]; }
    // Of a node that leaves a part of a sum one: what is added to it one device adds, what it is multiplied by each. The operand that is the part; nothing of
    // other nodes.
    [[nodiscard]] std::optional<size_t> part_of_sum(const Node& node) const;
    // That are split.
    [[nodiscard]] size_t products() const;

private:
    [[nodiscard]] const Shape& shape(TensorId t) const { return graph_[t].shape; }
    [[nodiscard]] bool even(const Segments& segments) const;
    [[nodiscard]] bool is_product_by_weight(const Node& node) const;
    [[nodiscard]] bool is_plain_conv(const Node& node) const;
    [[nodiscard]] bool is_candidate(const Node& node) const;
    [[nodiscard]] Segments segments_behind(TensorId t) const;
    bool all_go_on();
    [[nodiscard]] RowSpread columns_of(const Node& node, size_t n) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind(const Node& node) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind_binary(const Node& node) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind_product(const Node& node, const RowSpread& x) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind_split(const Node& node, const RowSpread& x) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind_reshape(const Node& node, const RowSpread& x) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind_attention(const Node& node) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind_pointwise(const Node& node, const RowSpread& x) const;
    [[nodiscard]] bool is_worth_a_sum(const Node& node, const RowSpread& x) const;
    [[nodiscard]] std::optional<std::vector<RowSpread>> behind_depthwise(const Node& node, const RowSpread& x) const;

    const Graph& graph_;
    const int64_t parts_;
    std::vector<std::vector<size_t>> readers_;  // by tensor
    std::vector<RowSpread> spread_;             // likewise
    std::set<size_t> columns_;                  // products whose columns are split
};

// How an operand of a node that is spread comes to a device.
struct RowOperand {
    bool sliced = false;
    uint32_t axis = 0;
    Segments segments;
};
[[nodiscard]] RowOperand row_operand(const Graph& graph, const RowSpreads& spreads, const Node& node, size_t i);

}  // namespace backplane::runtime
