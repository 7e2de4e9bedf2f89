#include "tensor_maps.hpp"

#include <algorithm>
#include <cstring>

#include "common/gpu/kernel_words.hpp"
#include "kernels_generated.h"

namespace backplane::cuda {

namespace {

constexpr uint32_t kSlice = 64;  // of the depth
constexpr uint32_t kRows = 128;  // of a tile
constexpr uint32_t kRowsOfConv = 8, kDepthOfConv = 16;

template <typename Record>
Record record_of(std::span<const uint32_t> words) {
    Record record{};
    std::memcpy(&record, words.data(), std::min(words.size_bytes(), sizeof record));
    return record;
}

// How many matrices of an operand the batch goes through.
uint64_t matrices(const gpu::MatMulParameters& p, const uint32_t (&steps)[8]) {
    uint64_t last = 0;
    for (uint32_t d = 0; d < p.batch_rank; ++d) last += uint64_t{p.sizes[d] - 1} * steps[d];
    return last + 1;
}

// `across` lines of `depth`, or the other way round, of which `size` are copied at once.
Boxes slice_of(uint32_t operand, bool turned, uint32_t across, uint32_t depth, uint64_t count, uint32_t size) {
    Boxes boxes;
    boxes.operand = operand;
    boxes.extents[0] = turned ? across : depth;
    boxes.extents[1] = turned ? depth : across;
    boxes.extents[2] = count;
    boxes.strides[0] = 2 * boxes.extents[0];
    boxes.strides[1] = boxes.strides[0] * boxes.extents[1];
    boxes.box[1] = turned ? kSlice : size;
    return boxes;
}

// An operand of attention as words behind the record say that it lies: lines of a head, of which `size` are copied at once.
Boxes lines_of(std::span<const uint32_t> words, uint32_t operand, uint32_t depth, uint32_t rows, uint32_t heads,
               uint32_t batch, uint32_t size) {
    const std::span<const uint32_t> view = words.subspan(ATTENTION_VIEWS + 4 * operand, 4);
    Boxes boxes;
    boxes.operand = operand;
    boxes.axes = 4;
    boxes.first = uint64_t{2} * view[VIEW_FIRST];
    boxes.extents[0] = depth, boxes.extents[1] = rows, boxes.extents[2] = heads, boxes.extents[3] = batch;
    boxes.strides[0] = uint64_t{2} * view[VIEW_ROW], boxes.strides[1] = uint64_t{2} * view[VIEW_HEAD];
    boxes.strides[2] = uint64_t{2} * view[VIEW_BATCH];
    boxes.box[1] = size;
    return boxes;
}

// Channels and rows are exchanged: lines of one row of pixels, a channel each, lie together, as the matrix units want them.
Boxes pixels_of(const gpu::ConvParameters& p, uint32_t batch, uint32_t kernel_h) {
    Boxes boxes;
    boxes.axes = 4;
    boxes.extents[0] = p.width, boxes.extents[1] = p.channels, boxes.extents[2] = p.height, boxes.extents[3] = batch;
    boxes.strides[1] = uint64_t{2} * p.width;
    boxes.strides[0] = boxes.strides[1] * p.height;
    boxes.strides[2] = boxes.strides[0] * p.channels;
    boxes.box[1] = kDepthOfConv, boxes.box[2] = kRowsOfConv + kernel_h - 1;
    return boxes;
}

// A map in bundles; `blocks`: bundles of a pixel in this operand.
Boxes bundles_of(uint32_t operand, uint32_t width, uint32_t height, uint64_t blocks) {
    constexpr uint32_t kBundle = 64;
    Boxes boxes;
    boxes.operand = operand;
    boxes.axes = 4;
    boxes.extents[0] = kBundle, boxes.extents[1] = width, boxes.extents[2] = height, boxes.extents[3] = blocks;
    boxes.strides[0] = uint64_t{2} * kBundle;
    boxes.strides[1] = boxes.strides[0] * width;
    boxes.strides[2] = boxes.strides[1] * height;
    boxes.box[1] = 64;  // pixels of a row
    return boxes;
}

// Half a bundle of each pixel of the rows that a tile sees. PITCH of the kernel leaves room for what is beside a row.
Boxes half_bundles_of(Boxes boxes, uint32_t kernel) {
    constexpr uint32_t kPixels = 64, kBeside = 8;
    boxes.box[0] = boxes.box[0] / 2, boxes.box[1] = kernel == 1 ? kPixels : kPixels + kBeside;
    boxes.box[2] = kRowsOfConv + kernel - 1;
    boxes.swizzle = kMapSwizzle64;
    return boxes;
}

bool has_kind(uint32_t kinds, uint32_t kind) {
    for (; kinds != 0; kinds >>= 4)
        if ((kinds & 15) == kind + 1) return true;
    return false;
}

// Of both maps that are read, of those that are added, and of the result; of what is not there or not in bundles one of nothing.
std::vector<Boxes> boxes_of_bundles(std::span<const uint32_t> constants, const gpu::ConvParameters& p, uint32_t batch) {
    const uint32_t kernel = constants[3], split = constants[7], rest = p.channels / 64 - split;
    const uint64_t made = constants[5] != 0 ? uint64_t{batch} * p.blocks : 0;
    const auto read = [&](uint32_t operand, uint32_t width, uint32_t height, uint64_t blocks) {
        return half_bundles_of(bundles_of(operand, width, height, blocks), kernel);
    };
    const auto added = [&](uint32_t operand, uint32_t kind) {
        return read(operand, p.out_width, p.out_height, has_kind(constants[1], kind) ? made : 0);
    };
    return {read(0, p.width, p.height, uint64_t{batch} * split),
            read(5, p.width, p.height, uint64_t{batch} * (rest != 0 ? rest : split)), added(3, EPILOGUE_ADD_FIRST),
            added(4, EPILOGUE_ADD_SECOND), bundles_of(6, p.out_width, p.out_height, made)};
}

}  // namespace

std::vector<Boxes> boxes_of(uint32_t kernel, std::span<const uint32_t> constants, std::span<const uint32_t> words,
                            uint32_t batch) {
    if (kernel == gpu::kKernel_attention_warpgroup_f16 || kernel == gpu::kKernel_attention_warpgroup_f16_bool) {
        const auto p = record_of<gpu::AttentionParameters>(words);
        const uint32_t batches = p.pairs / p.heads, of_keys = p.heads / p.sharing;
        return {lines_of(words, 0, p.depth, p.rows, p.heads, batches, constants[1]),
                lines_of(words, 1, p.depth, p.keys, of_keys, batches, constants[2]),
                lines_of(words, 2, p.width, p.keys, of_keys, batches, constants[2]),
                slice_of(5, false, p.distances, p.depth, p.heads, constants[2])};
    }
    if (kernel == gpu::kKernel_conv_warpgroup_f16)
        return {pixels_of(record_of<gpu::ConvParameters>(words), batch, constants[3])};
    if (kernel == gpu::kKernel_conv_warpgroup_bundles_f16)
        return boxes_of_bundles(constants, record_of<gpu::ConvParameters>(words), batch);
    if (kernel != gpu::kKernel_matmul_warpgroup_f16 && kernel != gpu::kKernel_matmul_warpgroup_split_f16) return {};
    const auto p = record_of<gpu::MatMulParameters>(words);
    return {slice_of(0, constants[5] != 0, p.rows, p.depth, matrices(p, p.steps_a), kRows),
            slice_of(1, constants[6] == 0, p.columns, p.depth, matrices(p, p.steps_b), constants[3])};
}

}  // namespace backplane::cuda
