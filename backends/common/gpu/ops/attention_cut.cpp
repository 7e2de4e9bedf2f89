#include "common/gpu/ops/attention_cut.hpp"

#include <algorithm>

#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::attention {

namespace {

constexpr int64_t kFewRows = 4;
constexpr int64_t kManyBlocks = 120;  // of 64 rows, to keep the device busy

// Where kernels are compiled with the module: widths of 64, 128 and 256.
template <typename MakeCut>
Cut choose_among_few(const Sizes& s, bool many, const MakeCut& cut) {
    const uint32_t width = s.width <= 64 ? 64 : s.width <= 128 ? 128 : 256;
    return many && width < 256 ? cut(64, 64, 16, 2048 / width, width)
                               : cut(32, 64, s.relative ? 8 : 16, 1024 / width, width);
}

Cut choose_plain(const Abilities& can, const Sizes& s) {
    const uint32_t kernel = s.cached  ? (s.truth ? kKernel_attention_f32_bool_by_q8 : kKernel_attention_f32_by_q8)
                            : s.truth ? variant_for_type(kKernel_attention_f32_bool, s.dtype)
                                      : variant_for_type(kKernel_attention_f32, s.dtype);
    const auto cut = [&](uint32_t rows, uint32_t keys, uint32_t depth, uint32_t held, uint32_t width) {
        return Cut{kernel, rows / 4 * (keys / 4), rows, {rows, keys, depth, held, width, s.relative ? 1U : 0U}};
    };
    const bool large = !can.software && can.most_invocations >= 256 && can.shared_bytes >= 32768;  // all else takes 16 KiB
    const auto steps = static_cast<uint32_t>((s.width + 63) / 64);
    if (s.rows <= kFewRows) {
        const uint32_t wide = steps == 3 ? 256 : 64 * steps;  // halves of the invocations share keys
        return large && (s.keys > 256 || can.few_kernels) ? cut(4, 512, 8, 4096 / wide, wide)
                                                          : cut(4, 256, 8, 2048 / wide, wide);
    }
    const bool many = large && s.rows > 32 && (can.least_patches == 0 || s.pairs * up(s.rows, 64) >= kManyBlocks);
    if (can.few_kernels) return choose_among_few(s, many, cut);
    if (many) return cut(64, 64, 16, steps == 3 ? 8 : 32 / steps, 64 * steps);
    if (s.relative) return cut(32, 64, 8, steps == 1 ? 16U : steps == 2 ? 8U : 4U, 64 * steps);
    return cut(32, 64, 16, steps == 1 ? 16U : steps == 4 ? 4U : 8U, 64 * steps);
}

// attention_tiles, for many queries of f32: an invocation makes eight rows by eight keys of the scores where there is work for all, fewer
// where more invocations are what is wanted.
bool takes_tiles(const Abilities& can, const Sizes& s) {
    constexpr int64_t kMost = 128;
    constexpr uint32_t kShared = 49152;
    return !can.software && !can.few_kernels && can.most_invocations >= 256 && can.shared_bytes >= kShared &&
           s.dtype == BP_F32 && !s.cached && !s.relative && s.rows >= 16 && s.depth > 0 && s.depth % 4 == 0 &&
           s.width % 4 == 0 && s.width <= kMost;
}

Cut choose_tiles(const Abilities& can, const Sizes& s) {
    const int64_t blocks = s.pairs * up(s.rows, 64);
    const bool all = can.least_patches == 0;  // wherever it is right
    const bool wide = s.width > 64;
    const auto cut = [&](uint32_t rows, uint32_t down, uint32_t invocations) {
        return Cut{s.truth ? kKernel_attention_tiles_f32_bool : kKernel_attention_tiles_f32,
                   invocations,
                   rows,
                   {rows, down, 64, wide ? 16U : 32U, wide ? 128U : 64U}};
    };
    if (all ? s.rows > 64 : blocks >= 3 * int64_t{can.units}) return cut(64, 8, wide ? 128 : 64);
    if (all ? s.rows > 32 : blocks >= kManyBlocks) return cut(64, 4, 256);
    return cut(16, 2, 128);
}

constexpr int64_t kMostOfParts = 128;
constexpr uint32_t kSharedOfParts = 101376, kMuchSharedOfParts = 196608;

bool takes_parts(const Abilities& can, uint32_t math, const Sizes& s) {
    const int64_t most = can.shared_bytes < kSharedOfParts ? kMostOfParts / 2 : kMostOfParts;
    // With positions there is no kernel that takes little; those that are compiled with the module are for compute capability 9.0.
    const bool has_it = !s.relative || (can.shared_bytes >= kMuchSharedOfParts && (!can.few_kernels || can.warpgroups));
    return can.float_parts != 0 && math != BP_MATH_STRICT && s.dtype == BP_F32 && !s.cached && has_it && s.rows >= 16 &&
           s.depth > 0 && s.depth % 4 == 0 && s.width % 4 == 0 && s.depth <= most && s.width <= most;
}

// attention_parts, of f32 on the matrix units: eight warps make 16 or 32 rows each or, where that would leave the device idle, some of the keys of
// fewer rows; of sixteen rows attention_parts_few does. A multiprocessor has one such workgroup at a time where it has the shared memory of compute
// capability 9.0.
Cut choose_parts(const Abilities& can, const Sizes& s) {
    const bool wide = s.depth > 64 || s.width > 64;
    const bool little = can.shared_bytes < kSharedOfParts, much = can.shared_bytes >= kMuchSharedOfParts && !can.few_kernels;
    const bool all = can.least_patches == 0;  // tests: each cut
    const auto busy = [&](int64_t rows) {
        return all ? s.rows > rows / 2 : s.pairs * up(s.rows, rows) * 8 >= int64_t{can.units} * 7;
    };
    const auto padded = [&](int64_t n) {
        const int64_t by = std::max<int64_t>(16, can.float_parts);
        return word(up(wide && by >= 64 ? kMostOfParts : n, by) * by);
    };
    const auto cut = [&](uint32_t invocations, uint32_t rows, uint32_t keys, uint32_t tiles) {
        const uint32_t kernel = s.relative ? kKernel_attention_parts_relative_f32 : kKernel_attention_parts_f32;
        return Cut{kernel, invocations, rows, {rows, keys, padded(s.depth), padded(s.width), tiles}};
    };
    if (s.relative) return wide ? cut(256, 64, 16, 1) : busy(128) ? cut(256, 128, 32, 1) : cut(256, 64, 32, 1);
    if (!busy(32)) {
        constexpr int64_t kAtOnce = 128;  // keys that eight warps have by sixteens
        const uint32_t keys = wide || s.keys <= kAtOnce ? 16 : 32;
        return {kKernel_attention_parts_few_f32, 256, 16, {keys, padded(s.depth), word(up(padded(s.width), 32) * 32)}};
    }
    if (little) return busy(64) ? cut(128, 64, 16, 1) : cut(128, 32, 16, 1);
    if (wide && !much) return cut(128, 64, 16, 1);
    if (wide) return busy(256) ? cut(256, 256, 32, 2) : busy(128) ? cut(256, 128, 32, 1) : cut(256, 64, 32, 1);
    if (busy(256)) return cut(256, 256, 32, 2);
    if (busy(128)) return cut(256, 128, 64, 1);
    if (busy(64)) return cut(256, 64, much ? 64 : 32, 1);
    return cut(256, 32, much ? 32 : 16, 1);
}

}  // namespace

