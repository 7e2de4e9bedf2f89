// Matrix product with a packed right-hand side.
#pragma once

#include <stdint.h>

#include "kernels/epilogue.h"

namespace backplane::cpu {

// Element types in which packed weights are kept. Blocks of columns are as in ConvKernels; `width` is the columns of one block.
//   f32, f16, bf16   [block][depth][width]
//   the others       [block][depth / BlockForm::depth] { factors, parts of 32 depths }, see BlockForm
enum PackedType {
    kPackedF32 = 0,
    kPackedF16 = 1,
    kPackedBF16 = 2,
    kPackedQ8 = 3,
    kPackedQ4 = 4,
    kPackedQ41 = 5,
    kPackedQ50 = 6,
    kPackedQ51 = 7,
    kPackedIq4 = 8,
    kPackedQ2K = 9,
    kPackedQ3K = 10,
    kPackedQ4K = 11,
    kPackedQ5K = 12,
    kPackedQ6K = 13,
    kPackedIq4Xs = 14
};

// Weights scale * (digit - middle) - least, of block types. A block of all columns:
//   width scales (f16), width leasts (f16), and for each 32 depths
//     for each group, if there are any: [width] what its scale is multiplied by (int8), [width] the same of its least, or both in one
//     byte, the scale's in the low half
//     [bits][width] words: word after word the lower bits of the digits, then the upper. Four depths in a row are the bytes of a word;
//     a word has 1, 2, 4 or 8 such fours, one after the other from the lowest bit of each byte on.
struct BlockForm {
    int64_t depth = 0;  // 0: no such type
    int bits = 0;       // of a digit: 2, 2 + 1, 4, 4 + 1, 4 + 2, 8
    int middle = 0;
    int group = 0;        // depths that share what the factors are multiplied by; 0: the factors are as they are
    bool leasts = false;  // otherwise none, neither here nor in a group
    bool paired = false;  // what the factors are multiplied by is in one byte

