// Matrix product, batched; the right-hand side may be f16 or blocks, decoded as they are read.
#include <algorithm>
#include <bit>

#include "common/gpu/ops/blocks.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/gpu/ops/tiles.hpp"

namespace backplane::gpu::ops::matmul {

namespace {

constexpr int64_t kFewRows = 8;     // more make more of the tiles' kernel
constexpr int64_t kMostRows = 128;  // or go by so many at a time, each of which reads the weights anew, out of a cache
constexpr uint32_t kColumns = 4;    // of a workgroup of matvec

// How many matrices of the operand one step along each dimension of the batch is (numpy's broadcasting).
std::vector<int64_t> batch_steps(const Value& operand, const std::vector<int64_t>& batch) {
    Value matrices;
    matrices.dim.assign(operand.dim.begin(), operand.dim.end() - 2);
    return broadcast_strides(matrices, batch);
}

// Does it lie where kernels can take four elements at once?
bool begins_with_fours(const Lowering& to, ValueId id) {
    uint64_t at = 0;
    to.plan.storage_of(id, &at);
    return at % 16 == 0;
}

// Where kernels are there before they are asked for, one row by blocks is alone in whole fours.
uint32_t rows_at_once(const Lowering& to, int64_t rows, bool blocks, bool whole_fours) {
    if (blocks && to.can.few_kernels) return rows == 1 && whole_fours ? 1 : kFewRows;
    if (blocks && to.can.software) return rows == 1 ? 1 : kFewRows;
    return static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::min(rows, kFewRows))));
}

void write_to(uint32_t (&words)[BP_MAX_RANK], const std::vector<int64_t>& values) {
    for (size_t d = 0; d < BP_MAX_RANK; ++d) words[d] = d < values.size() ? word(values[d]) : 0;
}

// How matmul_matrix is cut: a warp of 32 makes down x across tiles of 16 x 16, `warps` of them stand above each other, the rest beside them.
// `stages` slices of this depth lie in shared memory.
struct MatrixTile {
    uint32_t invocations, down, across, warps, depth, stages;
    [[nodiscard]] uint32_t rows() const { return 16 * down * warps; }
    [[nodiscard]] uint32_t columns() const { return 16 * across * (invocations / 32 / warps); }
};

constexpr int64_t kManyMatrixTiles = 120;  // to keep the device busy

// A tile, and what was measured of it on an H100 in OpenCL: the time of an element of the result goes by its depth and has a part of its own. Alone on
// a multiprocessor a workgroup waits more.
struct TimedTile {
    MatrixTile tile;
    double by_depth, fixed, alone;
    // Of the multiprocessor that has most to do, in 10^-10 ms.
    [[nodiscard]] double time(const Abilities& can, int64_t rows, int64_t columns, int64_t depth, int64_t batch) const {
        const int64_t groups = batch * up(rows, tile.rows()) * up(columns, tile.columns());
        const double own = static_cast<double>(up(groups, can.units) * tile.rows() * tile.columns());
        return own * (by_depth * static_cast<double>(depth) + fixed) * (groups <= can.units ? alone : 1);
    }
};

// The fastest of those tried for each driver's compiler (docs/benchmarks.md).
MatrixTile matrix_tile(const Abilities& can, int64_t rows, int64_t columns, int64_t depth, int64_t batch) {
    const auto busy = [&](const MatrixTile& tile) {
        return batch * up(rows, tile.rows()) * up(columns, tile.columns()) >=
               (can.least_patches == 0 ? 2 : kManyMatrixTiles);
    };
    if (can.matrix_sums < 16) {
        constexpr MatrixTile kLarge{256, 2, 4, 4, 32, 2};
        return busy(kLarge) ? kLarge : MatrixTile{128, 2, 2, 2, 64, 2};
    }
    const bool much = can.shared_bytes >= 65536 && !can.few_kernels;
    const TimedTile tiles[] = {{much ? MatrixTile{128, 4, 4, 2, 64, 2} : MatrixTile{128, 4, 4, 2, 32, 3}, 6.6, 3850, 1.36},
                               {much ? MatrixTile{256, 4, 2, 2, 64, 2} : MatrixTile{256, 4, 2, 2, 32, 2}, 8.8, 1730, 1.0},
                               {{128, 4, 2, 2, 64, 2}, 9.0, 1120, 1.42},
                               {{128, 2, 2, 2, 64, much ? 4U : 3U}, 11.4, 1200, 1.16},
                               {{128, 2, 1, 2, 64, much ? 4U : 3U}, 19.8, 1200, 1.0}};
    if (can.least_patches == 0) return tiles[(rows + columns) / 8 % std::size(tiles)].tile;  // tests: each of them
    const auto before = [&](const TimedTile& x, const TimedTile& y) {
        return x.time(can, rows, columns, depth, batch) < y.time(can, rows, columns, depth, batch);
    };
    return std::min_element(std::begin(tiles), std::end(tiles), before)->tile;
}

