#include "kernels/matmul.h"

#include "kernels/block_weights.h"
#include "kernels/panel.h"
#include "kernels/rounded.h"
#include "kernels/tile.h"

namespace {

using backplane::cpu::packed_column_bytes;

constexpr int64_t kBlockPanelDepth = 256;  // of types that have a BlockForm

template <PackedType TYPE>
struct TypeIs {
    static constexpr PackedType value = TYPE;
};

// One vector of weights, of types with one element to a number.
template <PackedType TYPE>
HWY_INLINE VF weights_at(const uint8_t* at) {
    if constexpr (TYPE == backplane::cpu::kPackedF32) {
        return hn::LoadU(f, reinterpret_cast<const float*>(at));
    } else if constexpr (TYPE == backplane::cpu::kPackedF16) {
        return from_half(at);
    } else {
        const hn::Rebind<uint16_t, F> d;
        const auto wide = hn::PromoteTo(I(), hn::LoadU(d, reinterpret_cast<const uint16_t*>(at)));
        return hn::BitCast(f, hn::ShiftLeft<16>(wide));
    }
}

// Bytes of one vector of weights.
constexpr int64_t vector_bytes(PackedType type) { return kLanes * (type == backplane::cpu::kPackedF32 ? 4 : 2); }

// Weights are asked for so many bytes ahead. By itself the processor asks for no more than the rest of a page, and has so much to do with
// them that it does not come to those of the next page in time.
constexpr int64_t kAhead = 12288;

// A few rows: weights are decoded in registers, and all of the depth is summed there.
template <PackedType TYPE, int ROWS, int VECTORS>
HWY_NOINLINE void few_rows(const MatMulTask& t, int64_t row, int64_t column, const uint8_t* b) {
    // One row has too few sums to hide the latency of the additions.
    constexpr int SETS = ROWS == 1 ? 2 : 1;
    constexpr int64_t kStep = VECTORS * vector_bytes(TYPE);
    const int64_t columns = HWY_MIN(kBlock, t.columns - column);
    const float* a[ROWS];
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        rows[i] = row + i;
        a[i] = t.a + rows[i] * t.a_row;
    }
    Tile<ROWS, VECTORS> tile;
    clear(tile);
    for (int64_t k = 0; k < t.depth; k += kPartDepth) {
        const int64_t n = HWY_MIN(kPartDepth, t.depth - k);
        Tile<ROWS, VECTORS> part[SETS];
        for (int s = 0; s < SETS; ++s) clear(part[s]);
        auto one = [&](int s, int64_t depth) HWY_ATTR {
#pragma GCC unroll 4
            for (int64_t i = 0; i < kStep; i += kLine) __builtin_prefetch(b + kAhead + i);
            VF w[VECTORS];
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) w[j] = weights_at<TYPE>(b + j * vector_bytes(TYPE));
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; ++r) {
                const VF x = hn::Set(f, a[r][depth]);
#pragma GCC unroll 4
                for (int j = 0; j < VECTORS; ++j) part[s].v[r][j] = hn::MulAdd(x, w[j], part[s].v[r][j]);
            }
            b += kStep;
        };
        int64_t at = 0;
        for (; at + 2 <= n; at += 2) {
            one(0, k + at);
            one(SETS - 1, k + at + 1);
        }
        if (at < n) one(0, k + at);
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) {
#pragma GCC unroll 4
            for (int i = 0; i < ROWS; ++i) {
                VF sum = part[0].v[i][j];
                if constexpr (SETS == 2) sum = hn::Add(sum, part[1].v[i][j]);
                tile.v[i][j] = hn::Add(sum, tile.v[i][j]);
            }
        }
    }
    finish_and_store(tile, t.epilogue, rows, column, columns, t.out, t.out_row);
}

