// clang-format off
#include "common.h"
#include "warpgroup.h"
#include "epilogue.h"
#include "conv_sums.h"
// Convolution of halves with steps of 1 of maps in bundles (conv_sums.h), square filters, on the matrix units of compute capability 9.0, sums in float32:
// of four warps at a time 64 output channels by 4 rows of 64 pixels, of a workgroup 8 rows. Half a bundle of a pixel is a line of 64 bytes in shared
// memory, a tap beside another one line further on, one below it PITCH lines: each pixel is copied once for all taps. Two rows are one product, the lines
// between them make sums that nobody looks at. Two of the first four warps have the device fill a ring of STAGES slices of pixels, half a bundle each, and
// one of FILTER_STAGES of filters, a column of such a half each, as conv_warpgroup_filters lays them out. A workgroup goes on with further tiles of its image.
// Parameters as conv.kernel, with blocks of 64 output channels; images: the batch. SPLIT: so many blocks of channels are in x, the rest in x2.
CONSTANT(3, KERNEL, 3)
CONSTANT(4, STAGES, 3)
CONSTANT(6, FILTER_STAGES, 6)
CONSTANT(7, SPLIT, 0)
#define DEPTH 32u
#define ROWS 8u
#define COLUMNS 64u
#define PITCH (KERNEL == 1u ? COLUMNS : COLUMNS + 8u)
#define LINE 64u
#define BYTES_X ((ROWS + KERNEL - 1u) * PITCH * LINE)
#define TAP_BYTES 2048u  // of 16 channels
#define BYTES_W (2u * KERNEL * TAP_BYTES)
#define PIXELS (PITCH + COLUMNS)  // of two rows
// Of two rows and the lines between them.
UNITS_OF(136, NAMES_0 ", " NAMES_32 ", %64, %65, %66, %67", FLOATS_32(0) COMMA FLOATS_32(32) COMMA FLOATS_4(64), "%68", "%69", "%70", "%71", "%72", "%69", "%70", "%71", "%72", "%73", "%74")
static_assert(STAGES * BYTES_X + FILTER_STAGES * BYTES_W + 16u * (STAGES + FILTER_STAGES) + 1024u <= SHARED_BYTES, "instances.cmake");
static_assert(BYTES_X % 1024u == 0u, "the slices that follow begin where the exchange of eights does");
// Lines of 64 bytes, whose eights are exchanged as both want them.
WARPGROUP_FUNCTION U64 half_bundles_at(uint place) { return (U64)((place & 0x3ffffu) >> 4) | (U64)1 << 16 | (U64)(8u * LINE >> 4) << 32 | (U64)2 << 62; }
extern "C" __global__ void __launch_bounds__(LOCAL, 1) ENTRY_NAMED(INSTANCE)(
    PARAMETERS(Conv), const T *x, const uint4 *w, const T *bias, const T *residual0, const T *residual1, const T *x2, T *y,
    const __grid_constant__ TensorMap map_x, const __grid_constant__ TensorMap map_x2) {
    HEAD(Conv)
    extern __shared__ char shared[];
    uint pixels = (shared_place(shared) + 1023u) & ~1023u, filters = pixels + STAGES * BYTES_X;
    uint full = filters + FILTER_STAGES * BYTES_W, empty = full + 8u * STAGES, full_w = empty + 8u * STAGES, empty_w = full_w + 8u * FILTER_STAGES;
    if (LOCAL_INDEX == 0u) {
        make_ring(full, empty, STAGES, 2u);
        make_ring(full_w, empty_w, FILTER_STAGES, 2u);
        bars_are_made();
    }
    BARRIER;
    uint across = (P.out_width + COLUMNS - 1u) / COLUMNS, blocks = P.blocks;
    uint tiles = (P.out_height + ROWS - 1u) / ROWS * across * blocks;
    uint slices = P.channels / DEPTH;
    Ring<STAGES> ring;
    Ring<FILTER_STAGES> ring_w;
    if (LOCAL_INDEX < 128u) {
        fewer_registers<40>();
        if (LOCAL_INDEX == 0u) {
            for (uint number = blockIdx.x; number < tiles; number += gridDim.x) {
                int row = (int)(number / blocks / across * ROWS) - (int)P.pad_top, column = (int)(number / blocks % across * COLUMNS) - (int)P.pad_left;
                for (uint slice = 0u; slice < slices; ++slice) {
                    uint bar = full + 8u * ring.slot, block = slice / 2u, of_first = SPLIT;
                    bar_wait(empty + 8u * ring.slot, ring.turn ^ 1u);
                    bar_expect(bar, BYTES_X);
                    uint at = pixels + ring.slot * BYTES_X;
                    if (block < of_first) copy_box(at, map_x, bar, (int)(slice % 2u * DEPTH), column, row, (int)(BATCH_INDEX * of_first + block));
                    else copy_box(at, map_x2, bar, (int)(slice % 2u * DEPTH), column, row, (int)(BATCH_INDEX * (P.channels / 64u - of_first) + block - of_first));
                    ring.next();
                }
            }
        } else if (LOCAL_INDEX == 32u) {
            for (uint number = blockIdx.x; number < tiles; number += gridDim.x) {
                const char *from = (const char *)w + (U64)(number % blocks) * slices * (KERNEL * BYTES_W);
                for (uint slice = 0u; slice < slices; ++slice, from += KERNEL * BYTES_W)
                    for (uint tap = 0u; tap < KERNEL; ++tap) {
                        uint bar = full_w + 8u * ring_w.slot, at = filters + ring_w.slot * BYTES_W;
                        bar_wait(empty_w + 8u * ring_w.slot, ring_w.turn ^ 1u);
                        bar_expect(bar, BYTES_W);
                        copy_row(at, from + tap * (BYTES_W / 2u), bar, BYTES_W / 2u);
                        copy_row(at + BYTES_W / 2u, from + (KERNEL + tap) * (BYTES_W / 2u), bar, BYTES_W / 2u);
                        ring_w.next();
                    }
            }
        }
        return;
    }
    more_registers<232>();
    uint own = LOCAL_INDEX / 128u - 1u;
    Sums sums = sums_of(EPILOGUE_KINDS, residual0, residual1, y);
    for (uint number = blockIdx.x; number < tiles; number += gridDim.x) {
        float d[2][PIXELS / 2u];
        uint before = 0u, before_w = 0u;
        for (uint slice = 0u; slice < slices; ++slice) {
            bar_wait(full + 8u * ring.slot, ring.turn);
            uint lines = pixels + ring.slot * BYTES_X + own * (4u * PITCH * LINE);
            for (uint tap = 0u; tap < KERNEL; ++tap) {
                bar_wait(full_w + 8u * ring_w.slot, ring_w.turn);
                U64 left = filters_at(filters + ring_w.slot * BYTES_W), right = half_bundles_at(lines + tap * LINE);
                UNITS_BEGIN;
                UNROLL for (uint i = 0u; i < 2u; ++i)
                    UNROLL for (uint down = 0u; down < KERNEL; ++down)
                        UNROLL for (uint pair = 0u; pair < 2u; ++pair)
                            Units<PIXELS>::template multiply<0, 0>(d[pair], left + (i * KERNEL + down) * (TAP_BYTES / 16u),
                                                                   right + ((2u * pair + down) * PITCH * LINE + i * 32u) / 16u, slice + tap + i + down > 0u);
                UNITS_END;
                if (slice + tap > 0u) {
                    UNITS_WAIT(1);
                    if (LOCAL_INDEX % 128u == 0u) {
                        bar_arrive(empty_w + 8u * before_w);
                        if (tap == 0u) bar_arrive(empty + 8u * before);
                    }
                }
                before_w = ring_w.slot;
                ring_w.next();
            }
            before = ring.slot;
            ring.next();
        }
        uint tile = number / blocks;
        uint row = tile / across * ROWS + own * 4u, column = tile % across * COLUMNS;
        find_channels(sums, number % blocks, BATCH_INDEX, 0u, P.outputs, (U64)P.out_height * P.out_width, bias);
        UNITS_WAIT(0);
        if (LOCAL_INDEX % 128u == 0u) {
            bar_arrive(empty_w + 8u * before_w);
            bar_arrive(empty + 8u * before);
        }
        finish_sums<8u>(sums, [&](uint g, uint e) -> float & { return d[g / 4u][g / 2u % 2u * (PITCH / 2u) + g % 2u * 16u + e]; },
                    WORDS_FROM(CONV_EPILOGUE), 0u, row, column, P.out_height, P.out_width);
    }
}