    [[nodiscard]] constexpr int lower_bits() const { return bits == 8 ? 8 : bits >= 4 ? 4 : 2; }
    [[nodiscard]] constexpr int groups() const { return group == 16 ? 2 : 1; }  // of 32 depths
    [[nodiscard]] constexpr int factor_bytes() const { return leasts ? 4 : 2; }
    [[nodiscard]] constexpr int group_rows() const { return leasts && !paired ? 2 : 1; }
    [[nodiscard]] constexpr int digits_at() const { return group == 0 ? 0 : groups() * group_rows(); }
    [[nodiscard]] constexpr int part_bytes() const { return digits_at() + 4 * bits; }
    [[nodiscard]] constexpr int64_t bytes() const { return factor_bytes() + depth / 32 * part_bytes(); }
};

constexpr BlockForm block_form(PackedType type) {
    switch (type) {
        case kPackedQ8: return {.depth = 32, .bits = 8, .middle = 128};
        case kPackedQ4: return {.depth = 32, .bits = 4, .middle = 8};
        case kPackedQ41: return {.depth = 32, .bits = 4, .leasts = true};
        case kPackedQ50: return {.depth = 32, .bits = 5, .middle = 16};
        case kPackedQ51: return {.depth = 32, .bits = 5, .leasts = true};
        case kPackedIq4: return {.depth = 32, .bits = 4};                  // the digit is an index of iq4_nl's values
        case kPackedIq4Xs: return {.depth = 256, .bits = 4, .group = 32};  // so here
        case kPackedQ2K: return {.depth = 256, .bits = 2, .group = 16, .leasts = true, .paired = true};
        case kPackedQ3K: return {.depth = 256, .bits = 3, .middle = 4, .group = 16};
        case kPackedQ4K: return {.depth = 256, .bits = 4, .group = 32, .leasts = true};
        case kPackedQ5K: return {.depth = 256, .bits = 5, .group = 32, .leasts = true};
        case kPackedQ6K: return {.depth = 256, .bits = 6, .middle = 32, .group = 16};
        default: return {};
    }
}

// Bytes of one column of packed weights.
constexpr int64_t packed_column_bytes(PackedType type, int64_t depth) {
    const BlockForm form = block_form(type);
    if (form.depth != 0) return depth / form.depth * form.bytes();
    return type == kPackedF32 ? depth * 4 : depth * 2;
}

// A row of activations beside weights of a BlockForm, 32 of them: whole numbers of 31 bits times a power of two, each as four digits of
// eight bits, lowest first, whose products with the weights' digits are whole numbers of one instruction. What a number loses is less than
// eight units of float32 of its own size; an activation that would lose more, much smaller than the largest of the 32, is `inexact`.
struct FixedPoint {
    float step, step_high;  // of one; of 2^16
    uint32_t inexact;       // bit i: what i lost is still to be added
    float high[2], low[2];  // sums of the upper two digits and of the lower two, 2^16 together, of groups: beside leasts
    int32_t less_high[2], less_low[2];  // what products with digits have too much: the same sums, times the middle, negative
    int8_t digits[8][4][4];             // four activations, digit, activation
};

// Digits are indices of iq4_nl's values, of eight bits, which the float kernels look up.
constexpr bool has_indices(PackedType type) { return type == kPackedIq4 || type == kPackedIq4Xs; }
// bytes: MatMulKernels::multiplies_bytes.
constexpr bool in_fixed_point(PackedType type, bool bytes) {
    const int bits = block_form(type).bits;
    return bits != 0 && (bits < 8 || bytes) && !has_indices(type);
}

// Whether activations beside a type may be rounded to bytes (below). `bytes`: as in_fixed_point().
constexpr bool rounds_activations(PackedType type, bool bytes) {
    const int bits = block_form(type).bits;
    return bits != 0 && (bytes || (bits < 8 && !has_indices(type)));
}

// A row of activations beside weights in blocks, 32 of them, where they may be rounded: step * value, a byte each. Not finite where one of them
// is not.
struct RoundedPart {
    float step;
    int32_t less[2];  // of groups: what the products with unsigned digits have too much
    float sums[2];    // of groups: of the activations, for weights that have leasts
    int8_t values[32];
};

// From so many rows on, weights are decoded to floats first.
constexpr int64_t kManyRows = 4;

struct MatMulTask {
    const float* a = nullptr;  // rows x depth, row-major
    int64_t a_row = 0;         // floats between rows
    PackedType type = kPackedF32;
    const void* b = nullptr;  // packed
    float* out = nullptr;
    int64_t out_row = 0, depth = 0, columns = 0;
    float* panel = nullptr;  // for types other than f32: MatMulKernels::panel_floats
    // Of f32, of whole vectors of columns, for kManyRows rows or more: the right-hand side as it is, `plain_row` floats from depth to depth. run()
    // packs it to `panel`, where `b` is then, with the first tile of rows: products are done while it is waited for. Null: `b` is packed.
    const float* plain = nullptr;
    int64_t plain_row = 0;
    float* sums =
        nullptr;  // of parts of the depth, product_sums() floats; null where MatMulKernels::part_depth is not passed
    bool followed = true;  // of f32: what lies behind the right-hand side, packed or plain, is likely to be read next
    // Rows from first_fixed on, depth / 32 each: needed where fewer than kManyRows rows are asked for, of a type that is in_fixed_point,
    // and MatMulKernels::to_fixed_point is there.
    const FixedPoint* fixed = nullptr;
    int64_t first_fixed = 0;
    // All rows, depth / 32 each, where activations may be rounded; null: they may not, or MatMulKernels::round is not there.
    const RoundedPart* rounded = nullptr;
    Epilogue epilogue;
};

// Floats of MatMulTask::sums for so many rows: those of the last tile are written whole. No tile has more than kMostTileRows.
constexpr int64_t kMostTileRows = 12;
constexpr int64_t product_sums(int64_t rows, int64_t block) { return (rows + kMostTileRows - 1) * block; }

struct MatMulKernels {
    int64_t rows;  // of a full tile: ranges should be multiples
    int64_t panel_floats;
    int64_t part_depth;  // more need MatMulTask::sums
    // The instruction set converts f16: otherwise such weights are better kept as f32.
    bool converts_f16;
    // Weights of eight bits, too, are multiplied as whole numbers: in_fixed_point(), rounds_activations().
    bool multiplies_bytes;
    // Of a type whose few rows are done in fixed point: writes n * 32 activations as such. Null: of none.
    void (*to_fixed_point)(PackedType type, const float* from, int64_t n, FixedPoint* into);
    // Of a type that rounds_activations(), where they may be: writes n * 32 of them as such. Null: floats are as fast here.
    void (*round)(PackedType type, const float* from, int64_t n, RoundedPart* into);
    // Of any type but f32: `depth` depths of a block of columns, so many vectors of them, as floats, [depth][vectors * lanes]. `b` is the first of
    // them, of blocks the first of one; what is behind the last is returned. The depths are whole blocks.
    const uint8_t* (*decode)(PackedType type, const uint8_t* b, int64_t vectors, int64_t depth, float* out);
    // Rows [row_begin, row_end) and columns [column_begin, column_end); column_begin is a multiple of ConvKernels::block, so is
    // column_end unless it is the last.
    void (*run)(const MatMulTask& task, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end);
};

}  // namespace backplane::cpu
