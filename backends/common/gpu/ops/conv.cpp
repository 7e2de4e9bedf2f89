// Convolution, transposed too: depthwise, or a product of the filters and the columns of the input.
#include "common/gpu/ops/conv_product.hpp"
#include "common/gpu/ops/conv_warpgroups.hpp"
#include "common/gpu/ops/conv_windows.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/gpu/ops/tiles.hpp"

namespace backplane::gpu::ops::conv {

namespace {

void lower_depthwise(Lowering& to, const Node& node) {
    auto parameters = geometry_of<ConvDepthwiseParameters>(to, node);
    const Value& y = to[node.output];
    const auto n = static_cast<uint64_t>(y.elements() / parameters.out_width * up(parameters.out_width, 4));  // fours
    parameters.elements = static_cast<uint32_t>(n);
    std::vector<uint32_t> words = words_of(parameters);
    append_epilogue(words, node);
    to.each(label_of(to, node, "depthwise"), variant(kKernel_conv_depthwise_f32, to, node), n, operands_of(to, node), words,
            {epilogue_kinds(node), epilogue_function(node), is_transposed(node) ? 1U : 0U});
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
    to.each(label_of(to, node, "depthwise, channels last"), variant(kKernel_conv_depthwise_last_f32, to, node), n,
            operands_of(to, node), words, {epilogue_kinds(node), epilogue_function(node)});
}

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
                      {0, 0, 0, 0, 0, kernel, has_unit_steps(p) ? 1U : 0U, is_deep(p) ? 1U : 0U}));
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
    to.add(product_of(to, node, "patches", variant(kKernel_conv_patch_f32, to, node), p, 64, patches_of(p), 256,
                      {0, 0, 0, 0, 0, kernel}));
}

// For devices where shared memory and barriers cost more than they save.
void lower_direct(Lowering& to, const Node& node, const ConvParameters& p) {
    to.add(product_of(to, node, "direct", variant(kKernel_conv_direct_f32, to, node), p, 8, up(pixels_of(p), 128),
                      to.can.direct_invocations, {0, 0, 0, 0, 0, 0, 0, is_deep(p) ? 1U : 0U}));
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
    to.add(product_of(to, node, "tiled", variant(kKernel_conv_f32, to, node), p, tile.rows, up(pixels_of(p), tile.columns),
                      tile.invocations(),
                      {tile.rows, tile.columns, tile.down, tile.across, tile.depth, to.can.few_kernels ? 0U : kernel,
                       unit_steps, is_deep(p) ? 1U : 0U}));
}

void lower(Lowering& to, const Node& node) {
    if (lower_window(to, node)) return;
    if (has_channels_last(node)) return lower_depthwise_last(to, node);
    if (groups_of(node) > 1 && outputs_of(to, node) == 1 && to[node.inputs[1]].dim[1] == 1) return lower_depthwise(to, node);
    const auto p = geometry_of(to, node);
    const uint32_t kernel = unrolled_kernel(to, p);
    if (lower_on_warpgroups(to, node, p)) return;
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
    } else if (to.can.software) {  // PoCL 5.0 made a wrong kernel of that on tiles
        d = product_of(to, node, "direct", variant(kKernel_conv_transpose_direct_f32, to, node), p, 8, up(pixels, 128),
                       to.can.direct_invocations, {0, 0, 0, 0, 0, 0, 0, deep ? 1U : 0U});
    } else {
        const Tile tile = tile_of(to, p.outputs, pixels, batch);
        d = product_of(
            to, node, "tiled", variant(kKernel_conv_transpose_f32, to, node), p, tile.rows, up(pixels, tile.columns),
            tile.invocations(),
            {tile.rows, tile.columns, tile.down, tile.across, tile.depth, 0, 0, deep ? 1U : 0U, even_taps(p, deep)});
    }
    d.groups[2] = word(batch);
    to.add(std::move(d));
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const Value& w = plan[node.inputs[1]];
    if (w.dtype != BP_F32 && !is_half(w.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for weights " + w.text()};
    if (!is_transposed(node))
        return x.dim[0] * groups_of(node) <= 65535
                   ? Verdict{}
                   : Verdict{BP_WHY_LIMIT, node.text() + ": images times groups are over 65535"};
    const auto how = node.as<backplane::ops::ConvTransposeAttributes>().filled(static_cast<uint32_t>(x.dim.size() - 2));
    int64_t batch = x.dim[0] * how.group;
    for (const int64_t stride : how.strides) batch = stride > 65535 || batch > 65535 ? 65536 : batch * stride;
    if (batch > 65535) return {BP_WHY_LIMIT, node.text() + ": images times groups times strides are over 65535"};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_conv, Types::computes, 1U << 1, check, lower},
                                {BP_OP_conv_transpose, Types::computes, 1U << 1, check, lower_transposed}};

}  // namespace

const OpFamily ops_conv = {table, std::size(table)};

}  // namespace backplane::gpu::ops::conv
