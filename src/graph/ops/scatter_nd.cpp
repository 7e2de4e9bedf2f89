// ScatterND: y = data, but y[indices[i..., 0], ..., indices[i..., q - 1], ...] = updates[i..., ...], or what is there and the update reduced, one
// update after the other. ONNX ScatterND 18; where indices repeat, without a reduction one of the updates stays. A negative index counts from the
// end; one out of range is an error when the op runs. Types: data and updates any but the block types, with a reduction f32, f16, bf16, f64, i32
// and i64 (modulo 2^32, 2^64); NaN stays NaN. Indices i32 or i64. Attributes: reduction (BP_REDUCTION_NONE).
#include <cmath>
#include <string>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::scatter_nd {

namespace {

double reduced(int64_t reduction, double a, double b, DType dtype) {
    const bool whole = is_integer(dtype);
    switch (reduction) {
        case BP_REDUCTION_ADD:
            return whole ? wrapped(static_cast<uint64_t>(to_integer(a)) + static_cast<uint64_t>(to_integer(b)), dtype)
                         : a + b;
        case BP_REDUCTION_MUL:
            return whole ? wrapped(static_cast<uint64_t>(to_integer(a)) * static_cast<uint64_t>(to_integer(b)), dtype)
                         : a * b;
        case BP_REDUCTION_MAX: return std::isnan(a) || a > b ? a : b;
        case BP_REDUCTION_MIN: return std::isnan(a) || a < b ? a : b;
        default: return b;
    }
}

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
        for (size_t i = 0; i < inner; ++i) {
            double& y = call.output.data[static_cast<size_t>(at) + i];
            y = reduced(call.attributes.integer(Attr::reduction), y, updates.data[u * inner + i], call.output.dtype);
        }
    }
}

}  // namespace

constinit const OpDefinition op_scatter_nd{backplane::ops::op_scatter_nd, reference};

}  // namespace backplane::graph::ops::scatter_nd
