#include "common.cl"
#define P PARAMETERS_OF(Conv)
#include "tile.h"
#include "epilogue.cl"
// Convolution as a product of the filters [O, C kh kw] and the columns of the input, which are never stored. Parameters: output
// channels and channels of a group, groups, H, W, H', W', kh, kw, strides, pads top and left, dilations, tiles down, then the
// epilogue.
#define KERNEL C8      // kh = kw when not 0; strides and dilations are 1 then
#define UNIT_STEPS C9  // strides and dilations are 1
#if KERNEL != 0
#define KERNEL_H KERNEL
#define KERNEL_W KERNEL
#else
#define KERNEL_H P.kernel_h
#define KERNEL_W P.kernel_w
#endif
#if UNIT_STEPS != 0
#define STEP(field) 1
#else
#define STEP(field) (int)P.field
#endif
#define FETCH_A ((BM * BK + LOCAL - 1) / LOCAL)
#define FETCH_B (BK / (LOCAL / BN))

// The pixel whose columns this invocation loads.
typedef struct {
    uint map;     // first element of the image
    int corner;   // of the first tap's element in a channel
    int top, left;
    uint inside;  // bit of each tap that meets the input, for unrolled filters
    int valid;
} Source;

// The next slices, on their way from memory while the last are multiplied. Loads are without a condition (what must be 0 reads the first
// element instead): the compiler starts them all before it waits for one.
void fetch(constant uint *words, global const T *x, global const U *w, Source from, uint first_filter, uint first,
           uint first_row, float *next_a, float *next_b) {
    uint t = get_local_id(0);
    uint kernel_w = KERNEL_W;
    uint taps = KERNEL_H * kernel_w;
    uint depth = P.channels * taps;
    int height = (int)P.height;
    int width = (int)P.width;
    uint map_size = (uint)(height * width);
    UNROLL for (uint i = 0; i < FETCH_A; ++i) {
        uint at = i * LOCAL + t;
        uint m = first_row + at / BK;
        uint k = first + at % BK;
        int there = at < BM * BK && m < P.outputs && k < depth;
        float v = LOAD_U(w, there ? first_filter + m * depth + k : first_filter);
        next_a[i] = there ? v : 0.0f;
    }
    UNROLL for (uint i = 0; i < FETCH_B; ++i) {
        uint k = first + i * (LOCAL / BN) + t / BN;
        uint c = k / taps;
        uint tap = k % taps;
#if KERNEL != 0
        int there = k < depth && (from.inside >> tap & 1u) != 0u;
        int place = from.corner + (int)(tap / kernel_w) * width + (int)(tap % kernel_w);
#else
        int row = from.top + (int)(tap / kernel_w) * STEP(dilation_h);
        int column = from.left + (int)(tap % kernel_w) * STEP(dilation_w);
        int there = from.valid && k < depth && row >= 0 && row < height && column >= 0 && column < width;
        int place = row * width + column;
#endif
        float v = LOAD(x, there ? from.map + c * map_size + (uint)place : from.map);
        next_b[i] = there ? v : 0.0f;
    }
}

ENTRY bp_conv(PARAMETERS, READ(x, T), READ(w, U), EPILOGUE_ARGUMENTS, WRITE(y, T)) {
    SHARED_TILES
    WORDS_HERE;
    AT(x), AT(w), EPILOGUE_AT, AT(y);
    uint outputs = P.outputs;
    uint groups = P.groups;
    int height = (int)P.height;
    int width = (int)P.width;
    uint out_width = P.out_width;
    uint pixels = P.out_height * out_width;
    uint depth = P.channels * KERNEL_H * KERNEL_W;
    uint tile = GROUP_INDEX;
    uint first_row = tile % P.blocks * BM;
    uint first_column = tile / P.blocks * BN;
    if (first_column >= pixels) return;
    uint image = get_group_id(2) / groups;
    uint group = get_group_id(2) % groups;
    uint t = get_local_id(0);
    uint pixel = first_column + t % BN;
    Source from;
    from.valid = pixel < pixels;
    from.top = (int)(pixel / out_width) * STEP(stride_h) - (int)P.pad_top;
    from.left = (int)(pixel % out_width) * STEP(stride_w) - (int)P.pad_left;
    from.map = (image * groups + group) * P.channels * (uint)(height * width);
    from.corner = from.top * width + from.left;
    from.inside = 0;
#if KERNEL != 0
    UNROLL for (uint tap = 0; tap < KERNEL * KERNEL; ++tap) {
        int row = from.top + (int)(tap / KERNEL);
        int column = from.left + (int)(tap % KERNEL);
        if (from.valid && row >= 0 && row < height && column >= 0 && column < width) from.inside |= 1u << tap;
    }
#endif
    uint first_filter = group * outputs * depth;
    TILE_SUMS(sums)
    float next_a[FETCH_A];
    float next_b[FETCH_B];
    // Each round loads a slice while it multiplies the one before; the code of both stands here once.
    for (uint first = 0;; first += BK) {
        if (first < depth) fetch(words, x, w, from, first_filter, first, first_row, next_a, next_b);
        if (first > 0) MULTIPLY_TILES(sums)
        if (first >= depth) break;
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL for (uint i = 0; i < FETCH_A; ++i) {
            uint at = i * LOCAL + t;
            if (at < BM * BK) PUT_A(at % BK, at / BK, next_a[i]);
        }
        UNROLL for (uint i = 0; i < FETCH_B; ++i) PUT_B(i * (LOCAL / BN) + t / BN, t % BN, next_b[i]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLL for (uint i = 0; i < TM; ++i) {
        uint row = first_row + ROW_OF(i);
        UNROLL for (uint j = 0; j < TN; ++j) {
            uint at = first_column + COLUMN_OF(j);
            uint channel = group * outputs + row;
            uint place = (image * groups * outputs + channel) * pixels + at;
            if (row < outputs && at < pixels) STORE(y, place, EPILOGUE(CONV_EPILOGUE, SUM_AT(sums, i, j), channel, place));
        }
    }
}