// How matmul_workgroup is cut: tiles of the result, and how deep those of the operands are.
struct WorkgroupTile {
    uint32_t rows, columns, depth;
};

// The fastest of those tried on an H200 that fits in the result and divides the depth; no rows: none does.
WorkgroupTile workgroup_tile(const Abilities& can, int64_t rows, int64_t columns, int64_t depth, int64_t batch) {
    if (!can.workgroup_matrices || rows < 64 || columns < 64 || depth % 16 != 0) return {};
    const uint32_t deep = depth % 64 == 0 ? 64 : depth % 32 == 0 ? 32 : 16;
    const auto busy = [&](int64_t down, int64_t across) {
        return rows >= down && columns >= across && batch * up(rows, down) * up(columns, across) >= kManyMatrixTiles;
    };
    if (busy(128, 128)) return {128, 128, deep};
    return busy(128, 64) ? WorkgroupTile{128, 64, deep} : WorkgroupTile{64, 64, deep};
}

// How matmul_warpgroup is cut: a workgroup makes kRowsOfWarpgroups and so many columns at a time, and goes on with others; so many slices of this
// depth lie in shared memory. `parts`: of matmul_warpgroup_split, so many workgroups share the depth of a tile.
struct WarpgroupTile {
    uint32_t columns, stages, parts;
};
constexpr uint32_t kRowsOfWarpgroups = 128, kDepthOfWarpgroups = 64;
constexpr uint32_t kWarpgroups = 384;  // invocations: a third of them has operands copied, the others multiply

int64_t warpgroup_tiles(const WarpgroupTile& tile, int64_t rows, int64_t columns, int64_t batch) {
    return batch * up(rows, kRowsOfWarpgroups) * up(columns, tile.columns);
}

// A tile, and what was measured of it on an H100: microseconds by slice of the depth, and for the rest of it.
struct TimedWarpgroupTile {
    WarpgroupTile tile;
    double by_slice, fixed;
    [[nodiscard]] double time(const Abilities& can, int64_t rows, int64_t columns, int64_t depth, int64_t batch) const {
        const auto rounds = static_cast<double>(up(tile.parts * warpgroup_tiles(tile, rows, columns, batch), can.units));
        return rounds * (by_slice * static_cast<double>(up(up(depth, kDepthOfWarpgroups), tile.parts)) + fixed);
    }
    // Each workgroup of a cluster has a slice, and all clusters are there at once: those of an H100 find room on 120 of its 132 units, 15 of eight
    // workgroups or 30 of four, and one more doubled the time; 66 of two. Of tiles of 64 columns so many were no gain.
    [[nodiscard]] bool suits(const Abilities& can, int64_t rows, int64_t columns, int64_t depth, int64_t batch) const {
        if (tile.parts == 1) return true;
        if (!can.warpgroups) return false;
        const int64_t workgroups = tile.parts * warpgroup_tiles(tile, rows, columns, batch);
        const bool at_once = workgroups <= can.units - (tile.columns == 64 ? can.units / 11 : 0);
        return up(depth, kDepthOfWarpgroups) >= tile.parts && (can.least_patches == 0 || at_once);
    }
};