// Sums of `vectors` vectors of columns, which are in the first of kVectors.
template <int ROWS, int VECTORS = kVectors>
HWY_INLINE void store_sums(const MatMulTask& t, int64_t row, int64_t column, int64_t vectors,
                           const VF (&sums)[ROWS][kVectors]) {
    if (vectors < VECTORS) {
        if constexpr (VECTORS > 1) store_sums<ROWS, VECTORS - 1>(t, row, column, vectors, sums);
        return;
    }
    Tile<ROWS, VECTORS> tile;
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        rows[i] = row + i;
        for (int j = 0; j < VECTORS; ++j) tile.v[i][j] = sums[i][j];
    }
    finish_and_store(tile, t.epilogue, rows, column, HWY_MIN(kBlock, t.columns - column), t.out, t.out_row);
}

// Asks for the bytes that come some pages after these. Of whole blocks of columns the compiler knows how many: counting them was a tenth of
// all instructions of a row.
template <PackedType TYPE>
HWY_INLINE void ask_ahead(const uint8_t* block, int64_t vectors, int64_t part) {
    constexpr BlockForm kForm = block_form(TYPE);
    constexpr int64_t kParts = kForm.depth / kPartDepth;
    constexpr int64_t kWhole = kForm.bytes() * kBlock / kParts;
    if (vectors == kVectors) {
        const uint8_t* at = block + part * kWhole + kAhead;
#pragma GCC unroll 64
        for (int64_t i = 0; i < kWhole; i += kLine) __builtin_prefetch(at + i);
        return;
    }
    const int64_t bytes = kForm.bytes() * vectors * kLanes;
    for (int64_t i = part * bytes / kParts; i < (part + 1) * bytes / kParts; i += kLine)
        __builtin_prefetch(block + kAhead + i);
}

// Between two vectors of columns: otherwise the compiler keeps all activations for the next, for which there are no registers.
HWY_INLINE void forget_activations() { __asm__ volatile("" ::: "memory"); }

// A few rows by weights that are decoded in registers.
template <PackedType TYPE, int ROWS>
HWY_NOINLINE void few_rows_in_floats(const MatMulTask& t, int64_t row, int64_t column, int64_t vectors, const uint8_t* b) {
    constexpr int SETS = ROWS == 1 ? 2 : 1;
    constexpr BlockForm kForm = block_form(TYPE);
    const int64_t width = vectors * kLanes;
    VF total[ROWS][kVectors];
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < kVectors; ++j) total[i][j] = hn::Zero(f);
    for (int64_t k = 0; k < t.depth; k += kPartDepth) {
        const uint8_t* block = b + k / kForm.depth * kForm.bytes() * width;
        const int64_t part = k % kForm.depth / kPartDepth;
        ask_ahead<TYPE>(block, vectors, part);
        for (int64_t j = 0; j < vectors; ++j) {
            VF sums[SETS][ROWS];
            for (int s = 0; s < SETS; ++s)
                for (int i = 0; i < ROWS; ++i) sums[s][i] = hn::Zero(f);
            const BlockPart<TYPE> weights(block, width, j * kLanes, part);
            weights.each([&](int64_t depth, VF w) HWY_ATTR {
#pragma GCC unroll 4
                for (int i = 0; i < ROWS; ++i) {
                    VF& sum = sums[depth % SETS][i];
                    sum = hn::MulAdd(hn::Set(f, t.a[(row + i) * t.a_row + k + depth]), w, sum);
                }
            });
            for (int i = 0; i < ROWS; ++i)
                for (int s = 0; s < SETS; ++s) total[i][j] = hn::Add(total[i][j], sums[s][i]);
            forget_activations();
        }
    }
    store_sums(t, row, column, vectors, total);
}

