// Pad: constant, edge or reflected borders on any axis, any plain element type. Tile: the same with the operand itself behind it.
#include <array>
#include <bit>

#include "common/gpu/ops/table.hpp"
#include "common/saturated.hpp"

namespace backplane::gpu::ops::pad {

namespace {

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
    to.each(node, variant_for(kKernel_pad_1, sdk::dtype_info(to[node.output].dtype).bytes), parameters);
}

void lower_pad(Lowering& to, const Node& node) {
    const auto attributes = node.as<backplane::ops::PadAttributes>();
    const Value& x = to[node.inputs[0]];
    const Value& y = to[node.output];
    PadParameters parameters = parameters_of(x, y, static_cast<uint32_t>(attributes.mode));
    const auto element = std::bit_cast<std::array<uint32_t, 2>>(backend::element_of(attributes.value, y.dtype));
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
