#include "common/gpu/ops/conv_product.hpp"

#include <algorithm>

namespace backplane::gpu::ops::conv {

Extents extents_of(const Value& v, bool channels_last) {
    Extents out = {1, 1, 1};
    const auto first = v.dim.begin() + (channels_last ? 1 : 2);
    const auto axes = static_cast<std::ptrdiff_t>(v.dim.size() - 2);
    std::copy(first, first + axes, out.end() - axes);
    return out;
}

bool has_channels_last(const Node& node) { return node.op == BP_OP_conv && node.part == kChannelsLast; }
bool is_transposed(const Node& node) { return node.op == BP_OP_conv_transpose; }

backplane::ops::ConvAttributes attributes_of(const Lowering& to, const Node& node) {
    const auto axes = static_cast<uint32_t>(to[node.output].dim.size() - 2);
    if (!is_transposed(node)) return node.as<backplane::ops::ConvAttributes>().filled(axes);
    const auto how = node.as<backplane::ops::ConvTransposeAttributes>().filled(axes);
    return {.strides = how.strides, .pads = how.pads, .dilations = how.dilations, .group = how.group};
}

std::string label_of(const Lowering& to, const Node& node, const char* kind) {
    return std::string(sdk::op_name(node.op)) + " " + kind + " " + to[node.inputs[1]].text() + " -> " +
           to[node.output].text() + epilogue_text(node);
}

std::vector<Operand> operands_of(const Lowering& to, const Node& node) {
    // A value of the type of the rest stands where there is no bias and nothing to add.
    std::vector<Operand> operands = {to.reads(node.inputs[0]), to.reads(node.inputs[1])};
    append_epilogue_operands(to, operands, node, node.inputs[0]);
    operands.push_back(to.writes(node.output));
    return operands;
}

int64_t taps_of(const ConvParameters& p) { return int64_t{1} * p.kernel_d * p.kernel_h * p.kernel_w; }
int64_t groups_of(const Node& node) { return node.as<backplane::ops::ConvAttributes>().group; }
int64_t outputs_of(const Lowering& to, const Node& node) { return to[node.inputs[1]].dim[0] / groups_of(node); }
int64_t pixels_of(const ConvParameters& p) { return int64_t{1} * p.out_planes * p.out_height * p.out_width; }

bool is_deep(const ConvParameters& p) { return p.planes != 1 || p.kernel_d != 1 || p.out_planes != 1 || p.pad_front != 0; }

Dispatch product_of(const Lowering& to, const Node& node, const char* kind, uint32_t kernel, ConvParameters parameters,
                    int64_t block, int64_t tiles, uint32_t invocations, std::initializer_list<uint32_t> more) {
    const Value& dense =
        to[is_transposed(node) ? node.inputs[0] : node.output];  // each element meets the whole of its filters
    parameters.blocks = word(up(parameters.outputs, block));
    Dispatch d;
    d.label = label_of(to, node, kind);
    d.kernel = kernel;
    d.constants = {invocations, epilogue_kinds(node), epilogue_function(node)};
    d.constants.insert(d.constants.end(), more);
    d.operands = operands_of(to, node);
    d.parameters = words_of(parameters);
    append_epilogue(d.parameters, node);
    d.work = 2.0 * static_cast<double>(dense.elements() * (is_transposed(node) ? parameters.outputs : parameters.channels)) *
             static_cast<double>(taps_of(parameters));
    to.spread(static_cast<uint64_t>(tiles) * parameters.blocks, d.groups);
    d.groups[2] = word(dense.dim[0] * parameters.groups);
    return d;
}

Operand lay_out_filters(Lowering& to, const Node& node, FilterLayout as) {
    const ValueId plain = node.inputs[1];
    Dispatch d;
    d.label = "Conv filters " + to[plain].text();
    d.kernel = as.kernel;
    d.constants = {as.invocations};
    as.parameters.outputs = word(outputs_of(to, node));
    as.parameters.channels = word(to[plain].dim[1]);
    const Extents taps = extents_of(to[plain]);
    as.parameters.taps = word(taps[0] * taps[1] * taps[2]);
    as.parameters.tiles = word(as.tiles);
    d.parameters = words_of(as.parameters);
    d.work = static_cast<double>(as.tiles * as.rows) * 16;
    const auto bytes = static_cast<uint64_t>(as.tiles * as.rows) * 32;
    d.moved = bytes;
    to.spread(static_cast<uint64_t>(as.workgroups), d.groups);
    const uint32_t role = to[plain].role;
    if (role == BP_ROLE_WEIGHT && to[plain].inside == kNone && to.readers.times(plain) == 1) {
        to.pack(plain, bytes, std::move(d), 16);
        return to.reads(plain, 16);
    }
    const ValueId filters = to.plan.temporary(BP_F16, {as.tiles, as.rows, 16});
    d.operands = {to.reads(plain), to.writes(filters, 16)};
    if (role == BP_ROLE_CONSTANT) {
        to.plan[filters].role = BP_ROLE_CONSTANT;
        to.plan.once.push_back(std::move(d));
    } else if (to.readers.maker(plain) != kNone || to.readers.maker(to.plan.storage_of(plain)) != kNone) {
        to.add(std::move(d));
    } else {
        to.first.push_back(std::move(d));  // before all else: nothing waits for it between two convolutions
    }
    return to.reads(filters, 16);
}

}  // namespace backplane::gpu::ops::conv
