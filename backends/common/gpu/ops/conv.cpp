// Convolution: depthwise, or a product of the filters and the columns of the input.
#include <algorithm>

#include "common/gpu/ops/table.hpp"
#include "common/gpu/ops/tiles.hpp"

namespace backplane::gpu {

namespace {

uint32_t variant(uint32_t f32, uint32_t f16, uint32_t mixed, const Value& x, const Value& w) {
    if (x.dtype == BP_F16) return f16;
    return w.dtype == BP_F16 ? mixed : f32;
}

// Parameters of every convolution, 0 to 14.
std::vector<uint32_t> geometry_of(const Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    const auto strides = node.list(BP_ATTR_strides, {1, 1});
    const auto pads = node.list(BP_ATTR_pads, {0, 0, 0, 0});
    const auto dilations = node.list(BP_ATTR_dilations, {1, 1});
    const int64_t groups = node.integer(BP_ATTR_group, 1);
    std::vector<uint32_t> out;
    for (const int64_t n : {w.dim[0] / groups, w.dim[1], groups, x.dim[2], x.dim[3], y.dim[2], y.dim[3], w.dim[2], w.dim[3],
                            strides[0], strides[1], pads[0], pads[1], dilations[0], dilations[1]})
        out.push_back(word(n));
    return out;
}

std::string label_of(const Lowering& to, const Node& node, const char* kind) {
    return std::string("Conv ") + kind + " " + to[node.inputs[1]].text() + " -> " + to[node.output].text() +
           epilogue_text(node);
}

std::vector<Operand> operands_of(const Lowering& to, const Node& node) {
    // A value of the type of the rest stands where there is no bias and nothing to add.
    std::vector<Operand> operands = {to.reads(node.inputs[0]), to.reads(node.inputs[1])};
    append_epilogue_operands(to, operands, node, node.inputs[0]);
    operands.push_back(to.writes(node.output));
    return operands;
}

void lower_depthwise(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    std::vector<uint32_t> parameters = geometry_of(to, node);
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    parameters.push_back(static_cast<uint32_t>(n));
    append_epilogue(parameters, node);
    to.each(label_of(to, node, "depthwise"),
            variant(kKernel_conv_depthwise_f32, kKernel_conv_depthwise_f16, kKernel_conv_depthwise_f32_by_f16, x, w), n,
            operands_of(to, node), parameters, {epilogue_kinds(node), epilogue_function(node)});
}

// Strides and dilations of 1?
bool has_unit_steps(const std::vector<uint32_t>& geometry) {
    return std::all_of(&geometry[9], &geometry[11], [](uint32_t s) { return s == 1; }) &&
           std::all_of(&geometry[13], &geometry[15], [](uint32_t s) { return s == 1; });
}

// Extent of the kernels that a variant of their own unrolls; 0: another.
uint32_t unrolled_kernel(const Lowering& to, const Value& w, const std::vector<uint32_t>& geometry) {
    const bool square = w.dim[2] == w.dim[3] && (w.dim[2] == 1 || w.dim[2] == 3 || w.dim[2] == 5);
    return square && has_unit_steps(geometry) && !to.can.software ? word(w.dim[2]) : 0;
}

// Sums shorter than this are too short for the matrix units: loading costs more than it saves (H200: equal at 576, slower at 128).
constexpr int64_t kMatrixDepth = 512;

bool suits_matrices(const Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const int64_t outputs = w.dim[0] / node.integer(BP_ATTR_group, 1);
    const int64_t depth = w.dim[1] * w.dim[2] * w.dim[3];
    return to.can.matrices && x.dtype == BP_F16 && to.plan.math != BP_MATH_STRICT && outputs >= 16 && depth >= kMatrixDepth;
}

void lower_on_matrices(Lowering& to, const Node& node) {
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    const int64_t groups = node.integer(BP_ATTR_group, 1);
    const auto down = static_cast<uint32_t>((w.dim[0] / groups + 63) / 64);
    const auto across = static_cast<uint64_t>((y.dim[2] * y.dim[3] + 127) / 128);
    Dispatch d;
    d.label = label_of(to, node, "matrix units");
    d.kernel = kKernel_conv_coop_f16;
    d.parameters = geometry_of(to, node);
    d.constants = {128, epilogue_kinds(node), epilogue_function(node), 0, 0, 0, 0, 0, unrolled_kernel(to, w, d.parameters)};
    d.parameters.push_back(down);
    append_epilogue(d.parameters, node);
    d.operands = operands_of(to, node);
    d.work = 2.0 * static_cast<double>(y.elements() * w.dim[1] * w.dim[2] * w.dim[3]);
    to.spread(across * down, d.groups);
    d.groups[2] = static_cast<uint32_t>(y.dim[0] * groups);
    to.add(std::move(d));
}

// Of a result, 8 x 32 pixels each.
int64_t patches_of(const Value& y) { return ((y.dim[2] + 7) / 8) * ((y.dim[3] + 31) / 32); }

bool suits_patches(const Lowering& to, const Node& node, uint32_t kernel) {
    const Value& y = to[node.output];
    const int64_t groups = node.integer(BP_ATTR_group, 1);
    const int64_t outputs = to[node.inputs[1]].dim[0] / groups;
    if (!to.can.patches || (kernel != 3 && kernel != 5)) return false;
    if (to.can.least_patches == 0) return true;
    return outputs > 32 && patches_of(y) * y.dim[0] * groups * ((outputs + 63) / 64) >= to.can.least_patches;
}

void lower_on_patches(Lowering& to, const Node& node, uint32_t kernel) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    const int64_t groups = node.integer(BP_ATTR_group, 1);
    const auto blocks = static_cast<uint32_t>((w.dim[0] / groups + 63) / 64);
    Dispatch d;
    d.label = label_of(to, node, "patches");
    d.kernel = variant(kKernel_conv_patch_f32, kKernel_conv_patch_f16, kKernel_conv_patch_f32_by_f16, x, w);
    d.parameters = geometry_of(to, node);
    d.constants = {256, epilogue_kinds(node), epilogue_function(node), 0, 0, 0, 0, 0, kernel};
    d.parameters.push_back(blocks);
    append_epilogue(d.parameters, node);
    d.operands = operands_of(to, node);
    d.work = 2.0 * static_cast<double>(y.elements() * w.dim[1] * w.dim[2] * w.dim[3]);
    to.spread(static_cast<uint64_t>(patches_of(y)) * blocks, d.groups);
    d.groups[2] = static_cast<uint32_t>(y.dim[0] * groups);
    to.add(std::move(d));
}

// For devices where shared memory and barriers cost more than they save.
void lower_direct(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    const int64_t groups = node.integer(BP_ATTR_group, 1);
    const auto blocks = static_cast<uint32_t>((w.dim[0] / groups + 7) / 8);
    constexpr int64_t pixels = 128;
    const auto across = static_cast<uint64_t>((y.dim[2] * y.dim[3] + pixels - 1) / pixels);
    Dispatch d;
    d.label = label_of(to, node, "direct");
    d.kernel = variant(kKernel_conv_direct_f32, kKernel_conv_direct_f16, kKernel_conv_direct_f32_by_f16, x, w);
    d.constants = {to.can.direct_invocations, epilogue_kinds(node), epilogue_function(node)};
    d.parameters = geometry_of(to, node);
    d.parameters.push_back(blocks);
    append_epilogue(d.parameters, node);
    d.operands = operands_of(to, node);
    d.work = 2.0 * static_cast<double>(y.elements() * w.dim[1] * w.dim[2] * w.dim[3]);
    to.spread(across * blocks, d.groups);
    d.groups[2] = static_cast<uint32_t>(y.dim[0] * groups);
    to.add(std::move(d));
}

void lower(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    if (y.elements() == 0) return;
    const int64_t groups = node.integer(BP_ATTR_group, 1);
    const int64_t outputs = w.dim[0] / groups;
    if (groups > 1 && outputs == 1 && w.dim[1] == 1) return lower_depthwise(to, node);
    const int64_t pixels = y.dim[2] * y.dim[3];
    // Before the matrix units: what conv_coop loads for each tap costs it more than they save (H200, f16: 16.0 ms against 23.6).
    if (const uint32_t kernel = unrolled_kernel(to, w, geometry_of(to, node)); suits_patches(to, node, kernel))
        return lower_on_patches(to, node, kernel);
    if (suits_matrices(to, node)) return lower_on_matrices(to, node);
    if (to.can.software) return lower_direct(to, node);
    const Tile tile = choose_tile(to.can, outputs, pixels, y.dim[0] * groups);
    const auto down = static_cast<uint32_t>((outputs + tile.rows - 1) / tile.rows);
    const auto across = static_cast<uint64_t>((pixels + tile.columns - 1) / tile.columns);
    std::vector<uint32_t> parameters = geometry_of(to, node);
    const bool unit = has_unit_steps(parameters);
    const uint32_t kernel = unrolled_kernel(to, w, parameters);
    parameters.push_back(down);
    append_epilogue(parameters, node);
    Dispatch d;
    d.label = label_of(to, node, "tiled");
    d.kernel = variant(kKernel_conv_f32, kKernel_conv_f16, kKernel_conv_f32_by_f16, x, w);
    d.constants = {tile.invocations()};
    for (const uint32_t c : tile_constants(tile, node)) d.constants.push_back(c);
    d.constants.push_back(kernel);
    d.constants.push_back(unit && !to.can.software ? 1 : 0);
    d.operands = operands_of(to, node);
    d.parameters = std::move(parameters);
    d.work = 2.0 * static_cast<double>(y.elements() * w.dim[1] * w.dim[2] * w.dim[3]);
    to.spread(across * down, d.groups);
    d.groups[2] = static_cast<uint32_t>(y.dim[0] * groups);
    to.add(std::move(d));
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const Value& w = plan[node.inputs[1]];
    if (x.dim.size() != 4 || w.dim.size() != 4)
        return {BP_WHY_SHAPE, node.text() + ": only two spatial dimensions are done"};
    if (w.dtype != BP_F32 && !is_half(w.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for weights " + w.text()};
    if (x.dim[0] * node.integer(BP_ATTR_group, 1) > 65535)
        return {BP_WHY_LIMIT, node.text() + ": images times groups are over 65535"};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_conv, Types::computes, 1U << 1, check, lower}};

}  // namespace

const OpFamily ops_conv = {table, std::size(table)};

}  // namespace backplane::gpu