#if BP_BYTE_PRODUCTS
// A few rows of activations in fixed point.
template <PackedType TYPE>
HWY_NOINLINE void few_rows_in_bytes(const MatMulTask& t, int64_t row, int64_t column, int64_t vectors, const uint8_t* b) {
    constexpr BlockForm kForm = block_form(TYPE);
    const int64_t width = vectors * kLanes;
    VF total[1][kVectors];
    for (int j = 0; j < kVectors; ++j) total[0][j] = hn::Zero(f);
    const FixedPoint* x = t.fixed + (row - t.first_fixed) * (t.depth / kPartDepth);
    BlockFactors factors[kVectors];  // of a block of several parts
    for (int64_t k = 0; k < t.depth; k += kPartDepth, ++x) {
        const uint8_t* block = b + k / kForm.depth * kForm.bytes() * width;
        const int64_t part = k % kForm.depth / kPartDepth;
        ask_ahead<TYPE>(block, vectors, part);
        if (kForm.depth != kPartDepth && vectors == kVectors && part == 0)
            for (int j = 0; j < kVectors; ++j) factors[j] = BlockPart<TYPE>(block, width, j * kLanes, 0).factors();
        const auto at = [&](int64_t j) HWY_ATTR {
            const bool known = kForm.depth != kPartDepth && vectors == kVectors;
            return BlockPart<TYPE>(block, width, j * kLanes, part, known ? factors + j : nullptr);
        };
        // All vectors share what is read of the activations, and their sums do not wait for each other.
        if (vectors == kVectors) {
            if constexpr (kVectors == 4) add_products<TYPE, 4>({at(0), at(1), at(2), at(3)}, *x, total[0]);
            if constexpr (kVectors == 2) add_products<TYPE, 2>({at(0), at(1)}, *x, total[0]);
        } else {
            for (int64_t j = 0; j < vectors; ++j) {
                add_products<TYPE, 1>({at(j)}, *x, total[0] + j);
                forget_activations();
            }
        }
        if (x->inexact != 0) add_inexact<TYPE>(block, width, part, t.a + row * t.a_row + k, *x, total[0]);
    }
    store_sums(t, row, column, vectors, total);
}
#endif

template <PackedType TYPE>
HWY_INLINE void few_rows_of_blocks(const MatMulTask& t, int64_t row, int64_t rows, int64_t column, int64_t vectors,
                                   const uint8_t* b) {
#if BP_BYTE_PRODUCTS
    if constexpr (backplane::cpu::in_fixed_point(TYPE, kMultipliesBytes)) {
        for (int64_t i = 0; i < rows; ++i) few_rows_in_bytes<TYPE>(t, row + i, column, vectors, b);
    } else
#endif
    {
        if (rows == 1) few_rows_in_floats<TYPE, 1>(t, row, column, vectors, b);
        if (rows == 2) few_rows_in_floats<TYPE, 2>(t, row, column, vectors, b);
        if (rows == 3) few_rows_in_floats<TYPE, 3>(t, row, column, vectors, b);
    }
}

// `depth` rows of a block of columns as floats; what follows them is returned.
template <PackedType TYPE, int VECTORS>
HWY_NOINLINE const uint8_t* decode_panel(const uint8_t* b, int64_t depth, float* out) {
    for (int64_t i = 0; i < depth * VECTORS; ++i, b += vector_bytes(TYPE), out += kLanes)
        hn::StoreU(weights_at<TYPE>(b), f, out);
    return b;
}

template <PackedType TYPE>
HWY_NOINLINE const uint8_t* decode_blocks(const uint8_t* b, int64_t vectors, int64_t depth, float* out) {
    constexpr BlockForm kForm = block_form(TYPE);
    const int64_t width = vectors * kLanes;
    for (int64_t k = 0; k < depth; k += kPartDepth)
        for (int64_t j = 0; j < vectors; ++j) {
            const uint8_t* block = b + k / kForm.depth * kForm.bytes() * width;
            float* into = out + k * width + j * kLanes;
            const BlockPart<TYPE> part(block, width, j * kLanes, k % kForm.depth / kPartDepth);
            part.each([&](int64_t i, VF w) HWY_ATTR { hn::StoreU(w, f, into + i * width); });
        }
    return b + depth / kForm.depth * kForm.bytes() * width;
}

template <PackedType TYPE>
const uint8_t* decode_vectors(const uint8_t* b, int64_t vectors, int64_t depth, float* out) {
    if constexpr (block_form(TYPE).depth != 0) {
        return decode_blocks<TYPE>(b, vectors, depth, out);
    } else {
        switch (vectors) {
            case 1: return decode_panel<TYPE, 1>(b, depth, out);
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3 && HWY_TARGET != HWY_AVX2
            case 3: return decode_panel<TYPE, 3>(b, depth, out);
            case 4: return decode_panel<TYPE, 4>(b, depth, out);
#endif
            default: return decode_panel<TYPE, 2>(b, depth, out);
        }
    }
}

