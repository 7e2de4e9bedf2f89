// Squares of as many vectors as a vector has lanes, turned in registers.
#pragma once

#include "kernels/simd.h"

namespace {

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_vectors(VF (&)[kLanes]) {}
#else
// Rows 4g to 4g + 3 of a square become, in each block of 128 bits, rows of columns.
HWY_INLINE void transpose_in_blocks(VF (&v)[kLanes]) {
    const hn::Repartition<uint64_t, F> d64;
#pragma GCC unroll 4
    for (int g = 0; g < kLanes; g += 4) {
        const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(f, plain(v[g]), plain(v[g + 1])));
        const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(f, plain(v[g]), plain(v[g + 1])));
        const auto cd_low = hn::BitCast(d64, hn::InterleaveLower(f, plain(v[g + 2]), plain(v[g + 3])));
        const auto cd_high = hn::BitCast(d64, hn::InterleaveUpper(f, plain(v[g + 2]), plain(v[g + 3])));
        v[g] = hn::BitCast(f, hn::InterleaveLower(d64, ab_low, cd_low));
        v[g + 1] = hn::BitCast(f, hn::InterleaveUpper(d64, ab_low, cd_low));
        v[g + 2] = hn::BitCast(f, hn::InterleaveLower(d64, ab_high, cd_high));
        v[g + 3] = hn::BitCast(f, hn::InterleaveUpper(d64, ab_high, cd_high));
    }
}

// The same with blocks for elements.
HWY_INLINE void transpose_blocks(VF (&v)[kLanes]) {
#if HWY_MAX_BYTES == 64
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const VF even_ab = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[4 + i]), v[i]);
        const VF odd_ab = hn::OddEvenBlocks(v[4 + i], hn::SwapAdjacentBlocks(v[i]));
        const VF even_cd = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[12 + i]), v[8 + i]);
        const VF odd_cd = hn::OddEvenBlocks(v[12 + i], hn::SwapAdjacentBlocks(v[8 + i]));
        v[i] = hn::ConcatLowerLower(f, even_cd, even_ab);
        v[4 + i] = hn::ConcatLowerLower(f, odd_cd, odd_ab);
        v[8 + i] = hn::ConcatUpperUpper(f, even_cd, even_ab);
        v[12 + i] = hn::ConcatUpperUpper(f, odd_cd, odd_ab);
    }
#elif HWY_MAX_BYTES == 32
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const VF low = hn::ConcatLowerLower(f, plain(v[4 + i]), plain(v[i]));
        v[4 + i] = hn::ConcatUpperUpper(f, plain(v[4 + i]), plain(v[i]));
        v[i] = low;
    }
#else
    (void)v;
#endif
}

// Lane c of vector r becomes lane r of vector c.
HWY_INLINE void transpose_vectors(VF (&v)[kLanes]) {
    transpose_in_blocks(v);
    transpose_blocks(v);
}
#endif

}  // namespace
