// clang-format off
#include "common.h"
#include "warpgroup.h"
#include "epilogue.h"
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
// before in the first of eight invocations, the two after in the last.
struct Held { uint4 own; uint beside; };
WARPGROUP_FUNCTION uint two_of(const ushort *p, bool at_once) { return at_once ? *(const uint *)p : p[0] | (uint)p[1] << 16; }
WARPGROUP_FUNCTION void load_held(Held (&held)[LINES], const F16 *map, uint channel, int row, uint column, uint channels, int height, uint width, bool at_once) {
    uint eight = LOCAL_INDEX % 8u, own = channel + LOCAL_INDEX / 8u, x = column + eight * 8u;
    uint x_beside = eight == 0u ? x - 2u : x + 8u;  // what is before the first wraps, and is not there
    bool has_beside = (eight == 0u || eight == 7u) && x_beside < width;
    UNROLL for (uint i = 0u; i < LINES; ++i) {
        int y = row + (int)i;
        bool there = own < channels && y >= 0 && y < height;
        const ushort *line = (const ushort *)map + ((U64)own * (uint)height + (uint)y) * width;
        held[i] = Held{make_uint4(0u, 0u, 0u, 0u), 0u};
        if (there && x < width) {
            if (at_once) held[i].own = *(const uint4 *)(line + x);
            else held[i].own = make_uint4(two_of(line + x, false), two_of(line + x + 2u, false), two_of(line + x + 4u, false), two_of(line + x + 6u, false));
        }
        if (there && has_beside) held[i].beside = two_of(line + x_beside, at_once);
    }
}
// Stores what is `shift` pixels further on.
WARPGROUP_FUNCTION void store_held(uint to, const Held (&held)[LINES], int shift) {
    uint eight = LOCAL_INDEX % 8u;
    to += EIGHT_OF_LINE(LOCAL_INDEX / 8u, eight);
    UNROLL for (uint i = 0u; i < LINES; ++i) {
        uint4 w = held[i].own;
        uint before = __shfl_up_sync(0xffffffffu, w.w, 1), after = __shfl_down_sync(0xffffffffu, w.x, 1);
        if (eight == 0u) before = held[i].beside;
        if (eight == 7u) after = held[i].beside;
        if (shift == -2) w = make_uint4(before, w.x, w.y, w.z);
        else if (shift == -1) w = make_uint4(__funnelshift_l(before, w.x, 16), __funnelshift_l(w.x, w.y, 16), __funnelshift_l(w.y, w.z, 16), __funnelshift_l(w.z, w.w, 16));
        else if (shift == 1) w = make_uint4(__funnelshift_r(w.x, w.y, 16), __funnelshift_r(w.y, w.z, 16), __funnelshift_r(w.z, w.w, 16), __funnelshift_r(w.w, after, 16));
        else if (shift == 2) w = make_uint4(w.y, w.z, w.w, after);
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + i * ROW_BYTES), "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w) : "memory");
    }
}
// What an operand has for the pixels of an invocation, eight of each of two channels, as sums are held: pairs of four eights. Those not there are zero.
WARPGROUP_FUNCTION void load_added(float (&v)[16], const F16 *from, U64 low, U64 high, bool there_low, bool there_high, bool at_once, uint q) {
    UNROLL for (uint r = 0u; r < 2u; ++r) {
        U64 place = r == 0u ? low : high;
        uint4 w = make_uint4(0u, 0u, 0u, 0u);
        if (r == 0u ? there_low : there_high) {
            if (at_once) w = *(const uint4 *)(from + place);
            else w = make_uint4(HALF_BITS(from, place) | HALF_BITS(from, place + 1u) << 16, HALF_BITS(from, place + 2u) | HALF_BITS(from, place + 3u) << 16,
                                HALF_BITS(from, place + 4u) | HALF_BITS(from, place + 5u) << 16, HALF_BITS(from, place + 6u) | HALF_BITS(from, place + 7u) << 16);
        }
        w = whole_eight(w.x, w.y, w.z, w.w, q);  // its own inverse
        uint pairs[4] = {w.x, w.y, w.z, w.w};
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            v[i * 4u + r * 2u] += single_of_bits(pairs[i] & 0xffffu);
            v[i * 4u + r * 2u + 1u] += single_of_bits(pairs[i] >> 16);
        }
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
        fewer_registers<88>();
        bool at_once = ALIGNED_8(x, 0), by_device = at_once && taps == 1u && P.pad_left == 0u;
        if (by_device && LOCAL_INDEX != 0u) return;
        for (uint number = blockIdx.x; number < tiles; number += gridDim.x) {
            uint tile = number / blocks, column = tile % across * COLUMNS;
            int row = (int)(tile / across * ROWS) - (int)P.pad_top;
            const char *filters = (const char *)w + (U64)(group * blocks + number % blocks) * slices * taps * BYTES_W;
            for (uint slice = 0u; slice < slices; ++slice) {
                Held held[LINES];
                if (!by_device)
                    load_held(held, x + (U64)BATCH_INDEX * P.channels * P.height * P.width, slice * DEPTH, row, column, P.channels, (int)P.height, P.width, at_once);
                for (uint tap = 0u; tap < taps; ++tap, filters += BYTES_W) {
                    uint bar = full + 8u * ring.slot, at = slots + ring.slot * STAGE_BYTES;
                    bar_wait(empty + 8u * ring.slot, ring.turn ^ 1u);
                    if (LOCAL_INDEX == 0u) {
                        bar_expect_more(bar, by_device ? STAGE_BYTES : BYTES_W);
                        copy_row(at + BYTES_X, filters, bar, BYTES_W);
                    }
                    if (by_device) {
                        copy_box(at, map_x, bar, (int)column, (int)(slice * DEPTH), row, (int)BATCH_INDEX);
                    } else {
                        store_held(at, held, (int)tap - (int)P.pad_left);
                        written_for_units();
                        asm volatile("bar.sync 1, 128;" ::: "memory");
                    }
                    if (LOCAL_INDEX == 0u) bar_arrive(bar);
                    ring.next();
                }
            }
        }
        return;
    }
    more_registers<208>();
    uint own = LOCAL_INDEX / 128u - 1u, lane = LOCAL_INDEX % 32u, q = lane % 4u;
    uint kinds = EPILOGUE_KINDS;  // looked up once: what is asked for in a loop is on its way all the time
    bool first = HAS_STEP(EPILOGUE_ADD_FIRST), second = HAS_STEP(EPILOGUE_ADD_SECOND), biased = HAS_STEP(EPILOGUE_BIAS);
    bool at_once = ALIGNED_8(y, 0), added_at_once = (!first || ALIGNED_8(residual0, 0)) && (!second || ALIGNED_8(residual1, 0));
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
        UNITS_WAIT(0);
        if (LOCAL_INDEX % 128u == 0u) bar_arrive(empty + 8u * before);
        uint tile = number / blocks;
        uint tile_row = tile / across * ROWS + own * 4u, tile_column = tile % across * COLUMNS + q * 8u;
        uint channel = number % blocks * 64u + LOCAL_INDEX % 128u / 32u * 16u + lane / 4u;  // of its group; of the second row 8 further on
        bool has_low = channel < P.outputs, has_high = channel + 8u < P.outputs;
        float bias_low = biased && has_low ? LOAD(bias, group * P.outputs + channel) : 0.0f;
        float bias_high = biased && has_high ? LOAD(bias, group * P.outputs + channel + 8u) : 0.0f;
        U64 plane = (U64)P.out_height * P.out_width;
        U64 map = ((U64)BATCH_INDEX * P.outputs + channel) * plane;
        // A row of 32 pixels at a time: an invocation holds pairs of four eights of two channels, and stores an eight of each.
        UNROLL for (uint g = 0u; g < PIXELS / 32u; ++g) {
            float v[16];
            UNROLL for (uint e = 0u; e < 16u; ++e) v[e] = d[g * 16u + e];
            uint row = tile_row + g / 2u, column = tile_column + g % 2u * 32u;
            bool inside = row < P.out_height && column < P.out_width;
            bool low = inside && has_low, high = inside && has_high;
            U64 place = map + (U64)row * P.out_width + column;
            UNROLL_STEPS for (uint s = 0u; s < EPILOGUE_STEPS; ++s) {
                uint kind = (kinds >> (4u * s) & 15u) - 1u;
                if (kind == EPILOGUE_NONE) break;
                float a = WORD_FLOAT(CONV_EPILOGUE + 2u + 3u * s), b = WORD_FLOAT(CONV_EPILOGUE + 3u + 3u * s);
                if (kind == EPILOGUE_BIAS) {
                    UNROLL for (uint e = 0u; e < 16u; ++e) v[e] += e / 2u % 2u == 0u ? bias_low : bias_high;
                } else if (kind == EPILOGUE_ADD_FIRST || kind == EPILOGUE_ADD_SECOND) {
                    load_added(v, kind == EPILOGUE_ADD_FIRST ? residual0 : residual1, place, place + 8u * plane, low, high, added_at_once, q);
                } else {
                    UNROLL for (uint e = 0u; e < 16u; ++e) v[e] = epilogue_step(kind, v[e], a, b);
                }
            }
            UNROLL for (uint r = 0u; r < 2u; ++r) {
                uint4 eight = whole_eight(two_halves(v[2u * r], v[2u * r + 1u]), two_halves(v[4u + 2u * r], v[5u + 2u * r]),
                                          two_halves(v[8u + 2u * r], v[9u + 2u * r]), two_halves(v[12u + 2u * r], v[13u + 2u * r]), q);
                if (!(r == 0u ? low : high)) continue;
                ushort *to = (ushort *)y + place + r * 8u * plane;
                if (at_once) *(uint4 *)to = eight;
                else {
                    uint x8[4] = {eight.x, eight.y, eight.z, eight.w};
                    UNROLL for (uint i = 0u; i < 8u; ++i) to[i] = (ushort)(x8[i / 2u] >> (i % 2u * 16u));
                }
            }
        }
    }
}
