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
// A map in bundles that is added comes through the ring of pixels as well, behind those of its tile; a result in
// bundles goes row by row to shared memory, and from there by the device. So invocations neither wait for memory nor exchange what they have.
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
#define ROW_BYTES (COLUMNS * LINE_BYTES)  // of a result in bundles, on its way
#define STAGED_BYTES (4u * ROW_BYTES)     // two rows of each four warps
// Of two rows and the lines between them.
UNITS_OF(136, NAMES_0 ", " NAMES_32 ", %64, %65, %66, %67", FLOATS_32(0) COMMA FLOATS_32(32) COMMA FLOATS_4(64), "%68", "%69", "%70", "%71", "%72", "%69", "%70", "%71", "%72", "%73", "%74")
static_assert(STAGES * BYTES_X + STAGED_BYTES + FILTER_STAGES * BYTES_W + 16u * (STAGES + FILTER_STAGES) + 1024u <= SHARED_BYTES, "instances.cmake");
static_assert(BYTES_X % 1024u == 0u, "the slices that follow begin where the exchange of eights does");
// Lines of 64 bytes, whose eights are exchanged as both want them.
WARPGROUP_FUNCTION U64 half_bundles_at(uint place) { return (U64)((place & 0x3ffffu) >> 4) | (U64)1 << 16 | (U64)(8u * LINE >> 4) << 32 | (U64)2 << 62; }
// Four warps, of those of the workgroup, wait for each other.
WARPGROUP_FUNCTION void four_warps_meet(uint own) {
    if (own == 0u) asm volatile("bar.sync 2, 128;" ::: "memory");
    else asm volatile("bar.sync 3, 128;" ::: "memory");
}
// Of sums of 4 rows of 64 pixels (`at` as in conv_sums.h) those of 16 pixels of row r, the i-th, in four 8 x 8 whose rows are pixels and whose columns
// are channels of a warp: of number m an invocation has pixels of a channel beside each other, the first of them at(g, e).
#define SUMS_OF_16(r, i, m) uint g = 2u * (r) + (i) / 2u, e = 4u * ((i) % 2u * 2u + (m) / 2u) + (m) % 2u * 2u;
// Adds a map of which both halves of a bundle are in slots of the ring.
template <typename At>
WARPGROUP_FUNCTION void add_bundles(const At &at, uint pixels, uint full, uint empty, uint own, Ring<STAGES> &ring) {
    uint matrix = LOCAL_INDEX % 32u / 8u, pixel = LOCAL_INDEX % 8u, warp = LOCAL_INDEX % 128u / 32u;
    Ring<STAGES> first = ring;
    ring.next();
    Ring<STAGES> mine = warp < 2u ? first : ring;
    uint line = own * 4u * PITCH + matrix / 2u * 8u + pixel, eight = warp % 2u * 2u + matrix % 2u;
    uint from = pixels + mine.slot * BYTES_X + line * LINE + ((eight ^ (line / 2u)) & 3u) * 16u;
    bar_wait(full + 8u * mine.slot, mine.turn);
    UNROLL for (uint r = 0u; r < 4u; ++r)
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            uint w[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(from + (r * PITCH + i * 16u) * LINE) : "memory");
            UNROLL for (uint m = 0u; m < 4u; ++m) {
                SUMS_OF_16(r, i, m)
                at(g, e) += single_of_bits(w[m] & 0xffffu);
                at(g, e + 1u) += single_of_bits(w[m] >> 16);
            }
        }
    four_warps_meet(own);
    if (LOCAL_INDEX % 128u == 0u) {
        bar_arrive(empty + 8u * first.slot);
        bar_arrive(empty + 8u * ring.slot);
    }
    ring.next();
}
// Stores them: each row to shared memory, its eights exchanged as the device wants them, where two rows before it have left. What is outside of the
// result the device leaves out.
template <typename At>
WARPGROUP_FUNCTION void store_bundles(const At &at, uint staged, uint own, const TensorMap &map, uint row, uint column, uint height, uint block) {
    uint matrix = LOCAL_INDEX % 32u / 8u, pixel = LOCAL_INDEX % 8u, warp = LOCAL_INDEX % 128u / 32u;
    uint line = EIGHT_OF_LINE(matrix / 2u * 8u + pixel, 2u * warp + matrix % 2u);
    bool stores = LOCAL_INDEX % 128u == 0u;
    UNROLL for (uint r = 0u; r < 4u; ++r) {
        uint to = staged + r % 2u * ROW_BYTES;
        if (stores) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        four_warps_meet(own);
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            uint w[4];
            UNROLL for (uint m = 0u; m < 4u; ++m) {
                SUMS_OF_16(r, i, m)
                w[m] = two_halves(at(g, e), at(g, e + 1u));
            }
            asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                         ::"r"(to + line + i * (16u * LINE_BYTES)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
        }
        written_for_units();
        four_warps_meet(own);
        if (stores && row + r < height)
            asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], [%5];"
                         ::"l"(&map), "r"(0), "r"(column), "r"(row + r), "r"(block), "r"(to) : "memory");
        if (stores) asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}
