// Convolution, transposed too: depthwise, or a product of the filters and the columns of the input.
#include <algorithm>
#include <array>

#include "common/gpu/ops/conv.hpp"
#include "common/gpu/ops/conv_windows.hpp"
#include "common/gpu/ops/moves.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/gpu/ops/tiles.hpp"

namespace backplane::gpu::ops::conv {

namespace {

uint32_t variant(uint32_t f32, uint32_t f16, uint32_t mixed, const Lowering& to, const Node& node) {
    if (to[node.inputs[0]].dtype == BP_F16) return f16;
    return to[node.inputs[1]].dtype == BP_F16 ? mixed : f32;
}

// Of three axes, the outer ones 1 where there are fewer: those of maps, results or filters.
using Extents = std::array<int64_t, 3>;

Extents extents_of(const Value& v, bool channels_last = false) {
    Extents out = {1, 1, 1};
    const auto first = v.dim.begin() + (channels_last ? 1 : 2);
    const auto axes = static_cast<std::ptrdiff_t>(v.dim.size() - 2);
    std::copy(first, first + axes, out.end() - axes);
    return out;
}

int64_t product(const Extents& e) { return e[0] * e[1] * e[2]; }

bool has_channels_last(const Node& node) { return node.op == BP_OP_conv && node.part == kChannelsLast; }
bool is_transposed(const Node& node) { return node.op == BP_OP_conv_transpose; }

// Of ConvTranspose those that Conv has too: what else it has is in the result's shape.
backplane::ops::ConvAttributes attributes_of(const Lowering& to, const Node& node) {
    const auto axes = static_cast<uint32_t>(to[node.output].dim.size() - 2);
    if (!is_transposed(node)) return node.as<backplane::ops::ConvAttributes>().filled(axes);
    const auto how = node.as<backplane::ops::ConvTransposeAttributes>().filled(axes);
    return {.strides = how.strides, .pads = how.pads, .dilations = how.dilations, .group = how.group};
}

// Strides and dilations of 1 along rows and columns?
template <class Record>
bool has_unit_steps(const Record& p) {
    return p.stride_h == 1 && p.stride_w == 1 && p.dilation_h == 1 && p.dilation_w == 1;
}

// Is a pixel of the result made of that pixel alone?
template <class Record>
bool is_pointwise(const Record& p) {
    const bool alike = p.planes == p.out_planes && p.height == p.out_height && p.width == p.out_width;
    return alike && has_unit_steps(p) && p.stride_d == 1 && p.kernel_d * p.kernel_h * p.kernel_w == 1 &&
           p.pad_front + p.pad_top + p.pad_left == 0;
}

// What every convolution is told: ConvParameters or ConvDepthwiseParameters.
template <class Record = ConvParameters>
Record geometry_of(const Lowering& to, const Node& node) {
    const Value& w = to[node.inputs[1]];
    const Extents x = extents_of(to[node.inputs[0]], has_channels_last(node));
    const Extents y = extents_of(to[node.output], has_channels_last(node));
    const Extents kernel = extents_of(w);
    const auto how = attributes_of(to, node);
    const size_t missing = 5 - w.dim.size();  // axes, in front
    const auto at = [&](const backplane::ops::List& list, size_t axis, int64_t otherwise) {
        return word(axis < missing ? otherwise : list[axis - missing]);
    };
    Record out{};
    out.outputs = word(is_transposed(node) ? w.dim[1] : w.dim[0] / how.group);
    out.channels = word(is_transposed(node) ? w.dim[0] / how.group : w.dim[1]);
    out.groups = word(how.group);
    out.planes = word(x[0]), out.height = word(x[1]), out.width = word(x[2]);
    out.out_planes = word(y[0]), out.out_height = word(y[1]), out.out_width = word(y[2]);
    out.kernel_d = word(kernel[0]), out.kernel_h = word(kernel[1]), out.kernel_w = word(kernel[2]);
    out.stride_d = at(how.strides, 0, 1), out.stride_h = at(how.strides, 1, 1), out.stride_w = at(how.strides, 2, 1);
    out.pad_front = at(how.pads, 0, 0), out.pad_top = at(how.pads, 1, 0), out.pad_left = at(how.pads, 2, 0);
    out.dilation_d = at(how.dilations, 0, 1), out.dilation_h = at(how.dilations, 1, 1);
    out.dilation_w = at(how.dilations, 2, 1);
    if (is_pointwise(out)) {  // maps are as good as one row of pixels, whatever their axes
        out.width = out.out_width = out.planes * out.height * out.width;
        out.planes = out.out_planes = out.height = out.out_height = 1;
    }
    return out;
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

// A kernel that makes all output channels in blocks of `block` for each of `tiles` pieces of the map. Its constants: the size of the
// workgroup, the epilogue (2), then `more`.
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

void lower_depthwise(Lowering& to, const Node& node) {
    auto parameters = geometry_of<ConvDepthwiseParameters>(to, node);
    const Value& y = to[node.output];
    if (y.elements() == 0) return;
    const auto n = static_cast<uint64_t>(y.elements() / parameters.out_width * up(parameters.out_width, 4));  // fours
    parameters.elements = static_cast<uint32_t>(n);
    std::vector<uint32_t> words = words_of(parameters);
    append_epilogue(words, node);
    to.each(label_of(to, node, "depthwise"),
            variant(kKernel_conv_depthwise_f32, kKernel_conv_depthwise_f16, kKernel_conv_depthwise_f32_by_f16, to, node), n,
            operands_of(to, node), words, {epilogue_kinds(node), epilogue_function(node), is_transposed(node) ? 1U : 0U});
}

// An invocation makes so many rows of one column: a map of one axis is as good as one of one column.
constexpr int64_t kRowsOfLast = 8;

void lower_depthwise_last(Lowering& to, const Node& node) {
    auto p = geometry_of<ConvDepthwiseParameters>(to, node);
    if (p.height == 1 && p.out_height == 1 && p.kernel_h == 1 && p.pad_top == 0) {
        std::swap(p.height, p.width), std::swap(p.out_height, p.out_width), std::swap(p.kernel_h, p.kernel_w);
        std::swap(p.stride_h, p.stride_w), std::swap(p.pad_top, p.pad_left), std::swap(p.dilation_h, p.dilation_w);
    }
    const int64_t lines = to[node.output].dim[0] * up(p.out_height, kRowsOfLast);
    const auto n = static_cast<uint64_t>(lines * p.out_width * p.groups);
    p.elements = static_cast<uint32_t>(n);
    std::vector<uint32_t> words = words_of(p);
    append_epilogue(words, node);
    to.each(label_of(to, node, "depthwise, channels last"),
            variant(kKernel_conv_depthwise_last_f32, kKernel_conv_depthwise_last_f16, kKernel_conv_depthwise_last_f32_by_f16,
                    to, node),
            n, operands_of(to, node), words, {epilogue_kinds(node), epilogue_function(node)});
}

// More than one plane, of the input or of the filters or beside the input?
bool is_deep(const ConvParameters& p) { return p.planes != 1 || p.kernel_d != 1 || p.out_planes != 1 || p.pad_front != 0; }

// Extent of the square kernels that a variant of their own unrolls; 0: another.
uint32_t unrolled_kernel(const Lowering& to, const ConvParameters& p) {
    const bool square = p.kernel_h == p.kernel_w && (p.kernel_h == 1 || p.kernel_h == 3 || p.kernel_h == 5);
    return square && !is_deep(p) && has_unit_steps(p) && !to.can.software ? p.kernel_h : 0;
}

// One of those that conv_matrix does beside these: 1x3, 1x5 and 1x7.
bool is_row_kernel(const ConvParameters& p) {
    const bool some = p.kernel_h == 1 && (p.kernel_w == 3 || p.kernel_w == 5 || p.kernel_w == 7);
    return some && !is_deep(p) && has_unit_steps(p);
}

// Sums shorter than this are too short for the matrix units: loading costs more than it saves (H200: equal at 576, slower at 128).
constexpr int64_t kMatrixDepth = 512;

bool suits_matrices(const Lowering& to, const Node& node, const ConvParameters& p, int64_t depth) {
    return to.can.matrices && to[node.inputs[0]].dtype == BP_F16 && to.plan.math != BP_MATH_STRICT && p.outputs >= 16 &&
           (depth >= kMatrixDepth || to.can.least_patches == 0);
}

void lower_on_matrices(Lowering& to, const Node& node, const ConvParameters& p, uint32_t kernel) {
    to.add(product_of(to, node, "matrix units", kKernel_conv_coop_f16, p, 64, up(pixels_of(p), 128), 128,
                      {0, 0, 0, 0, 0, kernel, 0, is_deep(p) ? 1U : 0U}));
}

// How conv_matrix is cut: a subgroup makes `tiles` x 16 output channels of rows x columns pixels; `down` and `across` of them stand beside
// each other in a workgroup, the rest below. A slice has depth x 16 channels.
struct MatrixTile {
    uint32_t invocations, tiles, down, rows, columns, across, depth;
    [[nodiscard]] uint32_t outputs() const { return 16 * tiles * down; }
    [[nodiscard]] uint32_t height() const { return invocations / 32 / down / across * rows; }
    [[nodiscard]] uint32_t width() const { return across * columns; }
};

// The fastest of those tried on an H200 (ESRGAN's shapes at 512x512), for each driver's compiler: OpenCL keeps 16 sums of 16 x 16 in
// registers (3x3: 250 TFLOP/s, 238 with 8), Vulkan is faster with fewer of them and more subgroups (3x3: 177 with 4, 85 with 16).
MatrixTile matrix_tile(const Lowering& to, const Node& node, const ConvParameters& p) {
    const bool many = to.can.matrix_sums >= 16;
    const int64_t outputs = outputs_of(to, node);
    if (p.kernel_h == 1) {
        constexpr int64_t kBusy = 128;  // workgroups of 64 x 256
        if (outputs <= 16) return {128, 1, 1, 1, 32, 4, 2};
        if (outputs <= 32) return {128, 2, 1, 1, 32, 4, 2};
        const bool few = up(pixels_of(p), 256) * up(outputs, 64) < kBusy;
        const bool shallow = many && p.channels < 256;
        return few || shallow ? MatrixTile{128, 4, 1, 1, 16, 4, 2} : MatrixTile{256, 4, 1, 1, 32, 8, 1};
    }
    if (outputs <= 16) return {128, 1, 1, 4, 16, 2, 1};
    if (outputs <= 32) return many ? MatrixTile{128, 2, 1, 4, 16, 2, 1} : MatrixTile{256, 2, 1, 2, 16, 2, 1};
    if (p.kernel_h == 5) return {256, 2, 2, 4, 16, 2, 1};
    return many ? MatrixTile{128, 4, 1, 2, 32, 1, 1} : MatrixTile{256, 2, 2, 2, 16, 2, 1};
}

// Workgroups over the pixels of a result.
int64_t tiles_of(const ConvParameters& p, const MatrixTile& tile) {
    return up(p.out_height, tile.height()) * up(p.out_width, tile.width());
}

// With fewer workgroups the other kernels, which cut finer, are as fast (H200: a tenth as fast with more).
constexpr int64_t kFewestMatrixTiles = 4;

bool suits_matrix_tiles(const Lowering& to, const Node& node, const ConvParameters& p, uint32_t kernel) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    if (!to.can.matrix_tiles || (kernel == 0 && !is_row_kernel(p)) || to.plan.math == BP_MATH_STRICT) return false;
    if (x.dtype != BP_F16 || w.dtype != BP_F16 || epilogue_function(node) != 0) return false;
    if (kernel == 1 && !is_pointwise(p)) return false;  // there is no room for what is beside a row
    const int64_t groups = groups_of(node);
    // Tails of the filters are filled up; kernels count in 32 bits.
    if (up(w.dim[0] / groups, 64) * 64 * up(w.dim[1], 32) * 32 * groups * p.kernel_h * p.kernel_w >= INT32_MAX) return false;
    if (to.can.least_patches == 0) return true;
    const MatrixTile tile = matrix_tile(to, node, p);
    return tiles_of(p, tile) * y.dim[0] * groups * up(w.dim[0] / groups, tile.outputs()) >= kFewestMatrixTiles;
}

// How filters are laid out for a kernel: tiles of rows x 16 channels of the input, `tiles` of them in all; what makes them.
struct FilterLayout {
    uint32_t kernel = 0, invocations = 0;
    int64_t rows = 0, tiles = 0, workgroups = 0;
    ConvFiltersParameters parameters = {};
};

// Tiles of the filters, in the order in which a kernel reads them: made once where no node makes the filters and no other reads them, by
// pack() of a weight, of a constant when the program is made; else at each run.
Operand lay_out_filters(Lowering& to, const Node& node, FilterLayout as) {
    const ValueId plain = node.inputs[1];
    Dispatch d;
    d.label = "Conv filters " + to[plain].text();
    d.kernel = as.kernel;
    d.constants = {as.invocations};
    as.parameters.outputs = word(outputs_of(to, node));
    as.parameters.channels = word(to[plain].dim[1]);
    as.parameters.taps = word(product(extents_of(to[plain])));
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
        to.add_first(std::move(d));  // before all else: nothing waits for it between two convolutions
    }
    return to.reads(filters, 16);
}

void lower_on_matrix_tiles(Lowering& to, const Node& node, const ConvParameters& p) {
    const MatrixTile tile = matrix_tile(to, node, p);
    const uint32_t whole = p.channels % (16 * tile.depth) == 0 ? 1 : 0;
    Dispatch d =
        product_of(to, node, "matrix tiles", kKernel_conv_matrix_f16, p, tile.outputs(), tiles_of(p, tile), tile.invocations,
                   {tile.tiles, tile.down, tile.rows, tile.columns, tile.across, p.kernel_w, tile.depth, whole, p.kernel_h});
    const int64_t groups = groups_of(node);
    const int64_t down = tile.tiles * tile.down;
    const int64_t slices = up(p.channels, 16 * tile.depth) * tile.depth;
    const int64_t blocks = up(p.outputs, tile.outputs());
    const int64_t tiles = groups * blocks * slices * taps_of(p) * down;
    d.operands[1] = lay_out_filters(to, node,
                                    {.kernel = kKernel_conv_matrix_filters,
                                     .invocations = 32,
                                     .rows = 16,
                                     .tiles = tiles,
                                     .workgroups = tiles,
                                     .parameters = {.down = word(down), .slices = word(slices), .blocks = word(blocks)}});
    to.add(std::move(d));
}

// A workgroup of conv_warpgroup makes 64 output channels of 8 x 64 pixels from 16 channels at a time, so many of which are in shared memory.
constexpr int64_t kOutputsOfWarpgroups = 64, kRowsOfWarpgroups = 8, kColumnsOfWarpgroups = 64, kDepthOfWarpgroups = 16;
constexpr uint32_t kWarpgroups = 384;  // invocations: a third of them fills shared memory, the others multiply

uint32_t stages_of_warpgroups(uint32_t kernel_h) { return kernel_h == 1 ? 12 : kernel_h == 3 ? 8 : 6; }

// Where a pixel is made of that pixel alone the map is rows of whatever length suits.
ConvParameters as_warpgroups_see(ConvParameters p) {
    if (!is_pointwise(p) || p.width % kColumnsOfWarpgroups != 0) return p;
    p.height = p.out_height = p.width / kColumnsOfWarpgroups;
    p.width = p.out_width = kColumnsOfWarpgroups;
    return p;
}

int64_t warpgroup_tiles(const ConvParameters& p) {
    return up(p.out_height, kRowsOfWarpgroups) * up(p.out_width, kColumnsOfWarpgroups) * up(p.outputs, kOutputsOfWarpgroups);
}

// What both kernels ask for, of maps that lie as they want them.
bool may_use_warpgroups(const Lowering& to, const Node& node, const ConvParameters& p) {
    const Value& w = to[node.inputs[1]];
    if (!to.can.warpgroups || is_deep(p) || !has_unit_steps(p) || to.plan.math == BP_MATH_STRICT) return false;
    if (to[node.inputs[0]].dtype != BP_F16 || w.dtype != BP_F16 || epilogue_function(node) != 0) return false;
    if (p.kernel_h != 1 && p.kernel_h != 3 && p.kernel_h != 5) return false;
    const int64_t groups = groups_of(node);
    // Tails of the filters are filled up; kernels count in 32 bits.
    if (up(w.dim[0] / groups, 64) * 64 * up(w.dim[1], 16) * 16 * groups * taps_of(p) >= INT32_MAX) return false;
    if (to.can.least_patches == 0) return true;
    constexpr int64_t kFewOutputs = 32;  // what fewer leave idle costs less than reading the map does
    const int64_t made = warpgroup_tiles(p) * kOutputsOfWarpgroups * kRowsOfWarpgroups * kColumnsOfWarpgroups;
    const int64_t wanted = pixels_of(p) * std::max<int64_t>(p.outputs, kFewOutputs);
    return 2 * made <= 5 * wanted && warpgroup_tiles(p) * to[node.output].dim[0] * groups >= to.can.units / 4;
}

bool suits_warpgroups(const Lowering& to, const Node& node, const ConvParameters& p) {
    constexpr uint32_t kMostShift = 2;  // from a pixel of the map to the result
    if (p.pad_left > kMostShift || p.kernel_w > p.pad_left + kMostShift + 1) return false;
    if (p.width % 8 != 0 || p.out_width % 8 != 0) return false;  // the device copies, and invocations store, whole eights
    return may_use_warpgroups(to, node, p);
}

// The same of a map in bundles.
bool suits_bundles(const Lowering& to, const Node& node, const ConvParameters& p, bool made) {
    if (p.kernel_w != p.kernel_h || p.groups != 1 || p.channels % 64 != 0) return false;
    return (made ? p.outputs % 64 == 0 : p.out_width % 8 == 0) && may_use_warpgroups(to, node, p);
}

// A map of planes in bundles.
ValueId in_bundles(Lowering& to, ValueId map) {
    const std::vector<int64_t> dim = to[map].dim;
    const int64_t pixels = dim[2] * dim[3];
    const ValueId made = to.plan.temporary(BP_F16, std::vector<int64_t>(dim));
    moves::add_copy(to, "Conv map " + to[map].text() + " in bundles", {dim[0], dim[1] / 64, 64, pixels},
                    {map, 0, {dim[1] * pixels, 64 * pixels, pixels, 1}}, {made, 0, {dim[1] * pixels, 64 * pixels, 1, 64}});
    return made;
}

Operand filters_of_warpgroups(Lowering& to, const Node& node, const ConvParameters& p) {
    const int64_t slices = up(p.channels, kDepthOfWarpgroups);
    const int64_t blocks = up(p.outputs, kOutputsOfWarpgroups);
    const int64_t made = groups_of(node) * blocks * slices * taps_of(p);
    return lay_out_filters(to, node,
                           {.kernel = kKernel_conv_warpgroup_filters,
                            .invocations = kLocal,
                            .rows = kOutputsOfWarpgroups,
                            .tiles = made,
                            .workgroups = made,
                            .parameters = {.down = p.kernel_h, .slices = word(slices), .blocks = word(blocks)}});
}

// Adds a dispatch of either kernel: what is there at once goes through all tiles.
void add_to_warpgroups(Lowering& to, Dispatch d, const ConvParameters& p) {
    d.groups[0] = std::min(word(warpgroup_tiles(p)), std::max(1U, to.can.units / d.groups[2]));
    d.groups[1] = 1;
    to.add(std::move(d));
}

void lower_on_warpgroups(Lowering& to, const Node& node, const ConvParameters& p) {
    Dispatch d = product_of(to, node, "matrix units of warpgroups", kKernel_conv_warpgroup_f16, p, kOutputsOfWarpgroups,
                            warpgroup_tiles(p), kWarpgroups,
                            {p.kernel_h, stages_of_warpgroups(p.kernel_h), to[node.output].bundled ? 1U : 0U});
    d.operands[1] = filters_of_warpgroups(to, node, p);
    add_to_warpgroups(to, std::move(d), p);
}

// conv_warpgroup_bundles: slices of pixels and of filters in shared memory.
struct BundleStages {
    uint32_t pixels, filters;
};
BundleStages stages_of_bundles(uint32_t kernel) {
    return kernel == 1 ? BundleStages{5, 8} : kernel == 3 ? BundleStages{3, 4} : BundleStages{2, 4};
}

void lower_on_bundles(Lowering& to, const Node& node, const ConvParameters& p) {
    ValueId first = node.inputs[0];
    ValueId second = first;
    if (to[first].in_parts) {
        const Node& joined = to.plan.nodes[to.readers.maker(first)];
        first = joined.inputs[0];
        second = joined.inputs[1];
    }
    const auto split = word(to[first].dim[1] / 64);
    const bool made = to[node.output].bundled;
    if (!to[first].bundled) first = second = in_bundles(to, first);
    const BundleStages stages = stages_of_bundles(p.kernel_h);
    Dispatch d = product_of(to, node, "matrix units of warpgroups, bundles", kKernel_conv_warpgroup_bundles_f16, p,
                            kOutputsOfWarpgroups, warpgroup_tiles(p), kWarpgroups,
                            {p.kernel_h, stages.pixels, made ? 1U : 0U, stages.filters, split});
    d.operands[0] = to.reads(first);
    d.operands[1] = filters_of_warpgroups(to, node, p);
    d.operands.insert(d.operands.end() - 1, to.reads(second));
    add_to_warpgroups(to, std::move(d), p);
}

// A map that lies so, or, where kernels are wanted wherever they are right, any.
bool goes_to_bundles(const Lowering& to, const Node& node, const ConvParameters& p) {
    if (to[node.inputs[0]].bundled) return true;
    return to.can.least_patches == 0 && !to[node.output].bundled && to[node.inputs[0]].dim.size() == 4 &&
           suits_bundles(to, node, p, false);
}

// Of a result, 8 x 32 pixels each.
int64_t patches_of(const ConvParameters& p) { return up(p.out_height, 8) * up(p.out_width, 32); }

bool suits_patches(const Lowering& to, const Node& node, const ConvParameters& p, uint32_t kernel) {
    const int64_t outputs = outputs_of(to, node);
    if (!to.can.patches || (kernel != 3 && kernel != 5)) return false;
    if (to.can.least_patches == 0) return true;
    return outputs > 32 &&
           patches_of(p) * to[node.output].dim[0] * groups_of(node) * up(outputs, 64) >= to.can.least_patches;
}

void lower_on_patches(Lowering& to, const Node& node, const ConvParameters& p, uint32_t kernel) {
    to.add(product_of(to, node, "patches",
                      variant(kKernel_conv_patch_f32, kKernel_conv_patch_f16, kKernel_conv_patch_f32_by_f16, to, node), p,
                      64, patches_of(p), 256, {0, 0, 0, 0, 0, kernel}));
}

// For devices where shared memory and barriers cost more than they save.
void lower_direct(Lowering& to, const Node& node, const ConvParameters& p) {
    to.add(product_of(to, node, "direct",
                      variant(kKernel_conv_direct_f32, kKernel_conv_direct_f16, kKernel_conv_direct_f32_by_f16, to, node), p,
                      8, up(pixels_of(p), 128), to.can.direct_invocations, {}));
}

// Sums this short leave most of a tile's depth idle (of one channel by 3x3, with a stride, over a large map). Where kernels are compiled with the
// module: on the others it was not measured.
bool suits_direct(const Lowering& to, const Node& node, const ConvParameters& p) {
    constexpr int64_t kShort = 16;
    if (!to.can.few_kernels || p.channels * taps_of(p) > kShort) return false;
    return to.can.least_patches == 0 ||
           up(pixels_of(p), 128) * up(p.outputs, 8) * to[node.output].dim[0] * groups_of(node) >= 4 * int64_t{to.can.units};
}

// Where kernels are compiled with the module: four of the tiles.
Tile tile_of(const Lowering& to, int64_t rows, int64_t columns, int64_t batch) {
    const Tile tile = choose_tile(to.can, rows, columns, batch);
    if (!to.can.few_kernels) return tile;
    if (tile.rows == 32) return {32, 32, 4, 4, 16};
    return tile.rows == 64 ? Tile{64, 64, 4, 4, 16} : tile;
}

void lower_on_tiles(Lowering& to, const Node& node, const ConvParameters& p, uint32_t kernel) {
    const Tile tile = tile_of(to, outputs_of(to, node), pixels_of(p), to[node.output].dim[0] * groups_of(node));
    const uint32_t unit_steps = has_unit_steps(p) && !to.can.software ? 1 : 0;
    to.add(product_of(to, node, "tiled", variant(kKernel_conv_f32, kKernel_conv_f16, kKernel_conv_f32_by_f16, to, node), p,
                      tile.rows, up(pixels_of(p), tile.columns), tile.invocations(),
                      {tile.rows, tile.columns, tile.down, tile.across, tile.depth, to.can.few_kernels ? 0U : kernel,
                       unit_steps, is_deep(p) ? 1U : 0U}));
}

void lower(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    if (lower_window(to, node)) return;
    if (has_channels_last(node)) return lower_depthwise_last(to, node);
    if (groups_of(node) > 1 && outputs_of(to, node) == 1 && to[node.inputs[1]].dim[1] == 1) return lower_depthwise(to, node);
    const auto p = geometry_of(to, node);
    const uint32_t kernel = unrolled_kernel(to, p);
    const auto seen = as_warpgroups_see(p);
    if (goes_to_bundles(to, node, seen)) return lower_on_bundles(to, node, seen);
    if (suits_warpgroups(to, node, seen)) return lower_on_warpgroups(to, node, seen);
    if (suits_matrix_tiles(to, node, p, kernel)) return lower_on_matrix_tiles(to, node, p);
    // Before conv_coop: what that loads for each tap costs it more than the matrix units save (H200, f16: 16.0 ms against 23.6).
    if (suits_patches(to, node, p, kernel)) return lower_on_patches(to, node, p, kernel);
    if (suits_matrices(to, node, p, p.channels * taps_of(p))) return lower_on_matrices(to, node, p, kernel);
    if (to.can.software || suits_direct(to, node, p)) return lower_direct(to, node, p);
    lower_on_tiles(to, node, p, kernel);
}

// As the kernel wants it; 0: phases differ.
uint32_t even_taps(const ConvParameters& p, bool deep) {
    const bool even = p.dilation_h == 1 && p.dilation_w == 1 && p.kernel_h % p.stride_h == 0 && p.kernel_w % p.stride_w == 0;
    const uint32_t rows = p.kernel_h / p.stride_h, columns = p.kernel_w / p.stride_w;
    return even && !deep && rows < 256 && columns < 256 ? 256 * rows + columns : 0;
}

// Of a stride of s every s-th pixel of the result along an axis meets the same taps: each such phase is a product of its own, in the batch.
void lower_transposed(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    const auto p = geometry_of(to, node);
    if (p.groups > 1 && p.outputs == 1 && p.channels == 1) return lower_depthwise(to, node);
    const int64_t phases = int64_t{1} * p.stride_d * p.stride_h * p.stride_w;
    const int64_t pixels = up(p.out_planes, p.stride_d) * up(p.out_height, p.stride_h) * up(p.out_width, p.stride_w);
    const int64_t batch = to[node.output].dim[0] * p.groups * phases;
    const bool deep = is_deep(p) || p.stride_d != 1;
    Dispatch d;
    if (suits_matrices(to, node, p, p.channels * taps_of(p) / phases)) {
        d = product_of(to, node, "matrix units", kKernel_conv_transpose_coop_f16, p, 64, up(pixels, 128), 128,
                       {0, 0, 0, 0, 0, 0, 0, deep ? 1U : 0U, even_taps(p, deep)});
    } else {
        const Tile tile = tile_of(to, p.outputs, pixels, batch);
        d = product_of(
            to, node, "tiled",
            variant(kKernel_conv_transpose_f32, kKernel_conv_transpose_f16, kKernel_conv_transpose_f32_by_f16, to, node), p,
            tile.rows, up(pixels, tile.columns), tile.invocations(),
            {tile.rows, tile.columns, tile.down, tile.across, tile.depth, 0, 0, deep ? 1U : 0U, even_taps(p, deep)});
    }
    d.groups[2] = word(batch);
    to.add(std::move(d));
}

Verdict check_transposed(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const Value& w = plan[node.inputs[1]];
    const auto how = node.as<backplane::ops::ConvTransposeAttributes>().filled(static_cast<uint32_t>(x.dim.size() - 2));
    if (w.dtype != BP_F32 && !is_half(w.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for weights " + w.text()};
    int64_t batch = x.dim[0] * how.group;
    for (const int64_t stride : how.strides) batch = stride > 65535 || batch > 65535 ? 65536 : batch * stride;
    if (batch > 65535) return {BP_WHY_LIMIT, node.text() + ": images times groups times strides are over 65535"};
    return {};
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const Value& w = plan[node.inputs[1]];
    if (w.dtype != BP_F32 && !is_half(w.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for weights " + w.text()};
    if (x.dim[0] * groups_of(node) > 65535) return {BP_WHY_LIMIT, node.text() + ": images times groups are over 65535"};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_conv, Types::computes, 1U << 1, check, lower},
                                {BP_OP_conv_transpose, Types::computes, 1U << 1, check_transposed, lower_transposed}};

}  // namespace

bool takes_bundles(const Lowering& to, const Node& node, bool made) {
    return suits_bundles(to, node, as_warpgroups_see(geometry_of(to, node)), made);
}

bool makes_bundles(const Lowering& to, const Node& node) {
    const auto p = as_warpgroups_see(geometry_of(to, node));
    return p.groups == 1 && p.outputs % 64 == 0 && suits_warpgroups(to, node, p);
}

const OpFamily ops_conv = {table, std::size(table)};

}  // namespace backplane::gpu::ops::conv
