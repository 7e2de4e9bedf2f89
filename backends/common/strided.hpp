// Where elements lie, as strides in elements, and what the ops that move them make of that.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/graph.hpp"

namespace backplane::backend {

// Of dense row-major dimensions.
std::vector<int64_t> strides_of(const std::vector<int64_t>& dim);

// Strides of `value` as an operand of a result of dimensions `to`: missing and repeated dimensions get stride 0. A backend's own value
// has its strides_of().
template <typename V>
std::vector<int64_t> broadcast_strides(const V& value, const std::vector<int64_t>& to) {
    std::vector<int64_t> out(to.size(), 0);
    const std::vector<int64_t> own = strides_of(value);
    const size_t shift = to.size() - own.size();
    for (size_t d = 0; d < own.size(); ++d) out[d + shift] = value.dim[d] == 1 ? 0 : own[d];
    return out;
}

// K operands walked together, outermost loop first: element (i0, i1, ...) of operand k lies at sum(i_d * stride[k][d]).
template <size_t K>
struct Loops {
    std::vector<int64_t> size;
    std::array<std::vector<int64_t>, K> stride;

    // Adds an innermost loop, dimension d of these: none for a single iteration, and merged where both loops are one run for all.
    void add(size_t d, const std::vector<int64_t>& sizes, const std::array<std::vector<int64_t>, K>& strides) {
        if (sizes[d] == 1) return;
        bool merge = !size.empty();
        for (size_t k = 0; k < K && merge; ++k) merge = stride[k].back() == strides[k][d] * sizes[d];
        if (merge) {
            size.back() *= sizes[d];
            for (size_t k = 0; k < K; ++k) stride[k].back() = strides[k][d];
        } else {
            size.push_back(sizes[d]);
            for (size_t k = 0; k < K; ++k) stride[k].push_back(strides[k][d]);
        }
    }
};

// One side of a copy: element (i0, i1, ...) lies at offset + sum(i_d * strides[d]).
struct StridedView {
    ValueId value = kNone;
    int64_t offset = 0;
    std::vector<int64_t> strides;
};

// Of the operand of a Slice: the elements of the result. `strides`: of the whole operand.
StridedView sliced(const Node& node, std::vector<int64_t> strides);

// For each axis of the result of a Transpose, the operand's.
std::vector<size_t> transpose_order(const Node& node, size_t rank);
// Of the operand of a Transpose: the elements of the result.
StridedView transposed(const Node& node, const std::vector<int64_t>& strides);

// size[0] x size[1] x ... elements of one value that go into another.
struct StridedCopy {
    std::vector<int64_t> size;
    StridedView from, into;
};
// What DepthToSpace copies: over n, c, h, row in the block, w, column in the block. `dim`: of the operand; x, y: strides of operand and
// result.
StridedCopy depth_to_space(const Node& node, const std::vector<int64_t>& dim, const std::vector<int64_t>& x,
                           const std::vector<int64_t>& y);

// The same the other way round, of SpaceToDepth.
StridedCopy space_to_depth(const Node& node, const std::vector<int64_t>& dim, const std::vector<int64_t>& x,
                           const std::vector<int64_t>& y);

// What an Expand, Slice, Transpose, DepthToSpace or SpaceToDepth copies of its operand into its result.
template <typename V>
StridedCopy copy_of(const Node& node, const V& in, const V& out) {
    if (node.op == BP_OP_depth_to_space) return depth_to_space(node, in.dim, strides_of(in), strides_of(out));
    if (node.op == BP_OP_space_to_depth) return space_to_depth(node, in.dim, strides_of(in), strides_of(out));
    StridedView from = node.op == BP_OP_expand  ? StridedView{node.inputs[0], 0, broadcast_strides(in, out.dim)}
                       : node.op == BP_OP_slice ? sliced(node, strides_of(in))
                                                : transposed(node, strides_of(in));
    return {out.dim, std::move(from), {node.output, 0, strides_of(out)}};
}

}  // namespace backplane::backend
