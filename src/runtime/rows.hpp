// Products of a graph over several devices that work on the same run: each has a part of the columns of a product and the matching rows of the one
// behind it, and the sums of what they make are the only bytes that cross.
//
//   x ─┬─ x W1[:, first]  ─ silu ─ h W2[first, :]  ─ p0 ─┬─ p0 + p1 ─ ... on the first device
//      └─ x W1[:, second] ─ silu ─ h W2[second, :] ─ p1 ─┴─ p0 + p1 ─ ... on the second, which goes on by itself
//
// The cut is found from the ops: behind a product whose columns are split, element-wise ops, Split, Reshape, Transpose, depthwise Conv (by channels) and
// Attention (by heads) stay split; a product over the split axis makes partial sums. What is not reached by that is done by each device that needs it,
// so nothing else crosses. Between two crossings each device has one stage, and the stages of a crossing run at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/row_weights.hpp"
#include "runtime/session_core.hpp"

namespace backplane::runtime {

struct RowGraph {
    Graph
        graph;  // outputs are made by the first device; an input of which each device reads a part alone is row_input(name, part, parts)
    std::vector<uint32_t> device_of;         // each node
    std::map<std::string, RowSlice> slices;  // weights that are parts of others, by their names
    size_t products = 0;                     // of the whole graph, that are split
    std::map<size_t, uint32_t> sums = {};    // nodes that add up what each device has a part of: the number of the sum
    // `apart_from`: sums of so many bytes and more are stages of their own, which the devices' module does as one.
    [[nodiscard]] std::vector<PlannedPart> stages(uint32_t devices, std::optional<uint64_t> apart_from = {}) const;
};

// Throws Error: unsupported for a graph with state, and where no product can be split.
RowGraph row_graph(const Graph& whole, uint32_t parts);

}  // namespace backplane::runtime
