#include "common.cl"
#define P PARAMETERS_OF(Conv)
#include "epilogue.cl"
#include "matrix_units.cl"
// Convolution of 1x1, 3x3 and 5x5 with steps of 1 on the matrix units: operands in f16, sums in float32. A warp makes 16 * TILES output
// channels of ROWS_OF_WARP x COLUMNS_OF_WARP pixels; a workgroup has DOWN warps over output channels, ACROSS over columns, the rest over rows.
// A slice of channels of the input under it stands in local memory for all taps, channels last, so that a tap is an offset; while it is
// multiplied the next is on its way. The filters come as conv_matrix_filters.cl lays them out, a fragment at a load. Parameters as conv.kernel, with blocks of
// output channels in place of the tiles down. A map of 1x1 filters is one row.
#define KERNEL C8
#define TAPS (KERNEL * KERNEL)
#define TILES C3         // of 16 output channels, of a warp
#define DOWN C4          // warps over output channels
#define ROWS_OF_WARP C5
#define COLUMNS_OF_WARP C6
#define ACROSS C7        // warps over columns
#define DEPTH C9         // of a slice, in tiles of 16 channels
#define UP (LOCAL / 32 / DOWN / ACROSS)
#define ROWS (UP * ROWS_OF_WARP)
#define COLUMNS (ACROSS * COLUMNS_OF_WARP)
#define OUTPUTS (16 * TILES * DOWN)
#define HEIGHT (ROWS + KERNEL - 1)
#define PAIRS (KERNEL == 1 ? COLUMNS / 2 : (COLUMNS + KERNEL - 1) / 2 + 1)
#define OCTETS (2 * DEPTH)
// Of a pixel in local memory, in units of 16 bytes: what a warp reads at once lies on different banks.
#define PIXEL (OCTETS + 1)
#define UNIT(row, column) ((row) * ROW_UNITS + (column) * PIXEL + ((column) >> 3) * 2)
#define ROW_UNITS (PAIRS * 2 * PIXEL + (PAIRS / 4 + 1) * 2)
#define TASKS (OCTETS * HEIGHT * PAIRS)
#define ROUNDS ((TASKS + LOCAL - 1) / LOCAL)
#define GROUPS_OF_8 (COLUMNS_OF_WARP / 8)
#define HALF_AT(p, i) (((global const ushort *)(p))[i])
#define LOW(a, b) ((a) & 0xffffu | (b) << 16)
#define HIGH(a, b) ((a) >> 16 | (b) & 0xffff0000u)

// Eight channels of two pixels that follow each other.
void fetch(global const half *map, int left, uint plane, uint at, uint there, uint even, uint *v) {
    UNROLL for (uint c = 0; c < 8; ++c) {
        v[c] = 0;
        if ((int)c < left) {
            if (even) {
                if (there & 1) v[c] = *(global const uint *)(map + (ulong)(c * plane) + at);
            } else {
                uint low = there & 1 ? HALF_AT(map + (ulong)(c * plane), at) : 0;
                uint high = there & 2 ? HALF_AT(map + (ulong)(c * plane), at + 1) : 0;
                v[c] = low | high << 16;
            }
        }
    }
}

float4 add_4(float4 v, global const half *p, uint place, int count) {
    if (count >= 4 && ((ulong)(p + place) & 7) == 0) return v + unpack(*(global const uint2 *)(p + place));
    if (count > 0) v.x += LOAD(p, place);
    if (count > 1) v.y += LOAD(p, place + 1);
    if (count > 2) v.z += LOAD(p, place + 2);
    if (count > 3) v.w += LOAD(p, place + 3);
    return v;
}
#define STEP_4(k)                                                                                                        \
    if (EPILOGUE_KIND(k) == EPILOGUE_BIAS) v += (float4)(LOAD(bias, channel));                                     \
    else if (EPILOGUE_KIND(k) == EPILOGUE_ADD_FIRST) v = add_4(v, residual0, place, count);                             \
    else if (EPILOGUE_KIND(k) == EPILOGUE_ADD_SECOND) v = add_4(v, residual1, place, count);                             \
    else if (EPILOGUE_KIND(k) != EPILOGUE_NONE) {                                                                  \
        v.x = epilogue_step(EPILOGUE_KIND(k), v.x, WORD_FLOAT(CONV_EPILOGUE + 2 + 3 * (k)), WORD_FLOAT(CONV_EPILOGUE + 3 + 3 * (k))); \
        v.y = epilogue_step(EPILOGUE_KIND(k), v.y, WORD_FLOAT(CONV_EPILOGUE + 2 + 3 * (k)), WORD_FLOAT(CONV_EPILOGUE + 3 + 3 * (k))); \
        v.z = epilogue_step(EPILOGUE_KIND(k), v.z, WORD_FLOAT(CONV_EPILOGUE + 2 + 3 * (k)), WORD_FLOAT(CONV_EPILOGUE + 3 + 3 * (k))); \
        v.w = epilogue_step(EPILOGUE_KIND(k), v.w, WORD_FLOAT(CONV_EPILOGUE + 2 + 3 * (k)), WORD_FLOAT(CONV_EPILOGUE + 3 + 3 * (k))); \
    }