extern "C" __global__ void __launch_bounds__(LOCAL, 1) ENTRY_NAMED(INSTANCE)(
    PARAMETERS(Conv), const T *x, const uint4 *w, const T *bias, const T *residual0, const T *residual1, const T *x2, T *y,
    const __grid_constant__ TensorMap map_x, const __grid_constant__ TensorMap map_x2, const __grid_constant__ TensorMap map_first,
    const __grid_constant__ TensorMap map_second, const __grid_constant__ TensorMap map_y) {
    HEAD(Conv)
    extern __shared__ char shared[];
    uint pixels = (shared_place(shared) + 1023u) & ~1023u, staged = pixels + STAGES * BYTES_X, filters = staged + STAGED_BYTES;
    uint full = filters + FILTER_STAGES * BYTES_W, empty = full + 8u * STAGES, full_w = empty + 8u * STAGES, empty_w = full_w + 8u * FILTER_STAGES;
    if (LOCAL_INDEX == 0u) {
        make_ring(full, empty, STAGES, 2u);
        make_ring(full_w, empty_w, FILTER_STAGES, 2u);
        bars_are_made();
    }
    BARRIER;
    uint across = (P.out_width + COLUMNS - 1u) / COLUMNS, blocks = P.blocks;
    uint tiles = (P.out_height + ROWS - 1u) / ROWS * across * blocks;
    uint slices = P.channels / DEPTH, kinds = EPILOGUE_KINDS;
    bool bundles = BUNDLES != 0u;
    Ring<STAGES> ring;
    Ring<FILTER_STAGES> ring_w;
    if (LOCAL_INDEX < 128u) {
        fewer_registers<40>();
        if (LOCAL_INDEX == 0u) {
            auto ask = [&](const TensorMap &map, uint slice, int column, int row, uint block) {
                uint bar = full + 8u * ring.slot;
                bar_wait(empty + 8u * ring.slot, ring.turn ^ 1u);
                bar_expect(bar, BYTES_X);
                copy_box(pixels + ring.slot * BYTES_X, map, bar, (int)(slice % 2u * DEPTH), column, row, (int)block);
                ring.next();
            };
            for (uint number = blockIdx.x; number < tiles; number += gridDim.x) {
                int row = (int)(number / blocks / across * ROWS), column = (int)(number / blocks % across * COLUMNS);
                for (uint slice = 0u; slice < slices; ++slice) {
                    uint block = slice / 2u, of_first = SPLIT;
                    if (block < of_first) ask(map_x, slice, column - (int)P.pad_left, row - (int)P.pad_top, BATCH_INDEX * of_first + block);
                    else ask(map_x2, slice, column - (int)P.pad_left, row - (int)P.pad_top, BATCH_INDEX * (P.channels / 64u - of_first) + block - of_first);
                }
                if (!bundles) continue;
                UNROLL_STEPS for (uint step = 0u; step < EPILOGUE_STEPS; ++step) {
                    uint kind = (kinds >> (4u * step) & 15u) - 1u;
                    for (uint half = 0u; half < 2u; ++half) {
                        if (kind == EPILOGUE_ADD_FIRST) ask(map_first, half, column, row, BATCH_INDEX * blocks + number % blocks);
                        if (kind == EPILOGUE_ADD_SECOND) ask(map_second, half, column, row, BATCH_INDEX * blocks + number % blocks);
                    }
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
    Sums sums = sums_of(kinds, residual0, residual1, y);
    staged += own * (2u * ROW_BYTES);
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
        auto at = [&](uint g, uint e) -> float & { return d[g / 4u][g / 2u % 2u * (PITCH / 2u) + g % 2u * 16u + e]; };
        Corner corner = corner_at(sums, false, row, column, P.out_height, P.out_width);
        do_steps<8u>(sums, at, WORDS_FROM(CONV_EPILOGUE), 0u, [&](uint kind) {
            if (bundles) add_bundles(at, pixels, full, empty, own, ring);
            else UNROLL for (uint g = 0u; g < 8u; g += 4u) add_map<4u>(sums, corner, at, g, kind);
        });
        if (bundles) store_bundles(at, staged, own, map_y, row, column, P.out_height, BATCH_INDEX * blocks + number % blocks);
        else store_sums<8u>(sums, corner, at, 0u);
    }
    if (LOCAL_INDEX % 128u == 0u) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
