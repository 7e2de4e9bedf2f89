// clang-format off
#include "common.h"
#include "epilogue.h"
// A depthwise convolution along the frames of maps whose channels come last, with a border that keeps their number. An invocation makes ROWS frames of two
// channels, and reads the ROWS + TAPS - 1 that they are made of once. What it reads may be one half of a frame times the sigmoid of the other, and
// times a number of the frame's own (mask): TAKES.
CONSTANT(3, TAKES, 0)
#define ROWS 8u
#define TAPS 9u
#define READS (ROWS + TAPS - 1u)
FUNCTION uint pair_at(const F16 *p, U64 i, bool at_once) {
    const ushort *one = (const ushort *)p + i;
    return at_once ? *(const uint *)one : one[0] | (uint)one[1] << 16;
}
KERNEL_5(conv_frames, ConvDepthwise, (READ, x, T), (READ, w, U), (READ, bias, T), (READ, mask, T), (WRITE, y, T))
BEGIN
    ELEMENT(i)
    uint pairs = P.groups / 2u;
    uint channel = i % pairs * 2u;
    uint stretches = (P.height + ROWS - 1u) / ROWS;
    uint first = i / pairs % stretches * ROWS;
    uint image = i / pairs / stretches;
    bool gated = (TAKES & CONV_TAKES_GATED) != 0u, masked = (TAKES & CONV_TAKES_MASK) != 0u;
    bool at_once = ((U64)x & 3u) == 0u;
    U64 line = gated ? 2u * P.groups : P.groups;
    uint own[READS], gate[READS];
    float by[READS];
    bool there[READS];
    UNROLL for (uint k = 0u; k < READS; ++k) {
        int frame = CAST(int, first + k) - CAST(int, TAPS / 2u);
        there[k] = frame >= 0 && frame < CAST(int, P.height);
        U64 at = (U64)image * P.height + (there[k] ? CAST(uint, frame) : first);
        own[k] = pair_at(x, at * line + channel, at_once);
        gate[k] = 0u;
        by[k] = 1.0f;
        if (gated) gate[k] = pair_at(x, at * line + P.groups + channel, at_once);
        if (masked) by[k] = LOAD(mask, at);
    }
    float weight[2][TAPS];
    UNROLL for (uint t = 0u; t < TAPS; ++t)
        UNROLL for (uint c = 0u; c < 2u; ++c) weight[c][t] = LOAD_U(w, (channel + c) * TAPS + t);
    float sums[2][ROWS];
    UNROLL for (uint j = 0u; j < ROWS; ++j) sums[0][j] = sums[1][j] = 0.0f;
    UNROLL for (uint k = 0u; k < READS; ++k) {
        float v[2] = {single_of_bits(own[k] & 0xffffu), single_of_bits(own[k] >> 16)};
        if (gated) {
            v[0] *= sigmoid_nearly(single_of_bits(gate[k] & 0xffffu));
            v[1] *= sigmoid_nearly(single_of_bits(gate[k] >> 16));
        }
        UNROLL for (uint c = 0u; c < 2u; ++c) {
            float read = there[k] ? v[c] * by[k] : 0.0f;
            UNROLL for (uint t = 0u; t < TAPS; ++t)
                if (k >= t && k - t < ROWS) sums[c][k - t] = fmaf(read, weight[c][t], sums[c][k - t]);
        }
    }
    uint kinds = EPILOGUE_KINDS;
    UNROLL_STEPS for (uint step = 0u; step < EPILOGUE_STEPS; ++step) {
        uint kind = (kinds >> (4u * step) & 15u) - 1u;
        if (kind == EPILOGUE_NONE) break;
        float a = WORD_FLOAT(CONV_EPILOGUE + 2u + 3u * step), b = WORD_FLOAT(CONV_EPILOGUE + 3u + 3u * step);
        UNROLL for (uint c = 0u; c < 2u; ++c) {
            if (kind == EPILOGUE_BIAS) {
                float more = LOAD(bias, channel + c);
                UNROLL for (uint j = 0u; j < ROWS; ++j) sums[c][j] += more;
            } else if (kind == EPILOGUE_FUNCTION) {  // Silu
                UNROLL for (uint j = 0u; j < ROWS; ++j) sums[c][j] *= sigmoid_nearly(sums[c][j]);
            } else {
                UNROLL for (uint j = 0u; j < ROWS; ++j) sums[c][j] = epilogue_step(kind, sums[c][j], a, b);
            }
        }
    }
    bool twos = ((U64)y & 3u) == 0u;
    UNROLL for (uint j = 0u; j < ROWS; ++j) {
        if (first + j >= P.height) break;
        ushort *to = (ushort *)y + ((U64)image * P.height + first + j) * P.groups + channel;
        uint both = bits_of_half(sums[0][j]) | bits_of_half(sums[1][j]) << 16;
        if (twos) {
            *(uint *)to = both;
        } else {
            to[0] = (ushort)both;
            to[1] = (ushort)(both >> 16);
        }
    }
END
