// Convolution over row-major feature maps, a plane of pixels for each channel, where no other layout is needed: filters of one pixel are a
// matrix product of filters by pixels (MatMulKernels, over what `pack` makes), and filters of one channel run along the rows of its plane.
#pragma once

#include <stdint.h>

#include "kernels/conv.h"

namespace backplane::cpu {

// A rectangle of the result of one filter over one plane.
struct PlaneTask {
    int64_t row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;
};

// Rows of the scratch begin so that what belongs to the first column of the rectangle lies at a cache line: it is stored in whole lines, and
// the middle of a filter reads whole lines.
constexpr int64_t kPlaneLine = 16;  // floats
constexpr int64_t plane_lead(const ConvTask& t) { return (kPlaneLine - t.pad_left % kPlaneLine) % kPlaneLine; }
// Floats of scratch for a rectangle of so many rows and columns.
constexpr int64_t plane_row(const ConvTask& t, int64_t columns, int64_t block) {
    const int64_t row = plane_lead(t) + (columns + block - 1) / block * block + (t.kernel_w - 1) * t.dilation_w;
    return (row + kPlaneLine - 1) / kPlaneLine * kPlaneLine;
}
constexpr int64_t plane_scratch(const ConvTask& t, int64_t rows, int64_t columns, int64_t block) {
    return ((rows - 1) * t.stride_h + (t.kernel_h - 1) * t.dilation_h + 1) * plane_row(t, columns, block);
}

// Filters of one pixel over pixels of planes.
struct PixelsTask {
    const float* from = nullptr;     // the first pixel of the first plane
    int64_t plane = 0, depth = 0;    // floats between planes, and how many there are
    const float* weights = nullptr;  // [filters][depth]
    int64_t filters = 0;
    float* out = nullptr;  // the first pixel of the first filter's result
    int64_t out_plane = 0;
    int64_t pixels = 0,
            first_block = 0;  // how many, and of the first tile: so that the others begin at a line of the result
    int64_t stretch = 0;      // pixels that are packed at a time: ConvKernels::block or multiples of it
    int64_t ahead = 0;        // floats from what is packed to what is asked for
    bool rows_first =
        false;  // of a stretch, all tiles of some filters and then of the next; else all filters of some pixels
    float* scratch = nullptr;  // pixels_scratch() floats
    Epilogue epilogue;         // a row is a filter, a column a pixel
};
constexpr int64_t pixels_scratch(int64_t depth, int64_t stretch) { return 2 * depth * stretch; }

struct PlanarKernels {
    // The first `columns` pixels of `depth` planes, `plane` floats apart, as the packed right-hand side of a product (PackedType).
    // `planes`: of all that the product has; these are from `first` on.
    void (*pack)(const float* from, int64_t plane, int64_t first, int64_t depth, int64_t planes, int64_t columns,
                 float* into);
    // All filters over all pixels of the task.
    void (*pixels)(const PixelsTask& task);
    // One filter of [kernel_h][kernel_w] over the plane segment[0].data, by steps of 1 along rows. In the epilogue row and column are those of
    // the result's plane. Scratch: plane_scratch with ConvKernels::block.
    void (*depthwise)(const ConvTask& task, const PlaneTask& part, float* scratch);
};

}  // namespace backplane::cpu
