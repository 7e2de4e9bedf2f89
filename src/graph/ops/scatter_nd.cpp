// ScatterND: y = data, but y[indices[i..., 0], ..., indices[i..., q - 1], ...] = updates[i..., ...]. ONNX ScatterND 18 with reduction none; where
// indices repeat, one of the updates stays. A negative index counts from the end; one out of range is an error when the op runs.
// Types: data and updates any but the block types, indices i32 or i64. No attributes.
#include <string>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::scatter_nd {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& indices = call.input(1);
    const ReferenceTensor& updates = call.input(2);
    const Shape& shape = call.output.shape;
    const auto q = static_cast<size_t>(indices.shape.back());
    const std::vector<int64_t> strides = strides_of(shape);
    call.output.data = call.input(0).data;
    size_t inner = 1;
    for (size_t d = q; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
    for (size_t u = 0; u * inner < updates.data.size(); ++u) {
        int64_t at = 0;
        for (size_t d = 0; d < q; ++d) {
            const int64_t k = to_integer(indices.data[u * q + d]);
            if (k < -shape[d] || k >= shape[d])
                throw Error(Code::invalid, "ScatterND: index " + std::to_string(k) + " lies outside axis " +
                                               std::to_string(d) + " of data " + to_string(shape));
            at += (k < 0 ? k + shape[d] : k) * strides[d];
        }
        std::copy_n(updates.data.begin() + static_cast<ptrdiff_t>(u * inner), inner, call.output.data.begin() + at);
    }
}

}  // namespace

constinit const OpDefinition op_scatter_nd{backplane::ops::op_scatter_nd, reference};

}  // namespace backplane::graph::ops::scatter_nd
