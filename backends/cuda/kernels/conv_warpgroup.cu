// clang-format off
#include "common.h"
#include "warpgroup.h"
#include "epilogue.h"
#include "conv_sums.h"
// Convolution of halves with steps of 1, maps and results of rows of whole eights, on the matrix units of compute capability 9.0, sums in float32: of
// four warps at a time 64 output channels by 4 x 64 pixels, of a workgroup 8 x 64. Pixels stand in lines of shared memory as they do in the map, so that
// a tap above or below is some lines further on, of the same copy; a tap beside it would be no whole eight, and is a copy of its own. So a slice is
// DEPTH channels of the rows that all taps of one column of the filters see, and those filters, as conv_warpgroup_filters lays them out. The first four
// warps fill a ring of STAGES slices: of filters of one column the device copies (which takes whole eights alone); of others they load a map once, shift
// it, and store it for each column. What is outside of the map is zero. A workgroup goes on with further tiles of its image, whose slices are on their
// way while it finishes one. Parameters as conv.kernel, with blocks of 64 output channels; images and groups: the batch. Columns of filters are at most
// MOST_SHIFT pixels from their result.
CONSTANT(3, KERNEL_H, 3)
CONSTANT(4, STAGES, 8)
#define DEPTH 16u
#define MOST_SHIFT 2
#define ROWS 8u
#define COLUMNS 64u
#define LINES (ROWS + KERNEL_H - 1u)
#define ROW_BYTES (DEPTH * LINE_BYTES)
#define BYTES_X (LINES * ROW_BYTES)
#define BYTES_W (KERNEL_H * 2048u)
#define STAGE_BYTES (BYTES_X + BYTES_W)
#define PIXELS 256u  // of four warps
static_assert(STAGES * (STAGE_BYTES + 16u) + 1024u <= SHARED_BYTES && STAGE_BYTES % 1024u == 0u, "instances.cmake");
// An invocation of the four warps that fill has eight pixels of a channel in each of the LINES rows of a slice, and two of those beside them: the two
// before in the first of eight invocations, the two after in the last. What is not there is loaded from the beginning of the map and stored as zero:
// a load that only some do would wait for the one before.
struct Held { uint4 own; uint beside; };
// Where those of a slice are: the pixel in the first row, whether there or not, and ones for the rows which are there.
struct Place { const ushort *first; uint rows, rows_beside; };
WARPGROUP_FUNCTION Place place_of(const F16 *map, uint channel, int row, uint column, uint channels, int height, uint width) {
    uint eight = LOCAL_INDEX % 8u, own = channel + LOCAL_INDEX / 8u, x = column + eight * 8u;
    uint above = row < 0 ? (uint)min(-row, 31) : 0u, below = (uint)clamp(height - row, 0, (int)LINES);
    uint rows = own < channels ? ((1u << below) - 1u) & ~((1u << above) - 1u) : 0u;
    uint x_beside = eight == 0u ? x - 2u : x + 8u;  // what is before the first wraps, and is not there
    bool has_beside = (eight == 0u || eight == 7u) && x_beside < width;
    return Place{(const ushort *)map + ((long long)((int)own * height + row) * width + x), x < width ? rows : 0u, has_beside ? rows : 0u};
}
WARPGROUP_FUNCTION void load_row(Held &held, const Place &place, const F16 *map, uint i, uint width) {
    const ushort *line = place.first + i * width;
    const ushort *own = place.rows >> i & 1u ? line : (const ushort *)map;
    const ushort *beside = place.rows_beside >> i & 1u ? line + (LOCAL_INDEX % 8u == 0u ? -2 : 8) : (const ushort *)map;
    held.own = *(const uint4 *)own;
    held.beside = *(const uint *)beside;
}
// Stores what is `shift` pixels further on; after the last shift of a slice a row is asked for of the next.
WARPGROUP_FUNCTION void store_held(uint to, Held (&held)[LINES], uint rows, uint rows_beside, int shift, bool last, const Place &next, const F16 *map, uint width) {
    uint eight = LOCAL_INDEX % 8u;
    to += EIGHT_OF_LINE(LOCAL_INDEX / 8u, eight);
    UNROLL for (uint i = 0u; i < LINES; ++i) {
        uint ones = rows >> i & 1u ? 0xffffffffu : 0u;
        uint4 w = make_uint4(held[i].own.x & ones, held[i].own.y & ones, held[i].own.z & ones, held[i].own.w & ones);
        uint beside = rows_beside >> i & 1u ? held[i].beside : 0u;
        uint before = __shfl_up_sync(0xffffffffu, w.w, 1), after = __shfl_down_sync(0xffffffffu, w.x, 1);
        if (eight == 0u) before = beside;
        if (eight == 7u) after = beside;
        if (shift == -2) w = make_uint4(before, w.x, w.y, w.z);
        else if (shift == -1) w = make_uint4(__funnelshift_l(before, w.x, 16), __funnelshift_l(w.x, w.y, 16), __funnelshift_l(w.y, w.z, 16), __funnelshift_l(w.z, w.w, 16));
        else if (shift == 1) w = make_uint4(__funnelshift_r(w.x, w.y, 16), __funnelshift_r(w.y, w.z, 16), __funnelshift_r(w.z, w.w, 16), __funnelshift_r(w.w, after, 16));
        else if (shift == 2) w = make_uint4(w.y, w.z, w.w, after);
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + i * ROW_BYTES), "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w) : "memory");
        if (last) load_row(held[i], next, map, i, width);
    }
}
// Pixels from `column` on of an operand that begins at no multiple of 16 bytes, one by one.
WARPGROUP_FUNCTION void copy_pixels(uint to, const F16 *map, uint channel, int row, int column, uint channels, int height, int width) {
    for (uint i = LOCAL_INDEX; i < LINES * DEPTH * 8u; i += 128u) {
        uint line = i / 8u, own = channel + line % DEPTH;
        int y = row + (int)(line / DEPTH), x = column + (int)(i % 8u * 8u);
        uint w[4] = {0u, 0u, 0u, 0u};
        if (own < channels && y >= 0 && y < height) {
            const ushort *from = (const ushort *)map + ((U64)own * (uint)height + (uint)y) * (uint)width;
            UNROLL for (int j = 0; j < 8; ++j)
                if (x + j >= 0 && x + j < width) w[j / 2] |= (uint)from[x + j] << (j % 2 * 16);
        }
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + EIGHT_OF_LINE(line, i % 8u)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    }
}
extern "C" __global__ void __launch_bounds__(LOCAL, 1) ENTRY_NAMED(INSTANCE)(
    PARAMETERS(Conv), const T *x, const uint4 *w, const T *bias, const T *residual0, const T *residual1, T *y, const __grid_constant__ TensorMap map_x) {
    HEAD(Conv)
    extern __shared__ char shared[];
    uint slots = (shared_place(shared) + 1023u) & ~1023u;
    uint full = slots + STAGES * STAGE_BYTES;
    uint empty = full + 8u * STAGES;
    if (LOCAL_INDEX == 0u) {
        make_ring(full, empty, STAGES, 2u);
        bars_are_made();
    }
    BARRIER;
    uint across = (P.out_width + COLUMNS - 1u) / COLUMNS, blocks = P.blocks;
    uint tiles = (P.out_height + ROWS - 1u) / ROWS * across * blocks;
    uint slices = (P.channels + DEPTH - 1u) / DEPTH, taps = P.kernel_w;
    uint group = BATCH_INDEX % P.groups;
    Ring<STAGES> ring;
    if (LOCAL_INDEX < 128u) {
        fewer_registers<120>();
        bool at_once = ALIGNED_8(x, 0);
        const T *map = x + (U64)BATCH_INDEX * P.channels * P.height * P.width;
        auto row_of = [&](uint number) { return (int)(number / blocks / across * ROWS) - (int)P.pad_top; };
        auto column_of = [&](uint number) { return number / blocks % across * COLUMNS; };
        auto filters_of = [&](uint number) { return (const char *)w + (U64)(group * blocks + number % blocks) * slices * taps * BYTES_W; };
        if (!at_once || taps != 1u || P.pad_left != 0u) {
            auto place = [&](uint number, uint slice) {
                bool there = at_once && number < tiles;
                return place_of(map, there ? slice * DEPTH : P.channels, row_of(number), column_of(number), P.channels, (int)P.height, P.width);
            };
            Held held[LINES];
            Place next = place(blockIdx.x, 0u);
            if (at_once) UNROLL for (uint i = 0u; i < LINES; ++i) load_row(held[i], next, map, i, P.width);
            for (uint number = blockIdx.x; number < tiles; number += gridDim.x) {
                const char *filters = filters_of(number);
                for (uint slice = 0u; slice < slices; ++slice) {
                    uint rows = next.rows, rows_beside = next.rows_beside;
                    next = slice + 1u < slices ? place(number, slice + 1u) : place(number + gridDim.x, 0u);
                    for (uint tap = 0u; tap < taps; ++tap, filters += BYTES_W) {
                        uint bar = full + 8u * ring.slot, at = slots + ring.slot * STAGE_BYTES;
                        bar_wait(empty + 8u * ring.slot, ring.turn ^ 1u);
                        if (LOCAL_INDEX == 0u) {
                            bar_expect_more(bar, BYTES_W);
                            copy_row(at + BYTES_X, filters, bar, BYTES_W);
                        }
                        int shift = (int)tap - (int)P.pad_left;
                        if (at_once) store_held(at, held, rows, rows_beside, shift, tap + 1u == taps, next, map, P.width);
                        else copy_pixels(at, map, slice * DEPTH, row_of(number), (int)column_of(number) + shift, P.channels, (int)P.height, (int)P.width);
                        written_for_units();
                        asm volatile("bar.sync 1, 128;" ::: "memory");
                        if (LOCAL_INDEX == 0u) bar_arrive(bar);
                        ring.next();
                    }
                }
            }
            return;
        }
        if (LOCAL_INDEX != 0u) return;
        for (uint number = blockIdx.x; number < tiles; number += gridDim.x)
            for (uint slice = 0u; slice < slices; ++slice) {
                uint bar = full + 8u * ring.slot, at = slots + ring.slot * STAGE_BYTES;
                bar_wait(empty + 8u * ring.slot, ring.turn ^ 1u);
                bar_expect(bar, STAGE_BYTES);
                copy_box(at, map_x, bar, (int)column_of(number), (int)(slice * DEPTH), row_of(number), (int)BATCH_INDEX);
                copy_row(at + BYTES_X, filters_of(number) + slice * BYTES_W, bar, BYTES_W);
                ring.next();
            }
        return;
    }
    more_registers<192>();
    uint own = LOCAL_INDEX / 128u - 1u;
    Sums sums = sums_of(EPILOGUE_KINDS, residual0, residual1, y);
    for (uint number = blockIdx.x; number < tiles; number += gridDim.x) {
        float d[PIXELS / 2u];
        uint before = 0u;
        for (uint k = 0u; k < slices * taps; ++k) {
            uint at = slots + ring.slot * STAGE_BYTES;
            bar_wait(full + 8u * ring.slot, ring.turn);
            U64 left = filters_at(at + BYTES_X), right = lines_at(at + own * 4u * ROW_BYTES, ROW_BYTES);
            UNITS_BEGIN;
            UNROLL for (uint r = 0u; r < KERNEL_H; ++r)
                Units<PIXELS>::template multiply<0, 1>(d, left + r * (2048u / 16u), right + r * (ROW_BYTES / 16u), k + r > 0u);
            UNITS_END;
            if (k > 0u) {
                UNITS_WAIT(1);
                if (LOCAL_INDEX % 128u == 0u) bar_arrive(empty + 8u * before);
            }
            before = ring.slot;
            ring.next();
        }
        uint tile = number / blocks;
        uint row = tile / across * ROWS + own * 4u, column = tile % across * COLUMNS;
        find_channels(sums, number % blocks, BATCH_INDEX, group, P.outputs, (U64)P.out_height * P.out_width, bias);
        UNITS_WAIT(0);
        if (LOCAL_INDEX % 128u == 0u) bar_arrive(empty + 8u * before);
        UNROLL for (uint g = 0u; g < 8u; ++g)
            finish_sums<1u>(sums, [&](uint h, uint e) -> float & { return d[h * 16u + e]; }, WORDS_FROM(CONV_EPILOGUE), g, row, column, P.out_height, P.out_width);
    }
}
