// CumSum: y = sum of x along axis up to each element, without itself where exclusive, from the end where reverse; of integers modulo 2^32, 2^64.
// ONNX CumSum 14, the axis as an attribute. Types: f32, f16, bf16, f64, i32, i64. Attributes: axis (0; builder: negative counts from the end),
// exclusive (0), reverse (0).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::cum_sum {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const AroundAxis a(x.shape, static_cast<size_t>(call.attributes.integer(Attr::axis)));
    const bool exclusive = call.attributes.integer(Attr::exclusive) != 0;
    const bool reverse = call.attributes.integer(Attr::reverse) != 0;
    for (int64_t o = 0; o < a.outer; ++o)
        for (int64_t i = 0; i < a.inner; ++i) {
            double sum = 0;
            uint64_t whole = 0;
            for (int64_t e = 0; e < a.extent; ++e) {
                const size_t at = a.at(o, reverse ? a.extent - 1 - e : e, i);
                const double before = is_integer(x.dtype) ? wrapped(whole, x.dtype) : sum;
                sum += x.data[at];
                whole += is_integer(x.dtype) ? static_cast<uint64_t>(to_integer(x.data[at])) : 0;
                const double after = is_integer(x.dtype) ? wrapped(whole, x.dtype) : sum;
                call.output.data[at] = exclusive ? before : after;
            }
        }
}

}  // namespace

constinit const OpDefinition op_cum_sum{backplane::ops::op_cum_sum, reference};

}  // namespace backplane::graph::ops::cum_sum