Cut choose(const Abilities& can, uint32_t math, const Sizes& s) {
    if (takes_parts(can, math, s)) return choose_parts(can, s);
    if (takes_tiles(can, s)) return choose_tiles(can, s);
    if (s.dtype != BP_F16 || math == BP_MATH_STRICT || s.depth == 0) return choose_plain(can, s);
    const auto sixteens = [](int64_t n) { return word(up(n, 16) * 16); };
    // attention_workgroup takes whole tiles.
    constexpr uint32_t kKeys = 64;
    if (can.workgroup_matrices && s.rows >= 32 && s.keys >= kKeys && s.depth % 8 == 0 && s.width % 8 == 0 &&
        s.depth <= kMostWidth && (!s.relative || s.distances >= 2 * kKeys)) {
        const bool narrow = s.depth <= 64 && s.width <= 64 && !s.relative;
        const bool wide = s.relative && (s.depth > 64 || s.width > 64);  // 64 rows would want more registers than there are
        const uint32_t down = narrow && s.pairs * (s.rows / 128) >= kManyBlocks ? 128 : s.rows >= 64 && !wide ? 64 : 32;
        return {kKernel_attention_workgroup_f16,
                kWorkgroupOfMatrices,
                down,
                {down, kKeys, sixteens(s.depth), sixteens(s.width), s.relative ? 1U : 0U,
                 s.depth % 16 != 0 || s.width % 16 != 0 ? 1U : 0U, down + kKeys}};
    }
    // attention_warpgroup: 64 rows of four warps, two of those and one that has operands copied.
    constexpr int64_t kMost = 128;
    const bool eights = s.depth % 8 == 0 && s.width % 8 == 0 && s.depth <= kMost && s.width <= kMost;
    const bool wide = s.depth > 64 || s.width > 64;
    if (can.warpgroups && eights && (s.rows >= 64 || can.least_patches == 0)) {
        const uint32_t padded = wide ? 128 : 64;
        return {s.truth ? kKernel_attention_warpgroup_f16_bool : kKernel_attention_warpgroup_f16,
                384,
                128,
                {128, s.relative ? 64U : 128U, padded, padded, s.relative ? 1U : 0U}};
    }
    // attention_matrix: 16 rows a warp, q and sums in registers, as many keys as fit into shared memory twice.
    if (can.attention_matrix && s.rows >= 16 && eights) {
        const bool little = can.shared_bytes < 65536;
        if (wide && s.relative && little) return choose_plain(can, s);
        const bool few = wide || (s.relative && little);
        const auto padded = [&](int64_t n) { return can.few_kernels ? (wide ? 128U : 64U) : sixteens(n); };
        return {kKernel_attention_matrix_f16,
                128,
                64,
                {64, few ? 32U : 64U, padded(s.depth), padded(s.width), s.relative ? 1U : 0U}};
    }
    return choose_plain(can, s);
}

}  // namespace backplane::gpu::ops::attention
