// Matrix product on the matrix unit of a processor (AMX): tiles of bf16, sums in float32. A number of float32 is up to three planes of bf16, each
// what rounding left of it, and a product of such numbers the products of their planes that count.
#pragma once

#include <stdint.h>

#include "kernels/matmul.h"

namespace backplane::cpu {

// A tile: 16 rows of the left side by 32 depths, or 16 columns of the right side by 32 depths, two depths to a word; of sums 16 x 16.
constexpr int64_t kTileRows = 16;
constexpr int64_t kTileDepth = 32;
constexpr int64_t kTileNumbers = kTileRows * kTileDepth;

// Three planes have all 24 bits of a float32, two 17, one 8.
constexpr int kMostPlanes = 3;
// Of plane i by plane j is counted what is not below 2^-26 of the product of the numbers: i + j <= 2.
constexpr int products_of_planes(int a, int b) {
    int n = 0;
    for (int i = 0; i < a; ++i)
        for (int j = 0; j < b && i + j < kMostPlanes; ++j) ++n;
    return n;
}

constexpr int64_t whole_tiles(int64_t n, int64_t size) { return (n + size - 1) / size; }
// Tiles from one row of them to the next: of a part of the depth all rows of tiles lie in different sets of the second-level cache, which a
// power of two between them would not let them.
constexpr int64_t tile_row(int64_t depth, int planes) {
    constexpr int64_t kApart = 16;
    const int64_t tiles = whole_tiles(depth, kTileDepth) * planes;
    return tiles < 2 * kApart ? tiles : (whole_tiles(tiles, kApart) | 1) * kApart;
}
// Numbers of bf16 that TilesKernels::split writes for so many rows.
constexpr int64_t split_numbers(int64_t rows, int64_t depth, int planes) {
    return whole_tiles(rows, kTileRows) * tile_row(depth, planes) * kTileNumbers;
}

constexpr int64_t kMostTileBlocks = 4;
// Rounded weights in blocks are decoded between products, a pair of vectors of columns by all depths at once, where these are no more;
// so many numbers of the left side are half a second-level cache then.
constexpr int64_t kWholeDepth = 2048;
constexpr int64_t kWholeNumbers = 256 * kWholeDepth;
constexpr bool by_whole_depth(PackedType type, bool exact, int64_t depth) {
    return !exact && block_form(type).depth != 0 && depth <= kWholeDepth;
}

// Floats become panels between the products of the panel before; all else is decoded, and packed in one piece.
constexpr bool packs_between(PackedType type) { return type == kPackedF32 || type == kPackedF16; }

struct TilesTask {
    const uint16_t* a = nullptr;  // tiles of all rows: [rows / 16][tile_row: depth / 32][plane], as split() writes them
    int a_planes = 1, b_planes = 1;
    bool exact = true;  // run() says where planes do not hold all of the right-hand side
    PackedType type = kPackedF32;
    const void* b = nullptr;  // packed, as MatMulTask's
    decltype(MatMulKernels::decode) decode = nullptr;
    float* out = nullptr;
    int64_t out_row = 0, depth = 0, columns = 0;
    // TilesKernels::scratch_bytes, and for each block of columns and each row of a range, whole tiles of rows, row_bytes.
    uint8_t* scratch = nullptr;
    Epilogue epilogue;
};

// Cycles of a core, as whole kernels take them.
struct TileCosts {
    double product;         // of a plane's number by another's
    double decode;          // of a weight, for each range of rows
    double element, plane;  // of an activation, and of a weight for each range of rows: and for each of its planes
};

struct TilesKernels {
    TileCosts costs;
    int64_t scratch_bytes, row_bytes;
    // One tile's rows, at most 16, `row` floats apart, as planes. Says whether these hold all of each number: they do not of a number below
    // 2^-102 that is not zero, and of what is not finite or rounds to what is not; one plane never does.
    bool (*split)(const float* from, int64_t rows, int64_t row, int64_t depth, int planes, uint16_t* into);
    // Rows [row_begin, row_end), row_begin a multiple of 16, and columns as MatMulKernels::run, at most kMostTileBlocks blocks; depth is not 0.
    // Answers a bit for each block that is not done, and of which nothing is written, because its planes do not hold all of its numbers. Null:
    // there is no such unit, or the system keeps it.
    uint32_t (*run)(const TilesTask& task, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end);
};

}  // namespace backplane::cpu