// The fastest of those tried; no columns: it is for matmul_matrix.
WarpgroupTile warpgroup_tile(const Abilities& can, int64_t rows, int64_t columns, int64_t depth, int64_t batch) {
    constexpr TimedWarpgroupTile tiles[] = {{{256, 4, 1}, 0.62, 5.0}, {{128, 6, 1}, 0.34, 3.0}, {{64, 8, 1}, 0.22, 2.8},
                                            {{64, 6, 2}, 0.22, 4.6},  {{64, 6, 4}, 0.27, 4.8},  {{64, 6, 8}, 0.30, 5.3},
                                            {{128, 5, 2}, 0.35, 5.0}};
    if ((!can.warpgroups && !can.warpgroup_products) || depth == 0) return {};
    std::vector<TimedWarpgroupTile> suit;
    for (const TimedWarpgroupTile& tile : tiles)
        if (tile.suits(can, rows, columns, depth, batch)) suit.push_back(tile);
    if (can.least_patches == 0) return suit[(rows + columns) / 8 % suit.size()].tile;  // tests: each of them
    if (rows < 64) return {};
    const auto before = [&](const TimedWarpgroupTile& x, const TimedWarpgroupTile& y) {
        return x.time(can, rows, columns, depth, batch) < y.time(can, rows, columns, depth, batch);
    };
    return std::min_element(suit.begin(), suit.end(), before)->tile;
}

// Halves by halves, rows of memory of whole eights.
bool suits_matrix_units(const Lowering& to, const Node& node, int64_t rows, int64_t columns, int64_t depth) {
    const auto [transpose_a, transpose_b] = node.as<backplane::ops::MatMulAttributes>();
    if (!to.can.matrix_tiles || to.plan.math == BP_MATH_STRICT) return false;
    if (to[node.inputs[0]].dtype != BP_F16 || to[node.inputs[1]].dtype != BP_F16) return false;
    if ((transpose_a ? rows : depth) % 8 != 0 || (transpose_b ? depth : columns) % 8 != 0) return false;
    return to.can.least_patches == 0 || (rows >= 16 && columns >= 32 && depth >= 32);
}

// How matmul_parts is cut: a warp makes `down` tiles of 32 x 32, `warps` of them stand above each other, the rest beside them. Slices of 32 of the
// depth, `stages` of them, lie in shared memory.
struct PartsTile {
    uint32_t invocations, down, warps, stages;
    [[nodiscard]] uint32_t rows() const { return 32 * down * warps; }
    [[nodiscard]] uint32_t columns() const { return invocations / warps; }
};

// The fastest of those tried (docs/benchmarks.md) of floats by floats whose rows of memory are of whole fours; no invocations: it is for `matmul`.
PartsTile parts_tile(const Lowering& to, const Node& node, int64_t rows, int64_t columns, int64_t depth, int64_t batch) {
    const auto [transpose_a, transpose_b] = node.as<backplane::ops::MatMulAttributes>();
    if (to.can.float_parts == 0 || to.plan.math == BP_MATH_STRICT) return {};
    if (to[node.inputs[0]].dtype != BP_F32 || to[node.inputs[1]].dtype != BP_F32) return {};
    if ((transpose_a ? rows : depth) % 4 != 0 || (transpose_b ? depth : columns) % 4 != 0) return {};
    if (to.can.few_kernels && transpose_a && transpose_b) return {};
    const bool tests = to.can.least_patches == 0;
    if (!tests && (rows < 32 || columns < 32 || depth < 32)) return {};
    constexpr PartsTile larger{128, 2, 2, 2}, smaller{128, 1, 2, 3};
    const bool both = !to.can.few_kernels;
    if (tests) return both && (rows + columns) / 8 % 2 != 0 ? smaller : larger;  // each of them
    const auto groups = [&](const PartsTile& t) { return batch * up(rows, t.rows()) * up(columns, t.columns()); };
    if (groups(larger) >= kManyMatrixTiles) return larger;
    // Fewer leave more of the device idle than smaller tiles do.
    return both && groups(smaller) >= kManyMatrixTiles / 2 ? smaller : PartsTile{};
}

// How matvec_blocks is cut: lanes of a workgroup, one for each 32 elements of a column; rows. Where kernels are built slowly as few kinds as can be.
uint32_t lanes_for(const Abilities& can, int64_t depth) {
    if (can.software) return 32;
    if (can.few_kernels) return kLocal;
    return std::clamp(std::bit_ceil(static_cast<uint32_t>(4 * up(depth, kSpan))), 32U, kLocal);
}

