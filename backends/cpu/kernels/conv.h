// Convolution over channels-last feature maps.
#pragma once

#include <stdint.h>

#include "kernels/epilogue.h"

namespace backplane::cpu {

// One of the tensors whose channels, one after the other, are the input: a concatenation that is never made.
struct ConvSegment {
    const float* data = nullptr;
    int64_t channels = 0;  // of a group
    int64_t stride = 0;    // floats between pixels
};

constexpr int kMostSegments = 16;

struct ConvTask {
    int64_t height = 0, width = 0, out_height = 0, out_width = 0;
    int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0, dilation_h = 1,
            dilation_w = 1;
    int64_t segments = 0;
    ConvSegment segment[kMostSegments];
    int64_t channels = 0;            // of a group: the sum over segments
    int64_t out_channels = 0;        // of a group
    const float* weights = nullptr;  // of a group, as packed for the kernel
    const float* zeros = nullptr;    // as many as the largest segment's channels, stands for what lies outside
    float* out = nullptr;
    int64_t out_stride = 0;
    // Pixels of `out` from one row and from one column of the result to the next: more than these where the result is every n-th pixel.
    int64_t out_row = 0, out_column = 1;
    Epilogue epilogue;
};

struct ConvKernels {
    int64_t lanes;
    // Output channels of one block of packed weights, [block][segment][kernel_h][kernel_w][channel][columns]; a last block that is
    // not full has as many columns as whole vectors need, zero-filled.
    int64_t block;
    int64_t rows;  // pixels of a full tile: ranges should be multiples
    // Output pixels [begin, end), counted over batch, rows and columns, by output channels [column_begin, column_end), of which both are multiples
    // of `block` or the last.
    void (*direct)(const ConvTask& task, int64_t begin, int64_t end, int64_t column_begin, int64_t column_end);
    // group == channels == output channels (one filter a channel). Weights are [kernel_h][kernel_w][channels]. Output rows, counted
    // over the batch, by channels, whose first is a multiple of `lanes`.
    void (*depthwise)(const ConvTask& task, int64_t row_begin, int64_t row_end, int64_t channel_begin, int64_t channel_end);
};

}  // namespace backplane::cpu