// Four pixels of a channel, of which the first `count` are there.
void finish(constant uint *words, float4 v, uint channel, uint place, int count, global const half *bias, global const half *residual0,
            global const half *residual1, global half *y) {
    if (count <= 0) return;
    STEP_4(0) STEP_4(1) STEP_4(2) STEP_4(3) STEP_4(4) STEP_4(5)
    uint2 packed = (uint2)(pack(v.x, v.y), pack(v.z, v.w));
    if (count >= 4 && ((ulong)(y + place) & 7) == 0) {
        *(global uint2 *)(y + place) = packed;
        return;
    }
    global ushort *to = (global ushort *)y + place;
    to[0] = (ushort)packed.x;
    if (count > 1) to[1] = (ushort)(packed.x >> 16);
    if (count > 2) to[2] = (ushort)packed.y;
    if (count > 3) to[3] = (ushort)(packed.y >> 16);
}

ENTRY bp_conv_matrix(PARAMETERS, READ(x, T), READ(w, uint4), EPILOGUE_ARGUMENTS, WRITE(y, T)) {
    local uint4 patch[2 * HEIGHT * ROW_UNITS];
    WORDS_HERE;
    AT(x), AT(w), EPILOGUE_AT, AT(y);
    uint outputs = P.outputs;
    uint channels = P.channels;
    uint groups = P.groups;
    int height = (int)P.height;
    int width = (int)P.width;
    uint out_height = P.out_height;
    uint out_width = P.out_width;
    uint across = (out_width + COLUMNS - 1) / COLUMNS;
    uint blocks = P.blocks;
    uint tile = GROUP_INDEX / blocks;
    uint block = GROUP_INDEX % blocks;
    uint tile_y = tile / across * ROWS;
    uint tile_x = tile % across * COLUMNS;
    if (tile_y >= out_height) return;
    uint image = get_group_id(2) / groups;
    uint group = get_group_id(2) % groups;
    uint t = get_local_id(0);
    uint lane = t % 32;
    uint warp = t / 32;
    uint own_tile = warp % DOWN * TILES;
    uint own_x = warp / DOWN % ACROSS * COLUMNS_OF_WARP;
    uint own_y = warp / DOWN / ACROSS * ROWS_OF_WARP;
    uint plane = (uint)height * (uint)width;
    global const half *map = x + (ulong)(image * groups + group) * channels * plane;
    uint slices = (channels + 16 * DEPTH - 1) / (16 * DEPTH);
    uint tiles = blocks * TILES * DOWN;
    global const uint4 *filters = w + ((ulong)group * slices * DEPTH * TAPS * tiles + block * TILES * DOWN + own_tile) * 32 + lane;
    int first_column = (int)tile_x - (int)P.pad_left;
    int shift = first_column & 1;
    uint even = ((uint)width & 1) == 0 && ((ulong)map & 3) == 0;
    uint at[ROUNDS];     // of the first channel
    uint there[ROUNDS];  // bit 0: the first pixel, bit 1: the second
    uint into[ROUNDS];
    UNROLL for (uint i = 0; i < ROUNDS; ++i) {
        uint task = i * LOCAL + t;
        uint pair = task % PAIRS;
        uint line = task / PAIRS % HEIGHT;
        uint octet = task / (PAIRS * HEIGHT);
        int row = (int)tile_y - (int)P.pad_top + (int)line;
        int column = first_column - shift + 2 * (int)pair;
        uint inside = task < TASKS && row >= 0 && row < height;
        there[i] = (inside && column >= 0 && column < width ? 1 : 0) | (inside && column + 1 >= 0 && column + 1 < width ? 2 : 0);
        at[i] = octet * 8 * plane + (uint)(row * width + column);
        into[i] = UNIT(line, 2 * pair) + octet;
    }
    float4 sums[TILES][ROWS_OF_WARP * GROUPS_OF_8];
    UNROLL for (uint m = 0; m < TILES; ++m)
        UNROLL for (uint n = 0; n < ROWS_OF_WARP * GROUPS_OF_8; ++n) sums[m][n] = (float4)(0.0f);
    // Of the pixels of a fragment: two of each four, so that a lane ends up with four that follow each other.
    uint own_column = own_x + lane % 8 / 2 * 4 + lane / 16 * 2 + lane % 2 + shift;
    uint own_octet = lane / 8 % 2;
    uint next[ROUNDS][8];
    for (uint slice = 0;; ++slice) {
        if (slice < slices)
            UNROLL for (uint i = 0; i < ROUNDS; ++i) {
                uint task = i * LOCAL + t;
                uint octet = task / (PAIRS * HEIGHT);
                fetch(map + (ulong)(slice * 16 * DEPTH) * plane, (int)(channels - slice * 16 * DEPTH - octet * 8), plane, at[i], there[i], even, next[i]);
            }
        if (slice > 0) {
            local const uint4 *from = patch + (slice - 1) % 2 * (HEIGHT * ROW_UNITS) + own_y * ROW_UNITS + own_octet;
            UNROLL for (uint d = 0; d < DEPTH; ++d) {
                UNROLL for (uint s = 0; s < KERNEL; ++s) {
                    uint4 b[ROWS_OF_WARP + KERNEL - 1][GROUPS_OF_8 / 2];
                    UNROLL for (uint j = 0; j < GROUPS_OF_8 / 2; ++j)
                        UNROLL for (uint r = 0; r < ROWS_OF_WARP + KERNEL - 1; ++r)
                            b[r][j] = load_matrices(from + UNIT(r, own_column + s + j * 16) + 2 * d);
                    UNROLL for (uint r = 0; r < KERNEL; ++r)
                        UNROLL for (uint m = 0; m < TILES; ++m) {
                            uint4 a = filters[(((slice - 1) * DEPTH + d) * TAPS + r * KERNEL + s) * tiles * 32 + m * 32];
                            UNROLL for (uint p = 0; p < ROWS_OF_WARP; ++p)
                                UNROLL for (uint j = 0; j < GROUPS_OF_8 / 2; ++j) {
                                    multiply(&sums[m][p * GROUPS_OF_8 + 2 * j], a, b[p + r][j].x, b[p + r][j].y);
                                    multiply(&sums[m][p * GROUPS_OF_8 + 2 * j + 1], a, b[p + r][j].z, b[p + r][j].w);
                                }
                        }
                }
            }
        }
        if (slice >= slices) break;
        UNROLL for (uint i = 0; i < ROUNDS; ++i) {
            local uint4 *to = patch + slice % 2 * (HEIGHT * ROW_UNITS) + into[i];
            uint *v = next[i];
            if (i * LOCAL + t < TASKS) {
                to[0] = (uint4)(LOW(v[0], v[1]), LOW(v[2], v[3]), LOW(v[4], v[5]), LOW(v[6], v[7]));
                to[PIXEL] = (uint4)(HIGH(v[0], v[1]), HIGH(v[2], v[3]), HIGH(v[4], v[5]), HIGH(v[6], v[7]));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLL for (uint m = 0; m < TILES; ++m)
        UNROLL for (uint p = 0; p < ROWS_OF_WARP; ++p)
            UNROLL for (uint j = 0; j < GROUPS_OF_8 / 2; ++j)
                UNROLL for (uint h = 0; h < 2; ++h) {
                    uint own = block * OUTPUTS + (own_tile + m) * 16 + h * 8 + lane / 4;
                    uint channel = group * outputs + own;
                    uint row = tile_y + own_y + p;
                    uint column = tile_x + own_x + j * 16 + lane % 4 * 4;
                    uint place = ((image * groups * outputs + channel) * out_height + row) * out_width + column;
                    float4 a = sums[m][p * GROUPS_OF_8 + 2 * j];
                    float4 b = sums[m][p * GROUPS_OF_8 + 2 * j + 1];
                    float4 v = h == 0 ? (float4)(a.x, a.y, b.x, b.y) : (float4)(a.z, a.w, b.z, b.w);
                    int count = row < out_height && own < outputs ? (int)out_width - (int)column : 0;
                    finish(words, v, channel, place, count, bias, residual0, residual1, y);
                }
}
