#include "common/strided.hpp"

namespace backplane::backend {

std::vector<int64_t> strides_of(const std::vector<int64_t>& dim) {
    std::vector<int64_t> out(dim.size(), 1);
    for (size_t d = dim.size(); d-- > 1;) out[d - 1] = out[d] * dim[d];
    return out;
}

StridedView sliced(const Node& node, std::vector<int64_t> strides) {
    const auto slice = node.as<backplane::ops::SliceAttributes>();
    const backplane::ops::List& starts = slice.starts.value;
    const backplane::ops::List& steps = slice.steps;
    int64_t offset = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
        if (d < starts.size()) offset += starts[d] * strides[d];
        if (d < steps.size()) strides[d] *= steps[d];
    }
    return {node.inputs[0], offset, std::move(strides)};
}

std::vector<size_t> transpose_order(const Node& node, size_t rank) {
    const backplane::ops::List perm = node.as<backplane::ops::TransposeAttributes>().perm;
    std::vector<size_t> order;
    order.reserve(rank);
    for (size_t d = 0; d < rank; ++d) order.push_back(d < perm.size() ? static_cast<size_t>(perm[d]) : rank - 1 - d);
    return order;
}

StridedView transposed(const Node& node, const std::vector<int64_t>& strides) {
    StridedView view{node.inputs[0], 0, {}};
    view.strides.reserve(strides.size());
    for (const size_t axis : transpose_order(node, strides.size())) view.strides.push_back(strides[axis]);
    return view;
}

StridedCopy depth_to_space(const Node& node, const std::vector<int64_t>& dim, const std::vector<int64_t>& x,
                           const std::vector<int64_t>& y) {
    const auto how = node.as<backplane::ops::DepthToSpaceAttributes>();
    const int64_t b = how.blocksize;
    const int64_t channels = dim[1] / (b * b);
    const bool crd = how.mode == backplane::ops::DepthMode::crd;
    const int64_t of_channel = crd ? b * b : 1;
    const int64_t of_row = crd ? b : b * channels;
    const int64_t of_column = crd ? 1 : channels;
    return {{dim[0], channels, dim[2], b, dim[3], b},
            {node.inputs[0], 0, {x[0], of_channel * x[1], x[2], of_row * x[1], x[3], of_column * x[1]}},
            {node.output, 0, {y[0], y[1], b * y[2], y[2], b * y[3], y[3]}}};
}

StridedCopy space_to_depth(const Node& node, const std::vector<int64_t>& dim, const std::vector<int64_t>& x,
                           const std::vector<int64_t>& y) {
    const int64_t b = node.as<backplane::ops::SpaceToDepthAttributes>().blocksize;
    return {{dim[0], dim[1], dim[2] / b, b, dim[3] / b, b},
            {node.inputs[0], 0, {x[0], x[1], b * x[2], x[2], b * x[3], x[3]}},
            {node.output, 0, {y[0], y[1], y[2], b * dim[1] * y[1], y[3], dim[1] * y[1]}}};
}

}  // namespace backplane::backend
