// Winograd's minimal filtering (Lavin, Gray 2016) over channels-last feature maps: kernels of 3x3 and 5x5, stride 1.
//
// F(m, r) gives m outputs of an r-tap filter from n = m + r - 1 inputs with n multiplications, by evaluating at n points: 0, each
// +-p, and infinity. A^T, B^T and G follow from the points alone:
//   input  row of point q: the coefficients of P(x) / (x - q), P(x) = x * product (x^2 - p^2); row of infinity: P(x)
//   weight row of point q: (1, q, q^2, ...) / product over the other finite points (q - q'); row of infinity: (0, ..., 0, 1)
//   output row j: q^j for each point, and 1 for infinity in the last row
#pragma once

#include <stdint.h>

#include "kernels/conv.h"

namespace backplane::cpu {

enum WinogradKind { kWinograd4x3 = 0, kWinograd4x5 = 1, kWinograd6x3 = 2, kWinogradKinds = 3 };

struct WinogradShape {
    int outputs, taps, size;  // of one dimension: size = outputs + taps - 1
    double points[3];         // (size - 2) / 2 of them
};

inline constexpr WinogradShape kWinogradShapes[kWinogradKinds] = {
    {4, 3, 6, {0.75, 1.375, 0}},
    {4, 5, 8, {0.5, 1, 1.5}},
    {6, 3, 8, {0.5, 1, 1.5}},
};

struct WinogradKernels {
    int64_t tiles;  // of one call at most
    // Output tiles [begin, begin + count), counted over the batch, rows and columns of tiles; `scratch` has scratch_floats(task).
    // Weights: [size * size positions][block][channel][columns], blocks as in ConvKernels.
    void (*run[kWinogradKinds])(const ConvTask& task, int64_t begin, int64_t count, float* scratch);
};

// Floats of scratch that one call needs. A line of 16 is added to each position's rows: without it all positions of a tile fall on
// the same few sets of the first-level cache.
constexpr int64_t winograd_row(int64_t channels) { return (channels + 15) / 16 * 16; }
constexpr int64_t winograd_position(int64_t tiles, int64_t channels) { return tiles * winograd_row(channels) + 16; }
constexpr int64_t winograd_scratch(int size, int64_t tiles, int64_t channels, int64_t out_channels) {
    return size * size * (winograd_position(tiles, channels) + winograd_position(tiles, out_channels));
}

}  // namespace backplane::cpu
