// Cast: the same values as another type. ONNX Cast 13: among whole numbers the lowest bits stay; what it leaves open is that float to integer
// saturates, and NaN gives 0. To a smaller float: to nearest, ties to even. To boolean: 1 where x is not 0 (NaN too). From a block type to a float:
// decodes to f32, and rounds that.
// Types: any to any, but never to a block type and from one only to a float. Attributes: to (BP_F32 ...).
#include <cmath>

#include "graph/element_types.hpp"
#include "graph/op_definition.hpp"

namespace backplane::graph::ops::cast {

namespace {

bool is_whole(DType dtype) { return !is_float(dtype) && !is_block(dtype) && dtype != DType::boolean; }

// Of the whole numbers that are the same but for a multiple of 2^bits, that which the type has.
double wrapped(double value, DType dtype) {
    if (dtype == DType::i64) return value;
    const double count = std::exp2(8 * static_cast<double>(bytes(dtype, {})));
    const double above = value - count * std::floor(value / count);
    const bool has_sign = dtype != DType::u8 && dtype != DType::u16;
    return has_sign && above >= count / 2 ? above - count : above;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const bool wraps = is_whole(x.dtype) && is_whole(call.output.dtype);
    for (size_t i = 0; i < x.data.size(); ++i) {
        // A double that stands for an f32 may carry more digits than one; they must not decide how it truncates.
        const double value = x.dtype == DType::f32 || is_block(x.dtype) ? round_to(x.data[i], DType::f32) : x.data[i];
        call.output.data[i] = wraps ? wrapped(x.data[i], call.output.dtype) : round_to(value, call.output.dtype);
    }
}

}  // namespace

constinit const OpDefinition op_cast{backplane::ops::op_cast, reference};

}  // namespace backplane::graph::ops::cast
