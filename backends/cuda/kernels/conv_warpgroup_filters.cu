// clang-format off
#include "common.h"
// The filters of a convolution as conv_warpgroup has them copied: of 64 output channels by 16 channels what filters_at (warpgroup.h) says; taps of a
// column fastest, then columns, slices, blocks of output channels, groups. An invocation makes eight channels of a row; what there
// is not is zero. P: output channels of a group, channels, taps, of which `down` in a column, slices, blocks, tiles of 64 x 16 in all.
KERNEL_2(conv_warpgroup_filters, ConvFilters, (READ, w, U16), (WRITE, y, uint4))
#define BITS(e) (row < P.outputs && channel + e < P.channels ? CAST(uint, RAW(w, first + (e) * P.taps)) : 0u)
#define TWO(e) (BITS(e) | BITS(e + 1u) << 16)
BEGIN
    uint i = GROUP_INDEX * LOCAL + LOCAL_INDEX;
    uint tile = i / 128u;
    if (tile >= P.tiles) return;
    uint across = P.taps / P.down;
    uint tap_y = tile % P.down;
    uint tap_x = tile / P.down % across;
    uint block = tile / P.taps;  // and its slice
    uint slice = block % P.slices;
    block /= P.slices;
    uint row = block % P.blocks * 64u + i % 64u;
    uint channel = slice * 16u + i / 64u % 2u * 8u;
    U64 first = ((U64)(block / P.blocks * P.outputs + row) * P.channels + channel) * P.taps + tap_y * across + tap_x;
    PUT_RAW(y, i, UINT4(TWO(0u), TWO(2u), TWO(4u), TWO(6u)));
END
