// What reductions and normalisations have in common: the axes over which a node reduces, the groups of channels that it normalises; what a
// ScatterND does with what is there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/element_types.hpp"
#include "common/graph.hpp"

namespace backplane::backend {

// For each axis of the operand of a reduction, or of a GlobalAveragePool: whether it goes.
inline std::vector<bool> reduced_axes(const Node& node, size_t rank) {
    std::vector<bool> gone(rank);
    if (node.op == BP_OP_global_average_pool) {
        for (size_t d = 2; d < rank; ++d) gone[d] = true;
        return gone;
    }
    const backplane::ops::List axes = node.as<backplane::ops::ReduceAttributes>().axes;
    gone.assign(rank, axes.empty());
    for (const int64_t axis : axes) gone[static_cast<size_t>(axis)] = true;
    return gone;
}
// Of the axes that a reduction keeps, or goes over: their extents, and strides of the operand.
struct Axes {
    std::vector<int64_t> size, stride;
};
// Those that are kept, then the others.
inline std::array<Axes, 2> split_axes(const Node& node, const std::vector<int64_t>& dim,
                                      const std::vector<int64_t>& strides) {
    const std::vector<bool> gone = reduced_axes(node, dim.size());
    std::array<Axes, 2> all;
    for (size_t d = 0; d < dim.size(); ++d) {
        Axes& axes = all[gone[d] ? 1 : 0];
        axes.size.push_back(dim[d]);
        axes.stride.push_back(strides[d]);
    }
    return all;
}
inline bool is_mean(const Node& node) { return node.op == BP_OP_reduce_mean || node.op == BP_OP_global_average_pool; }

// Of a ScatterND the op of what is there and an update; BP_OP_unknown: the update stays, and no number counts.
inline uint32_t reduction_of(const Node& node) {
    return backplane::ops::op_of(node.as<backplane::ops::ScatterNDAttributes>().reduction);
}
inline Types types_of_scatter(const Node& node) {
    return reduction_of(node) == BP_OP_unknown ? Types::moves : Types::numbers;
}

// Of a GroupNorm, or an InstanceNorm, where each of so many channels is a group.
inline backplane::ops::GroupNormAttributes groups_of(const Node& node, int64_t channels) {
    if (node.op == BP_OP_instance_norm) return {channels, node.as<backplane::ops::InstanceNormAttributes>().epsilon};
    return node.as<backplane::ops::GroupNormAttributes>();
}

}  // namespace backplane::backend
