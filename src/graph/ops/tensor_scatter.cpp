// TensorScatter: y = cache, but y[n, a..., positions[n] + i, b...] = update[n, a..., i, b...] along the axis. ONNX TensorScatter 24.
// linear: what lies outside the axis is dropped, on either side (ONNX leaves it undefined); circular: it wraps.
// Types: cache any plain one or q8_0, update alike, or f32, f16 or bf16 for q8_0, to which it is rounded as GGUF's writers do; positions i32 or
// i64 (none: 0). Attributes: axis (-2), mode (linear).
#include "graph/element_types.hpp"
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::tensor_scatter {

namespace {

// Where row i of the update goes; outside 0 .. extent - 1: nowhere.
int64_t place_of(int64_t position, int64_t i, int64_t extent, bool circular) {
    if (circular) return ((position % extent) + extent + i) % extent;
    // Neither sum can overflow: i and extent are sizes of tensors.
    return position < -extent || position >= extent ? -1 : position + i;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& cache = call.input(0);
    const ReferenceTensor& update = call.input(1);
    const auto axis = static_cast<size_t>(call.attributes.integer(Attr::axis));
    const bool circular = call.attributes.integer(Attr::mode) == BP_SCATTER_CIRCULAR;
    const bool quantises = is_block(cache.dtype) && !is_block(update.dtype);
    const std::vector<double> values = quantises ? decode(encode(update.data, cache.dtype), cache.dtype) : update.data;
    const AroundAxis to(cache.shape, axis);
    const AroundAxis from(update.shape, axis);
    call.output.data = cache.data;
    const int64_t each = to.outer / cache.shape[0];  // of a sample
    for (int64_t o = 0; o < to.outer; ++o) {
        const int64_t position = call.has(2) ? to_integer(call.input(2).data[static_cast<size_t>(o / each)]) : 0;
        for (int64_t i = 0; i < from.extent; ++i) {
            const int64_t row = place_of(position, i, to.extent, circular);
            if (row < 0 || row >= to.extent) continue;
            for (int64_t k = 0; k < to.inner; ++k) call.output.data[to.at(o, row, k)] = values[from.at(o, i, k)];
        }
    }
}

}  // namespace

constinit const OpDefinition op_tensor_scatter{backplane::ops::op_tensor_scatter, reference};

}  // namespace backplane::graph::ops::tensor_scatter