template <PackedType TYPE, int VECTORS>
HWY_INLINE void block(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column, const uint8_t* b) {
    // A few rows would waste most of a full tile, and decoding a panel costs more than it spares.
    switch (row_end - row_begin) {
        case 1: return few_rows<TYPE, 1, VECTORS>(t, row_begin, column, b);
        case 2: return few_rows<TYPE, 2, VECTORS>(t, row_begin, column, b);
        case 3: return few_rows<TYPE, 3, VECTORS>(t, row_begin, column, b);
        default: break;
    }
    for (int64_t k = 0; k == 0 || k < t.depth; k += kDepth) {
        const int64_t end = HWY_MIN(k + kDepth, t.depth);
        if constexpr (TYPE == backplane::cpu::kPackedF32) {
            const auto* at = reinterpret_cast<const float*>(b) + k * VECTORS * kLanes;
            const int64_t times = parts(row_end - row_begin, rows_of(VECTORS)) * parts(end - k, kLineFloats);
            const Asking next = next_of<VECTORS>(t, column, at, k, end, times);
            panel<rows_of(VECTORS), VECTORS>(t, {row_begin, row_end, column, k, end, at}, next);
        } else {
            b = decode_panel<TYPE, VECTORS>(b, end - k, t.panel);
            panel<rows_of(VECTORS), VECTORS>(t, {row_begin, row_end, column, k, end, t.panel}, Asking());
        }
    }
}

#if BP_ROUNDED_PRODUCTS
// A row of activations that are bytes.
template <PackedType TYPE>
HWY_NOINLINE void rounded_row(const MatMulTask& t, int64_t row, int64_t column, int64_t vectors, const uint8_t* b) {
    constexpr BlockForm kForm = block_form(TYPE);
    const int64_t width = vectors * kLanes;
    const RoundedPart* x[1] = {t.rounded + row * (t.depth / kPartDepth)};
    Tile<1, kVectors> total;
    clear(total);
    for (int64_t k = 0; k < t.depth; k += kPartDepth, ++x[0]) {
        const uint8_t* block = b + k / kForm.depth * kForm.bytes() * width;
        const int64_t part = k % kForm.depth / kPartDepth;
        ask_ahead<TYPE>(block, vectors, part);
        const auto at = [&](int64_t j) HWY_ATTR { return BlockPart<TYPE>(block, width, j * kLanes, part); };
        if (vectors == kVectors) {
            if constexpr (kVectors == 4)
                add_part<sum_form<TYPE>()>(total, x, 0, PackedPart<TYPE, 4>{{at(0), at(1), at(2), at(3)}});
            if constexpr (kVectors == 2) add_part<sum_form<TYPE>()>(total, x, 0, PackedPart<TYPE, 2>{{at(0), at(1)}});
        } else {
            for (int64_t j = 0; j < vectors; ++j) {
                Tile<1, 1> one{{{total.v[0][j]}}};
                add_part<sum_form<TYPE>()>(one, x, 0, PackedPart<TYPE, 1>{{at(j)}});
                total.v[0][j] = one.v[0][0];
                forget_activations();
            }
        }
    }
    store_sums(t, row, column, vectors, total.v);
}

template <PackedType TYPE>
HWY_INLINE void rounded_block(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column, int64_t vectors,
                              const uint8_t* b) {
    if (row_end - row_begin < backplane::cpu::kManyRows) {
        for (int64_t row = row_begin; row < row_end; ++row) rounded_row<TYPE>(t, row, column, vectors, b);
        return;
    }
    for (int64_t k = 0; k < t.depth; k += kBlockPanelDepth) {
        const int64_t end = HWY_MIN(k + kBlockPanelDepth, t.depth);
        b = decode_bytes<TYPE>(b, vectors, end - k, t.panel);
        rounded_panel_of<sum_form<TYPE>()>(vectors, t, row_begin, row_end, column, t.panel, k, end);
    }
}
#endif

