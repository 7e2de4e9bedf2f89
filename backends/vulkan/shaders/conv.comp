#include "common.h"
PARAMETERS(Conv)
#include "tile.h"
SHARED_TILES
#include "epilogue.glsl"
// Convolution as a product of the filters [O, C kh kw] and the columns of the input, which are never stored. Parameters: output
// channels and channels of a group, groups, H, W, H', W', kh, kw, strides, pads top and left, dilations, tiles down, then the
// epilogue.
layout(constant_id = 8) const uint KERNEL = 0;  // kh = kw when not 0; strides and dilations are 1 then
layout(constant_id = 9) const uint UNIT_STEPS = 0;  // strides and dilations are 1
READ(1, x, T);
READ(2, w, U);
WRITE(6, y, T);

// The pixel whose columns this invocation loads.
struct Source {
    uint map;     // first element of the image
    int corner;   // of the first tap's element in a channel
    int top, left;
    uint inside;  // bit of each tap that meets the input, for unrolled filters
    bool valid;
};
const uint kFetchA = (BM * BK + LOCAL - 1) / LOCAL;
const uint kFetchB = BK / (LOCAL / BN);
// The next slices, on their way from memory while the last are multiplied. Loads are without a condition (what must be 0 reads the first
// element instead): the compiler starts them all before it waits for one.
float next_a[kFetchA];
float next_b[kFetchB];
uint first_filter;

void fetch(Source from, uint first, uint first_row, uint t) {
    uint kernel_h = KERNEL != 0 ? KERNEL : P.kernel_h;
    uint kernel_w = KERNEL != 0 ? KERNEL : P.kernel_w;
    uint taps = kernel_h * kernel_w;
    uint depth = P.channels * taps;
    int height = int(P.height);
    int width = int(P.width);
    uint map_size = uint(height * width);
    bool there_a[kFetchA];
    bool there_b[kFetchB];
    [[unroll]] for (uint i = 0; i < kFetchA; ++i) {
        uint at = i * LOCAL + t;
        uint m = first_row + at / BK;
        uint k = first + at % BK;
        there_a[i] = at < BM * BK && m < P.outputs && k < depth;
        next_a[i] = float(w[there_a[i] ? first_filter + m * depth + k : first_filter]);
    }
    [[unroll]] for (uint i = 0; i < kFetchB; ++i) {
        uint k = first + i * (LOCAL / BN) + t / BN;
        uint c = k / taps;
        uint tap = k % taps;
        int place = 0;
        if (KERNEL != 0) {
            there_b[i] = k < depth && (from.inside >> tap & 1u) != 0u;
            place = from.corner + int(tap / kernel_w) * width + int(tap % kernel_w);
        } else {
            int row = from.top + int(tap / kernel_w) * (UNIT_STEPS != 0 ? 1 : int(P.dilation_h));
            int column = from.left + int(tap % kernel_w) * (UNIT_STEPS != 0 ? 1 : int(P.dilation_w));
            there_b[i] = from.valid && k < depth && row >= 0 && row < height && column >= 0 && column < width;
            place = row * width + column;
        }
        next_b[i] = float(x[there_b[i] ? from.map + c * map_size + uint(place) : from.map]);
    }
    [[unroll]] for (uint i = 0; i < kFetchA; ++i) next_a[i] = there_a[i] ? next_a[i] : 0.0;
    [[unroll]] for (uint i = 0; i < kFetchB; ++i) next_b[i] = there_b[i] ? next_b[i] : 0.0;
}

void keep(uint t) {
    [[unroll]] for (uint i = 0; i < kFetchA; ++i) {
        uint at = i * LOCAL + t;
        if (at < BM * BK) PUT_A(at % BK, at / BK, next_a[i]);
    }
    [[unroll]] for (uint i = 0; i < kFetchB; ++i) PUT_B(i * (LOCAL / BN) + t / BN, t % BN, next_b[i]);
}

void main() {
    uint outputs = P.outputs;
    uint channels = P.channels;
    uint groups = P.groups;
    int height = int(P.height);
    int width = int(P.width);
    uint out_width = P.out_width;
    uint pixels = P.out_height * out_width;
    uint kernel_h = KERNEL != 0 ? KERNEL : P.kernel_h;
    uint kernel_w = KERNEL != 0 ? KERNEL : P.kernel_w;
    uint taps = kernel_h * kernel_w;
    uint depth = channels * taps;
    uint tile = GROUP_INDEX;
    uint first_row = tile % P.blocks * BM;
    uint first_column = tile / P.blocks * BN;
    if (first_column >= pixels) return;
    uint image = gl_WorkGroupID.z / groups;
    uint group = gl_WorkGroupID.z % groups;
    uint t = gl_LocalInvocationID.x;
    uint pixel = first_column + t % BN;
    bool valid = pixel < pixels;
    int top = int(pixel / out_width * (UNIT_STEPS != 0 ? 1u : P.stride_h)) - int(P.pad_top);
    int left = int(pixel % out_width * (UNIT_STEPS != 0 ? 1u : P.stride_w)) - int(P.pad_left);
    uint map_size = uint(height * width);
    uint map = base[0] + (image * groups + group) * channels * map_size;
    int corner = top * width + left;
    // Which taps of the filter meet the input at this pixel, for filters of up to 25 taps.
    uint inside = 0;
    if (KERNEL != 0) {
        [[unroll]] for (uint tap = 0; tap < taps; ++tap) {
            int row = top + int(tap / kernel_w);
            int place = left + int(tap % kernel_w);
            if (valid && row >= 0 && row < height && place >= 0 && place < width) inside |= 1u << tap;
        }
    }
    Source from = Source(map, corner, top, left, inside, valid);
    first_filter = base[1] + group * outputs * depth;
    TILE_SUMS(sums)
    fetch(from, 0, first_row, t);
    for (uint first = 0; first < depth; first += BK) {
        keep(t);
        barrier();
        if (first + BK < depth) fetch(from, first + BK, first_row, t);
        MULTIPLY_TILES(sums)
        barrier();
    }
    [[unroll]] for (uint i = 0; i < TM; ++i) {
        uint row = first_row + ROW_OF(i);
        [[unroll]] for (uint j = 0; j < TN; ++j) {
            uint at = first_column + COLUMN_OF(j);
            if (row >= outputs || at >= pixels) continue;
            uint channel = group * outputs + row;
            uint place = (image * groups * outputs + channel) * pixels + at;
            y[base[5] + place] = T(epilogue(CONV_EPILOGUE, SUM_AT(sums, i, j), channel, place));
        }
    }
}
