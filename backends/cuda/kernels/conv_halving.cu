// clang-format off
#include "common.h"
#include "epilogue.h"
// A convolution of 3 x 3, with steps of two and a border of one, of a map of one channel a group. An invocation makes eight pixels of a row, which it
// stores at once, of OUTPUTS output channels after each other, and reads the three rows of 17 pixels that they are made of once. Rows of the map are
// of whole sixteens. A row may be multiplied by a number of its own (mask, TAKES).
CONSTANT(3, TAKES, 0)
#define OUTPUTS 16u
#define ACROSS 17u
FUNCTION uint4 eight_at(const F16 *p, U64 i, bool at_once) {
    if (at_once) return *(const uint4 *)(p + i);
    const ushort *one = (const ushort *)p + i;
    return make_uint4(one[0] | (uint)one[1] << 16, one[2] | (uint)one[3] << 16, one[4] | (uint)one[5] << 16, one[6] | (uint)one[7] << 16);
}
KERNEL_5(conv_halving, ConvDepthwise, (READ, x, T), (READ, w, U), (READ, bias, T), (READ, mask, T), (WRITE, y, T))
BEGIN
    ELEMENT(i)
    uint eights = P.out_width / 8u;
    uint column = i % eights;
    uint rest = i / eights;
    uint row = rest % P.out_height;
    rest /= P.out_height;
    uint blocks = (P.outputs + OUTPUTS - 1u) / OUTPUTS;
    uint first = rest % blocks * OUTPUTS;
    uint map = rest / blocks;
    uint group = map % P.groups;
    bool at_once = ALIGNED_8(x, 0);
    float v[3][ACROSS];
    UNROLL for (uint r = 0u; r < 3u; ++r) {
        int line = CAST(int, 2u * row + r) - 1;
        bool there = line >= 0 && line < CAST(int, P.height);
        U64 from = ((U64)map * P.height + (there ? CAST(uint, line) : 0u)) * P.width + column * 16u;
        uint4 low = eight_at(x, from, at_once), high = eight_at(x, from + 8u, at_once);
        float before = LOAD(x, column != 0u ? from - 1u : from);
        float by = there ? 1.0f : 0.0f;
        if (there && (TAKES & CONV_TAKES_MASK) != 0u) by = LOAD(mask, (U64)(map / P.groups) * P.height + CAST(uint, line));
        uint pairs[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        v[r][0] = there && column != 0u ? before * by : 0.0f;
        UNROLL for (uint c = 0u; c < 8u; ++c) {
            v[r][2u * c + 1u] = there ? single_of_bits(pairs[c] & 0xffffu) * by : 0.0f;
            v[r][2u * c + 2u] = there ? single_of_bits(pairs[c] >> 16) * by : 0.0f;
        }
    }
    uint kinds = EPILOGUE_KINDS;
    uint end = min(first + OUTPUTS, P.outputs);
    bool whole = ALIGNED_8(y, 0);
    UNROLL_STEPS for (uint o = first; o < end; ++o) {
        uint channel = group * P.outputs + o;
        float weight[9];
        UNROLL for (uint t = 0u; t < 9u; ++t) weight[t] = LOAD_U(w, channel * 9u + t);
        float s[8];
        UNROLL for (uint j = 0u; j < 8u; ++j) {
            s[j] = 0.0f;
            UNROLL for (uint t = 0u; t < 9u; ++t) s[j] = fmaf(v[t / 3u][2u * j + t % 3u], weight[t], s[j]);
        }
        UNROLL_STEPS for (uint step = 0u; step < EPILOGUE_STEPS; ++step) {
            uint kind = (kinds >> (4u * step) & 15u) - 1u;
            if (kind == EPILOGUE_NONE) break;
            float a = WORD_FLOAT(CONV_EPILOGUE + 2u + 3u * step), b = WORD_FLOAT(CONV_EPILOGUE + 3u + 3u * step);
            if (kind == EPILOGUE_BIAS) {
                float own = LOAD(bias, channel);
                UNROLL for (uint j = 0u; j < 8u; ++j) s[j] += own;
            } else if (kind == EPILOGUE_RELU) {
                UNROLL for (uint j = 0u; j < 8u; ++j) s[j] = epilogue_step(EPILOGUE_RELU, s[j], a, b);
            } else {
                UNROLL for (uint j = 0u; j < 8u; ++j) s[j] = epilogue_step(kind, s[j], a, b);
            }
        }
        U64 at = (((U64)(map / P.groups) * P.groups * P.outputs + channel) * P.out_height + row) * P.out_width + column * 8u;
        uint2 low = as_halves(make_float4(s[0], s[1], s[2], s[3])), high = as_halves(make_float4(s[4], s[5], s[6], s[7]));
        if (whole) {
            *(uint4 *)(y + at) = make_uint4(low.x, low.y, high.x, high.y);
        } else {
            uint pairs[4] = {low.x, low.y, high.x, high.y};
            UNROLL for (uint j = 0u; j < 8u; ++j) y[at + j].bits = (ushort)(pairs[j / 2u] >> (j % 2u * 16u));
        }
    }
END
