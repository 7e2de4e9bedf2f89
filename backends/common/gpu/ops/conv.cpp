// Convolution: depthwise, or a product of the filters and the columns of the input.
#include <algorithm>

#include "common/gpu/ops/table.hpp"
#include "common/gpu/ops/tiles.hpp"

namespace backplane::gpu::ops::conv {

namespace {

uint32_t variant(uint32_t f32, uint32_t f16, uint32_t mixed, const Lowering& to, const Node& node) {
    if (to[node.inputs[0]].dtype == BP_F16) return f16;
    return to[node.inputs[1]].dtype == BP_F16 ? mixed : f32;
}

// What every convolution is told: ConvParameters or ConvDepthwiseParameters.
template <class Record = ConvParameters>
Record geometry_of(const Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    const auto [strides, pads, dilations, groups] = node.as<backplane::ops::ConvAttributes>().filled(2);
    Record out{};
    out.outputs = word(w.dim[0] / groups);
    out.channels = word(w.dim[1]);
    out.groups = word(groups);
    out.height = word(x.dim[2]);
    out.width = word(x.dim[3]);
    out.out_height = word(y.dim[2]);
    out.out_width = word(y.dim[3]);
    out.kernel_h = word(w.dim[2]);
    out.kernel_w = word(w.dim[3]);
    out.stride_h = word(strides[0]);
    out.stride_w = word(strides[1]);
    out.pad_top = word(pads[0]);
    out.pad_left = word(pads[1]);
    out.dilation_h = word(dilations[0]);
    out.dilation_w = word(dilations[1]);
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

int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

int64_t groups_of(const Node& node) { return node.as<backplane::ops::ConvAttributes>().group; }
int64_t outputs_of(const Lowering& to, const Node& node) { return to[node.inputs[1]].dim[0] / groups_of(node); }
int64_t pixels_of(const Value& y) { return y.dim[2] * y.dim[3]; }

// A kernel that makes all output channels in blocks of `block` for each of `tiles` pieces of the map. Its constants: the size of the
// workgroup, the epilogue (2), then `more`.
Dispatch product_of(const Lowering& to, const Node& node, const char* kind, uint32_t kernel, ConvParameters parameters,
                    int64_t block, int64_t tiles, uint32_t invocations, std::initializer_list<uint32_t> more) {
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    parameters.blocks = word(up(outputs_of(to, node), block));
    Dispatch d;
    d.label = label_of(to, node, kind);
    d.kernel = kernel;
    d.constants = {invocations, epilogue_kinds(node), epilogue_function(node)};
    d.constants.insert(d.constants.end(), more);
    d.operands = operands_of(to, node);
    d.parameters = words_of(parameters);
    append_epilogue(d.parameters, node);
    d.work = 2.0 * static_cast<double>(y.elements() * w.dim[1] * w.dim[2] * w.dim[3]);
    to.spread(static_cast<uint64_t>(tiles) * parameters.blocks, d.groups);
    d.groups[2] = word(y.dim[0] * groups_of(node));
    return d;
}

void lower_depthwise(Lowering& to, const Node& node) {
    auto parameters = geometry_of<ConvDepthwiseParameters>(to, node);
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    parameters.elements = static_cast<uint32_t>(n);
    std::vector<uint32_t> words = words_of(parameters);
    append_epilogue(words, node);
    to.each(label_of(to, node, "depthwise"),
            variant(kKernel_conv_depthwise_f32, kKernel_conv_depthwise_f16, kKernel_conv_depthwise_f32_by_f16, to, node), n,
            operands_of(to, node), words, {epilogue_kinds(node), epilogue_function(node)});
}

// Strides and dilations of 1?
bool has_unit_steps(const ConvParameters& p) {
    return p.stride_h == 1 && p.stride_w == 1 && p.dilation_h == 1 && p.dilation_w == 1;
}

// Extent of the kernels that a variant of their own unrolls; 0: another.
uint32_t unrolled_kernel(const Lowering& to, const Node& node) {
    const Value& w = to[node.inputs[1]];
    const bool square = w.dim[2] == w.dim[3] && (w.dim[2] == 1 || w.dim[2] == 3 || w.dim[2] == 5);
    return square && has_unit_steps(geometry_of(to, node)) && !to.can.software ? word(w.dim[2]) : 0;
}

// Sums shorter than this are too short for the matrix units: loading costs more than it saves (H200: equal at 576, slower at 128).
constexpr int64_t kMatrixDepth = 512;

bool suits_matrices(const Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const int64_t depth = w.dim[1] * w.dim[2] * w.dim[3];
    return to.can.matrices && x.dtype == BP_F16 && to.plan.math != BP_MATH_STRICT && outputs_of(to, node) >= 16 &&
           (depth >= kMatrixDepth || to.can.least_patches == 0);
}

void lower_on_matrices(Lowering& to, const Node& node, uint32_t kernel) {
    to.add(product_of(to, node, "matrix units", kKernel_conv_coop_f16, geometry_of(to, node), 64,
                      up(pixels_of(to[node.output]), 128), 128, {0, 0, 0, 0, 0, kernel}));
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
MatrixTile matrix_tile(const Lowering& to, const Node& node, uint32_t kernel) {
    const bool many = to.can.matrix_sums >= 16;
    const int64_t outputs = outputs_of(to, node);
    if (kernel == 1) {
        constexpr int64_t kBusy = 128;  // workgroups of 64 x 256
        if (outputs <= 16) return {128, 1, 1, 1, 32, 4, 2};
        if (outputs <= 32) return {128, 2, 1, 1, 32, 4, 2};
        const bool few = up(pixels_of(to[node.output]), 256) * up(outputs, 64) < kBusy;
        const bool shallow = many && to[node.inputs[1]].dim[1] < 256;
        return few || shallow ? MatrixTile{128, 4, 1, 1, 16, 4, 2} : MatrixTile{256, 4, 1, 1, 32, 8, 1};
    }
    if (outputs <= 16) return {128, 1, 1, 4, 16, 2, 1};
    if (outputs <= 32) return many ? MatrixTile{128, 2, 1, 4, 16, 2, 1} : MatrixTile{256, 2, 1, 2, 16, 2, 1};
    if (kernel == 5) return {256, 2, 2, 4, 16, 2, 1};
    return many ? MatrixTile{128, 4, 1, 2, 32, 1, 1} : MatrixTile{256, 2, 2, 2, 16, 2, 1};
}

// Workgroups over the pixels of a result.
int64_t tiles_of(const Value& y, const MatrixTile& tile, uint32_t kernel) {
    return kernel == 1 ? up(y.dim[2] * y.dim[3], tile.width()) : up(y.dim[2], tile.height()) * up(y.dim[3], tile.width());
}

// With fewer workgroups the other kernels, which cut finer, are as fast (H200: a tenth as fast with more).
constexpr int64_t kFewestMatrixTiles = 4;

bool suits_matrix_tiles(const Lowering& to, const Node& node, uint32_t kernel) {
    const Value& x = to[node.inputs[0]];
    const Value& w = to[node.inputs[1]];
    const Value& y = to[node.output];
    if (!to.can.matrix_tiles || kernel == 0 || to.plan.math == BP_MATH_STRICT) return false;
    if (x.dtype != BP_F16 || w.dtype != BP_F16 || epilogue_function(node) != 0) return false;
    // A map is one row of pixels where nothing is beside a pixel.
    if (kernel == 1 && (x.dim[2] != y.dim[2] || x.dim[3] != y.dim[3] ||
                        node.as<backplane::ops::ConvAttributes>().filled(2).pads != backplane::ops::List{0, 0, 0, 0}))
        return false;
    const int64_t groups = groups_of(node);
    // Tails of the filters are filled up; kernels count in 32 bits.
    if (up(w.dim[0] / groups, 64) * 64 * up(w.dim[1], 32) * 32 * groups * kernel * kernel >= INT32_MAX) return false;
    if (to.can.least_patches == 0) return true;
    const MatrixTile tile = matrix_tile(to, node, kernel);
    return tiles_of(y, tile, kernel) * y.dim[0] * groups * up(w.dim[0] / groups, tile.outputs()) >= kFewestMatrixTiles;
}

// Tiles of 16 x 16 of the filters, in the order in which conv_matrix reads them: made once where no node makes the filters and no other
// reads them, by pack() of a weight, of a constant when the program is made; else at each run.
Operand lay_out_filters(Lowering& to, const Node& node, const MatrixTile& tile) {
    const ValueId plain = node.inputs[1];
    const std::vector<int64_t> dim = to[plain].dim;
    const int64_t groups = groups_of(node);
    const int64_t taps = dim[2] * dim[3];
    const int64_t down = tile.tiles * tile.down;
    const int64_t blocks = up(dim[0] / groups, tile.outputs());
    const int64_t slices = up(dim[1], 16 * tile.depth) * tile.depth;
    const int64_t tiles = groups * blocks * slices * taps * down;
    Dispatch d;
    d.label = "Conv filters " + to[plain].text();
    d.kernel = kKernel_conv_matrix_filters;
    d.constants = {32};
    d.parameters = words_of(ConvFiltersParameters{.outputs = word(dim[0] / groups),
                                                  .channels = word(dim[1]),
                                                  .taps = word(taps),
                                                  .down = word(down),
                                                  .slices = word(slices),
                                                  .blocks = word(blocks),
                                                  .tiles = word(tiles)});
    d.work = static_cast<double>(tiles) * 256;
    const uint64_t bytes = static_cast<uint64_t>(tiles) * 512;
    d.moved = bytes;
    to.spread(static_cast<uint64_t>(tiles), d.groups);
    const uint32_t role = to[plain].role;
    if (role == BP_ROLE_WEIGHT && to[plain].inside == kNone && to.readers.times(plain) == 1) {
        to.pack(plain, bytes, std::move(d), 16);
        return to.reads(plain, 16);
    }
    const ValueId filters = to.plan.temporary(BP_F16, {tiles, 16, 16});
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

void lower_on_matrix_tiles(Lowering& to, const Node& node, uint32_t kernel) {
    const MatrixTile tile = matrix_tile(to, node, kernel);
    ConvParameters parameters = geometry_of(to, node);
    if (kernel == 1) {  // one row of pixels
        parameters.height = parameters.out_height = 1;
        parameters.width = parameters.out_width = word(pixels_of(to[node.output]));
    }
    Dispatch d = product_of(to, node, "matrix tiles", kKernel_conv_matrix_f16, parameters, tile.outputs(),
                            tiles_of(to[node.output], tile, kernel), tile.invocations,
                            {tile.tiles, tile.down, tile.rows, tile.columns, tile.across, kernel, tile.depth,
                             to[node.inputs[1]].dim[1] % (16 * tile.depth) == 0 ? 1U : 0U});
    d.operands[1] = lay_out_filters(to, node, tile);
    to.add(std::move(d));
}

// Of a result, 8 x 32 pixels each.
int64_t patches_of(const Value& y) { return up(y.dim[2], 8) * up(y.dim[3], 32); }

bool suits_patches(const Lowering& to, const Node& node, uint32_t kernel) {
    const Value& y = to[node.output];
    const int64_t outputs = outputs_of(to, node);
    if (!to.can.patches || (kernel != 3 && kernel != 5)) return false;
    if (to.can.least_patches == 0) return true;
    return outputs > 32 && patches_of(y) * y.dim[0] * groups_of(node) * up(outputs, 64) >= to.can.least_patches;
}

void lower_on_patches(Lowering& to, const Node& node, uint32_t kernel) {
    to.add(product_of(to, node, "patches",
                      variant(kKernel_conv_patch_f32, kKernel_conv_patch_f16, kKernel_conv_patch_f32_by_f16, to, node),
                      geometry_of(to, node), 64, patches_of(to[node.output]), 256, {0, 0, 0, 0, 0, kernel}));
}

// For devices where shared memory and barriers cost more than they save.
void lower_direct(Lowering& to, const Node& node) {
    to.add(product_of(to, node, "direct",
                      variant(kKernel_conv_direct_f32, kKernel_conv_direct_f16, kKernel_conv_direct_f32_by_f16, to, node),
                      geometry_of(to, node), 8, up(pixels_of(to[node.output]), 128), to.can.direct_invocations, {}));
}

void lower_on_tiles(Lowering& to, const Node& node, uint32_t kernel) {
    const Value& y = to[node.output];
    const ConvParameters parameters = geometry_of(to, node);
    const Tile tile = choose_tile(to.can, outputs_of(to, node), pixels_of(y), y.dim[0] * groups_of(node));
    const uint32_t unit_steps = has_unit_steps(parameters) && !to.can.software ? 1 : 0;
    to.add(product_of(to, node, "tiled", variant(kKernel_conv_f32, kKernel_conv_f16, kKernel_conv_f32_by_f16, to, node),
                      parameters, tile.rows, up(pixels_of(y), tile.columns), tile.invocations(),
                      {tile.rows, tile.columns, tile.down, tile.across, tile.depth, kernel, unit_steps}));
}

void lower(Lowering& to, const Node& node) {
    const Value& w = to[node.inputs[1]];
    if (to[node.output].elements() == 0) return;
    if (groups_of(node) > 1 && outputs_of(to, node) == 1 && w.dim[1] == 1) return lower_depthwise(to, node);
    const uint32_t kernel = unrolled_kernel(to, node);
    if (suits_matrix_tiles(to, node, kernel)) return lower_on_matrix_tiles(to, node, kernel);
    // Before conv_coop: what that loads for each tap costs it more than the matrix units save (H200, f16: 16.0 ms against 23.6).
    if (suits_patches(to, node, kernel)) return lower_on_patches(to, node, kernel);
    if (suits_matrices(to, node)) return lower_on_matrices(to, node, kernel);
    if (to.can.software) return lower_direct(to, node);
    lower_on_tiles(to, node, kernel);
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const Value& w = plan[node.inputs[1]];
    if (x.dim.size() != 4 || w.dim.size() != 4)
        return {BP_WHY_SHAPE, node.text() + ": only two spatial dimensions are done"};
    if (w.dtype != BP_F32 && !is_half(w.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for weights " + w.text()};
    if (x.dim[0] * groups_of(node) > 65535) return {BP_WHY_LIMIT, node.text() + ": images times groups are over 65535"};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_conv, Types::computes, 1U << 1, check, lower}};

}  // namespace

const OpFamily ops_conv = {table, std::size(table)};

}  // namespace backplane::gpu::ops::conv
