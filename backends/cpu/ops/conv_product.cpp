#include "ops/conv_product.hpp"

#include <algorithm>

#include "weights.hpp"

namespace backplane::cpu::ops::conv {

namespace {

constexpr int64_t kRowsOfChunk = 96;  // pixels
constexpr int64_t kChunksOfThread = 4;

}  // namespace

bool is_product(const ConvTask& t) {
    return t.segments == 1 && t.channels > 1 && t.kernel_h == 1 && t.kernel_w == 1 && t.stride_h == 1 && t.stride_w == 1 &&
           t.pad_top == 0 && t.pad_left == 0 && t.height == t.out_height && t.width == t.out_width;
}

uint64_t product_scratch(const ConvKernels& kernels) {
    return static_cast<uint64_t>(product_sums(kRowsOfChunk, kernels.block)) * sizeof(float);
}

void compute_product(const Run& run, const Kernels& kernels, const ConvTask& task, int64_t pixels) {
    MatMulTask product;
    product.a = task.segment[0].data;
    product.a_row = task.segment[0].stride;
    product.b = task.weights;  // packed as a product's
    product.out = task.out;
    product.out_row = task.out_stride;
    product.depth = task.channels;
    product.columns = task.out_channels;
    product.epilogue = task.epilogue;
    const int64_t ranges = (pixels + kRowsOfChunk - 1) / kRowsOfChunk;
    const int64_t blocks = (task.out_channels + kernels.conv.block - 1) / kernels.conv.block;
    // All filters at a time, so that pixels come from the second-level cache but once, where that is work enough for all threads.
    const int64_t at_once = ranges >= kChunksOfThread * run.pool().threads() ? blocks : 1;
    const int64_t column_parts = (blocks + at_once - 1) / at_once;
    run.parallel(ranges * column_parts, [&](uint32_t i, std::byte* scratch) {
        MatMulTask mine = product;
        if (mine.depth > kernels.matmul.part_depth) mine.sums = reinterpret_cast<float*>(scratch);
        const int64_t row = i / column_parts * kRowsOfChunk;
        const int64_t column = i % column_parts * at_once * kernels.conv.block;
        kernels.matmul.run(mine, row, std::min(pixels, row + kRowsOfChunk), column,
                           std::min(task.out_channels, column + at_once * kernels.conv.block));
    });
}

}  // namespace backplane::cpu::ops::conv