template <PackedType TYPE>
void run_blocks(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    for (int64_t column = column_begin; column < column_end; column += kBlock) {
        const uint8_t* b = static_cast<const uint8_t*>(t.b) + column * packed_column_bytes(TYPE, t.depth);
        const int64_t vectors = (HWY_MIN(kBlock, t.columns - column) + kLanes - 1) / kLanes;
#if BP_ROUNDED_PRODUCTS
        if constexpr (backplane::cpu::rounds_activations(TYPE, kMultipliesBytes))
            if (t.rounded != nullptr && t.depth > 0) {
                rounded_block<TYPE>(t, row_begin, row_end, column, vectors, b);
                continue;
            }
#endif
        const int64_t rows = row_end - row_begin;
        if (rows < backplane::cpu::kManyRows) {
            few_rows_of_blocks<TYPE>(t, row_begin, rows, column, vectors, b);
            continue;
        }
        for (int64_t k = 0; k == 0 || k < t.depth; k += kBlockPanelDepth) {
            const int64_t end = HWY_MIN(k + kBlockPanelDepth, t.depth);
            b = decode_blocks<TYPE>(b, vectors, end - k, t.panel);
            panel_of(vectors, t, {row_begin, row_end, column, k, end, t.panel}, Asking());
        }
    }
}

template <PackedType TYPE>
void run_type(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    for (int64_t column = column_begin; column < column_end; column += kBlock) {
        const uint8_t* b = static_cast<const uint8_t*>(t.b) + column * packed_column_bytes(TYPE, t.depth);
        switch ((HWY_MIN(kBlock, t.columns - column) + kLanes - 1) / kLanes) {
            case 1: block<TYPE, 1>(t, row_begin, row_end, column, b); break;
            case 2: block<TYPE, 2>(t, row_begin, row_end, column, b); break;
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3 && HWY_TARGET != HWY_AVX2
            case 3: block<TYPE, 3>(t, row_begin, row_end, column, b); break;
            default: block<TYPE, 4>(t, row_begin, row_end, column, b); break;
#endif
        }
    }
}

// with(type) for the type, whose value the compiler then knows.
template <typename With>
HWY_INLINE auto for_type(PackedType type, const With& with) {
    using namespace backplane::cpu;
    switch (type) {
#define BP_CASE(name) \
    case name: return with(TypeIs<name>{})
        BP_CASE(kPackedF16);
        BP_CASE(kPackedBF16);
        BP_CASE(kPackedQ8);
        BP_CASE(kPackedQ4);
        BP_CASE(kPackedQ41);
        BP_CASE(kPackedQ50);
        BP_CASE(kPackedQ51);
        BP_CASE(kPackedIq4);
        BP_CASE(kPackedQ2K);
        BP_CASE(kPackedQ3K);
        BP_CASE(kPackedQ4K);
        BP_CASE(kPackedQ5K);
        BP_CASE(kPackedQ6K);
        BP_CASE(kPackedIq4Xs);
#undef BP_CASE
        default: return with(TypeIs<kPackedF32>{});
    }
}

void run(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    for_type(t.type, [&](auto type) {
        if constexpr (block_form(type.value).depth != 0) {
            run_blocks<type.value>(t, row_begin, row_end, column_begin, column_end);
        } else {
            run_type<type.value>(t, row_begin, row_end, column_begin, column_end);
        }
    });
}

const uint8_t* decode(PackedType of, const uint8_t* b, int64_t vectors, int64_t depth, float* out) {
    return for_type(of, [&](auto type) { return decode_vectors<type.value>(b, vectors, depth, out); });
}

}  // namespace

BP_CPU_ENTRY(matmul, MatMulKernels) {
    table->rows = rows_of(kVectors);
    table->panel_floats = kBlockPanelDepth * kBlock;
    table->part_depth = kDepth;
    table->converts_f16 =
        HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3;
#if BP_BYTE_PRODUCTS
    table->to_fixed_point = to_fixed_point;
#else
    table->to_fixed_point = nullptr;
#endif
    table->multiplies_bytes = kMultipliesBytes;
#if BP_ROUNDED_PRODUCTS
    table->round = round_activations;
#else
    table->round = nullptr;
#endif
    table->decode = decode;
    table->run = run;
}