// Do rows go by eights to matvec? Where tiles of the result would leave most of the device without work: 16 rows of a recurrent network's weights,
// 640 by 2,560, took 55 us in 40 tiles.
bool suits_eights(const Abilities& can, int64_t rows, int64_t columns, int64_t batch) {
    const Tile tile = choose_tile(can, rows, columns, batch);
    return !can.software && rows <= kMostRows && batch * up(rows, tile.rows) * up(columns, tile.columns) <= can.units;
}

void lower(Lowering& to, const Node& node) {
    const bool blocks = is_block(to[node.inputs[1]].dtype);
    // It may add values: what is taken by reference comes after.
    const ValueId right = blocks ? planes_of(to, node.inputs[1]) : node.inputs[1];
    const Value& a = to[node.inputs[0]];
    const Value& b = to[node.inputs[1]];
    const std::vector<int64_t> out = to[node.output].dim;
    const auto [transpose_a, transpose_b] = node.as<backplane::ops::MatMulAttributes>();
    const int64_t rows = out[out.size() - 2];
    const int64_t columns = out.back();
    const int64_t depth = a.dim[a.dim.size() - (transpose_a ? 2 : 1)];
    const int64_t batch = to[node.output].elements() / (rows * columns);
    const bool along = (blocks || depth >= kLocal) && transpose_b && (!transpose_a || rows == 1);
    const bool matrices = !(along && rows <= kFewRows) && suits_matrix_units(to, node, rows, columns, depth);
    const bool few = along && (rows <= kFewRows || (!blocks && !matrices && suits_eights(to.can, rows, columns, batch)));
    const MatrixTile units = matrices ? matrix_tile(to.can, rows, columns, depth, batch) : MatrixTile{};
    const WorkgroupTile whole = matrices ? workgroup_tile(to.can, rows, columns, depth, batch) : WorkgroupTile{};
    const WarpgroupTile group = matrices ? warpgroup_tile(to.can, rows, columns, depth, batch) : WarpgroupTile{};
    const PartsTile parts = few ? PartsTile{} : parts_tile(to, node, rows, columns, depth, batch);
    const bool whole_fours = blocks && !to.can.software && depth % kSpan == 0 && begins_with_fours(to, node.inputs[0]);
    const Tile tile = few                      ? Tile{rows_at_once(to, rows, blocks, whole_fours), kColumns, 1, 1, 1}
                      : whole.rows != 0        ? Tile{whole.rows, whole.columns, 1, 1, 1}
                      : parts.invocations != 0 ? Tile{parts.rows(), parts.columns(), 1, 1, 1}
                      : matrices               ? Tile{units.rows(), units.columns(), 1, 1, 1}
                                               : choose_tile(to.can, rows, columns, batch);
    const auto down = static_cast<uint32_t>(up(rows, tile.rows));
    const auto across = static_cast<uint64_t>(up(columns, tile.columns));
    const int64_t tiles = group.columns != 0 ? warpgroup_tiles(group, rows, columns, batch) : 0;
    MatMulParameters parameters{.rows = word(rows),
                                .columns = word(columns),
                                .depth = word(depth),
                                .blocks = group.columns != 0 ? word(tiles) : down,
                                .scales = blocks ? word(spans_of(b)) : 0,
                                .batch_rank = static_cast<uint32_t>(out.size() - 2)};
    const std::vector<int64_t> dims(out.begin(), out.end() - 2);  // of the batch
    write_to(parameters.sizes, dims);
    write_to(parameters.steps_a, batch_steps(a, dims));
    write_to(parameters.steps_b, batch_steps(b, dims));
    Dispatch d;
    d.label = "MatMul " + a.text() + " by " + b.text() + epilogue_text(node);
    d.kernel = whole.rows != 0 ? kKernel_matmul_workgroup_f16
               : matrices      ? kKernel_matmul_matrix_f16
               : blocks        ? (few ? kKernel_matvec_f32_by_blocks : kKernel_matmul_f32_by_blocks)
                               : variant(few ? kKernel_matvec_f32 : kKernel_matmul_f32, to, node);
    if (group.columns != 0) {
        d.kernel = kKernel_matmul_warpgroup_f16;
        d.label += ", matrix units of warpgroups";
        d.constants = {kWarpgroups,  epilogue_kinds(node),  epilogue_function(node), group.columns,
                       group.stages, transpose_a ? 1U : 0U, transpose_b ? 1U : 0U};
        if (group.parts > 1) {
            d.kernel = kKernel_matmul_warpgroup_split_f16;
            d.label += " that share the depth";
            d.constants.push_back(group.parts);
        }
    } else if (whole.rows != 0) {
        d.label += ", matrices of a workgroup";
        d.constants = {kWorkgroupOfMatrices, epilogue_kinds(node), epilogue_function(node), whole.rows,
                       whole.columns,        whole.depth,          transpose_a ? 1U : 0U,   transpose_b ? 1U : 0U};
    } else if (matrices) {
        d.label += ", matrix units";
        d.constants = {units.invocations,    epilogue_kinds(node), epilogue_function(node),
                       units.down,           units.across,         units.warps,
                       units.depth,          units.stages,         transpose_a ? 1U : 0U,
                       transpose_b ? 1U : 0U};
    } else if (parts.invocations != 0) {
        d.kernel = kKernel_matmul_parts_f32;
        d.label += ", parts on matrix units";
        d.constants = {parts.invocations, epilogue_kinds(node),  epilogue_function(node), parts.down, 1U, parts.warps, 32U,
                       parts.stages,      transpose_a ? 1U : 0U, transpose_b ? 1U : 0U};
    } else if (few && blocks) {
        d.constants = {lanes_for(to.can, depth), epilogue_kinds(node), epilogue_function(node), tile.rows, b.dtype,
                       whole_fours ? 0U : 1U};
    } else if (few) {
        d.constants = {kLocal, epilogue_kinds(node), epilogue_function(node), tile.rows, to.can.software ? 0U : 1U};
    } else {
        d.constants = {tile.invocations(),
                       epilogue_kinds(node),
                       epilogue_function(node),
                       tile.rows,
                       tile.columns,
                       tile.down,
                       tile.across,
                       tile.depth,
                       transpose_a ? 1U : 0U,
                       blocks        ? b.dtype
                       : transpose_b ? 1U
                                     : 0U};
    }
    d.operands = {to.reads(node.inputs[0]), blocks ? to.reads(right, 4) : to.reads(right)};
    append_epilogue_operands(to, d.operands, node, node.inputs[0]);
    d.operands.push_back(to.writes(node.output));
    if (blocks) d.operands.push_back(to.reads(right, 2));
    d.parameters = words_of(parameters);
    append_epilogue(d.parameters, node);
    d.work = 2.0 * static_cast<double>(to[node.output].elements() * depth);
    if (group.parts > 1) {
        d.groups[0] = word(tiles) * group.parts;
    } else if (group.columns != 0) {  // what is there at once goes through all tiles
        d.groups[0] = std::min(word(tiles), to.can.units);
    } else {
        to.spread(across * down, d.groups);
        d.groups[2] = static_cast<uint32_t>(batch);
    }
    to.add(std::move(d));
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& a = plan[node.inputs[0]];
    const Value& b = plan[node.inputs[1]];
    const Value& y = plan[node.output];
    if (a.dim.size() < 2 || b.dim.size() < 2) return {BP_WHY_SHAPE, node.text() + ": operands of rank below 2"};
    if (b.dtype != BP_F32 && !is_half(b.dtype) && !is_block(b.dtype))
        return {BP_WHY_DTYPE, node.text() + " is not done for a right-hand side " + b.text()};
    if (is_block(b.dtype) && !node.as<backplane::ops::MatMulAttributes>().transpose_b)
        return {BP_WHY_ATTRIBUTE, node.text() + ": a right-hand side in blocks needs transpose_b"};
    if (y.elements() != 0 && y.elements() / (y.dim[y.dim.size() - 2] * y.dim.back()) > 65535)
        return {BP_WHY_LIMIT, node.text() + ": over 65535 matrices at once"};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_matmul, Types::computes, 1U << 1, check, lower}};

}  // namespace

const OpFamily ops_matmul = {table, std::size(table)};

}  // namespace backplane::gpu::ops::matmul
