// Cast: the same values as another type. ONNX Cast 13, but float to integer saturates, and NaN gives 0.
// To a smaller float: to nearest, ties to even. To boolean: 1 where x is not 0 (NaN too). From q8_0, q4_0 to a float:
// decodes.
// Types: any to any, but never to a block type and from one only to a float. Attributes: to (BP_F32 ...).
#include "graph/element_types.hpp"
#include "graph/ops/support/checks.hpp"

namespace backplane::graph::ops::cast {

namespace {

constexpr InputRule kInputs[] = {{"x"}};
constexpr AttributeRule kAttributes[] = {required(Attr::to)};

InferResult infer(const InferCall& call) {
    const int64_t number = call.integer(Attr::to);
    const DType to = number > 0 && number <= BP_Q4_0 ? static_cast<DType>(number) : DType::unknown;
    require(call, to != DType::unknown, "attribute to is no element type: " + std::to_string(number));
    require(call, !is_block(to), std::string("does not encode to ") + name_of(to));
    require(call, !is_block(call.dtype(0)) || is_float(to),
            call.typed_text(0) + " decodes to a float type only, not " + name_of(to));
    return {to, call.shape(0)};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    for (size_t i = 0; i < x.data.size(); ++i) {
        // A double that stands for an f32 may carry more digits than one; they must not decide how it truncates.
        const double value = x.dtype == DType::f32 ? round_to(x.data[i], DType::f32) : x.data[i];
        call.output.data[i] = round_to(value, call.output.dtype);
    }
}

}  // namespace

constinit const OpDefinition op_cast{Op::cast, "Cast",   "the same values as another type", kInputs, kAttributes, nullptr,
                                     infer,    reference};

}  // namespace backplane::graph::ops::cast
