// Pad: constant, edge or reflected borders on any axis, any plain element type. Tile: the same with the operand itself behind it.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/gpu/ops/table.hpp"
#include "common/saturated.hpp"

namespace backplane::gpu::ops::pad {

namespace {

// Bits of a floating-point number of `digits` stored digits and least exponent `least`, rounded to nearest even.
uint32_t short_float(double value, int digits, int least, int bits) {
    const uint32_t sign = std::signbit(value) ? 1U << (bits - 1) : 0U;
    const uint32_t infinity = ((1U << (bits - 1 - digits)) - 1) << digits;
    if (value != value) return sign | infinity | 1U << (digits - 1);
    const double magnitude = std::fabs(value);
    if (magnitude == 0) return sign;
    if (std::isinf(magnitude)) return sign | infinity;
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    exponent = std::max(exponent - 1, least);
    const auto whole = static_cast<int64_t>(std::nearbyint(std::ldexp(magnitude, digits - exponent)));
    // Below the least usual number the stored exponent is 0; a carry out of the digits moves into the exponent by itself.
    const int64_t stored = (static_cast<int64_t>(exponent - least) << digits) + whole;
    return sign | static_cast<uint32_t>(std::min<int64_t>(stored, infinity));
}

template <typename T>
void put_whole(double value, uint32_t words[2]) {
    const T whole = backend::saturated<T>(value);
    std::memcpy(words, &whole, sizeof whole);
}

// One element of `dtype` as two words, in the low bytes.
void element_of(double value, uint32_t dtype, uint32_t words[2]) {
    words[0] = words[1] = 0;
    switch (dtype) {
        case BP_F32: words[0] = word(static_cast<float>(value)); break;
        case BP_F16: words[0] = short_float(value, 10, -14, 16); break;
        case BP_BF16: words[0] = short_float(value, 7, -126, 16); break;
        case BP_F64: std::memcpy(words, &value, sizeof value); break;
        case BP_I8: put_whole<int8_t>(value, words); break;
        case BP_U8: put_whole<uint8_t>(value, words); break;
        case BP_I16: put_whole<int16_t>(value, words); break;
        case BP_U16: put_whole<uint16_t>(value, words); break;
        case BP_I32: put_whole<int32_t>(value, words); break;
        case BP_I64: put_whole<int64_t>(value, words); break;
        default: words[0] = value != 0 ? 1 : 0;
    }
}

// Of operand and result, and the mode; the rest is for Pad.
PadParameters parameters_of(const Value& x, const Value& y, uint32_t mode) {
    PadParameters parameters{.mode = mode, .rank = static_cast<uint32_t>(x.dim.size())};
    for (size_t d = 0; d < x.dim.size(); ++d) {
        parameters.sizes[d] = word(y.dim[d]);
        parameters.extents[d] = word(x.dim[d]);
    }
    return parameters;
}

void add(Lowering& to, const Node& node, const PadParameters& parameters) {
    const ValueId in = node.inputs[0];
    const Value& y = to[node.output];
    const auto n = static_cast<uint64_t>(y.elements());
    const uint32_t bytes = sdk::dtype_info(y.dtype).bytes;
    to.each(step_label(to, node), variant_for(kKernel_pad_1, bytes), n, {to.reads(in), to.writes(node.output)}, parameters);
}

void lower_pad(Lowering& to, const Node& node) {
    const auto attributes = node.as<backplane::ops::PadAttributes>();
    const Value& x = to[node.inputs[0]];
    const Value& y = to[node.output];
    PadParameters parameters = parameters_of(x, y, static_cast<uint32_t>(attributes.mode));
    uint32_t element[2];
    element_of(attributes.value, y.dtype, element);
    parameters.value_low = element[0];
    parameters.value_high = element[1];
    for (size_t d = 0; d < x.dim.size(); ++d) parameters.before[d] = word(attributes.pads.value[d]);
    add(to, node, parameters);
}

void lower_tile(Lowering& to, const Node& node) {
    add(to, node, parameters_of(to[node.inputs[0]], to[node.output], PAD_TILE));
}

constexpr OpLowering table[] = {{BP_OP_pad, Types::moves, 0, nullptr, lower_pad},
                                {BP_OP_tile, Types::moves, 0, nullptr, lower_tile}};

}  // namespace

const OpFamily ops_pad = {table, std::size(table)};

}  // namespace backplane::gpu::ops::pad
