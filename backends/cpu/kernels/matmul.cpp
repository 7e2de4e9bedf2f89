#include "kernels/matmul.h"

#include "kernels/tile.h"

namespace {

using backplane::cpu::MatMulTask;
using backplane::cpu::packed_column_bytes;
using backplane::cpu::PackedType;

// Depth of one pass over the rows: a panel of the right-hand side (192 x 64 floats, 49 KB) stays in the nearest caches while all rows
// of a range go over it. A multiple of the block types' 32.
constexpr int64_t kDepth = 192;
constexpr int64_t kBlockDepth = 32;
constexpr int64_t kLongDepth = 256;  // of the blocks that have scales of scales, and of their panels

constexpr bool in_blocks(PackedType type) { return type == backplane::cpu::kPackedQ8 || type == backplane::cpu::kPackedQ4; }

constexpr bool in_long_blocks(PackedType type) {
    return type == backplane::cpu::kPackedFourBits || type == backplane::cpu::kPackedSixBits;
}
constexpr int64_t panel_depth(PackedType type) { return in_long_blocks(type) ? kLongDepth : kDepth; }
constexpr int64_t part_depth(PackedType type) { return in_long_blocks(type) ? kLongDepth : kBlockDepth; }

// One vector of weights, of types with one element to a number.
template <PackedType TYPE>
HWY_INLINE VF weights_at(const uint8_t* at) {
    if constexpr (TYPE == backplane::cpu::kPackedF32) {
        return hn::LoadU(f, reinterpret_cast<const float*>(at));
    } else if constexpr (TYPE == backplane::cpu::kPackedF16) {
        return from_half(at);
    } else if constexpr (TYPE == backplane::cpu::kPackedBF16) {
        const hn::Rebind<uint16_t, F> d;
        const auto wide = hn::PromoteTo(I(), hn::LoadU(d, reinterpret_cast<const uint16_t*>(at)));
        return hn::BitCast(f, hn::ShiftLeft<16>(wide));
    } else {
        return from_int8(at);
    }
}

using VI = hn::Vec<I>;

HWY_INLINE VI bytes_at(const uint8_t* at) { return hn::PromoteTo(I(), hn::LoadU(hn::Rebind<uint8_t, F>(), at)); }

// Two vectors from the nibbles of one, less MIDDLE.
template <int MIDDLE>
HWY_INLINE void from_nibbles(const VI pair, VF& low, VF& high) {
#if HWY_TARGET == HWY_AVX3
    // The permutation looks at the low four bits of an index only.
    const VF values = hn::Iota(f, -MIDDLE);
    low = VF{_mm512_permutexvar_ps(pair.raw, values.raw)};
    high = VF{_mm512_permutexvar_ps(hn::ShiftRight<4>(pair).raw, values.raw)};
#else
    const auto middle = hn::Set(I(), MIDDLE);
    low = hn::ConvertTo(f, hn::Sub(hn::And(pair, hn::Set(I(), 15)), middle));
    high = hn::ConvertTo(f, hn::Sub(hn::ShiftRight<4>(pair), middle));
#endif
}

// 16 times the two bits from SHIFT on, less 32.
template <int SHIFT>
HWY_INLINE VF from_two_bits(const VI bytes) {
    const VI at = hn::ShiftRight<SHIFT>(bytes);
#if HWY_TARGET == HWY_AVX3
    const VF values{_mm512_setr_ps(-32, -16, 0, 16, -32, -16, 0, 16, -32, -16, 0, 16, -32, -16, 0, 16)};
    return VF{_mm512_permutexvar_ps(at.raw, values.raw)};
#else
    return hn::ConvertTo(f, hn::Sub(hn::ShiftLeft<4>(hn::And(at, hn::Set(I(), 3))), hn::Set(I(), 32)));
#endif
}

// A long block of four bits: calls use(depth, which vector of columns, weights, which of two sums), in an order that suits the bytes and
// keeps few weights in registers.
template <int VECTORS, typename Use>
HWY_INLINE const uint8_t* each_of_four_bits(const uint8_t* b, const Use& use) {
    constexpr int64_t kWidth = VECTORS * kLanes;
    const uint8_t* factors = b;
    b += 4 * kWidth;
    for (int64_t k = 0; k < kLongDepth; k += 32, b += 2 * kWidth) {
        VF scale[VECTORS], least[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) {
            const int64_t at = j * kLanes;
            scale[j] = hn::Mul(from_half(factors + 2 * at), hn::ConvertTo(f, bytes_at(b + at)));
            least[j] = hn::Mul(from_half(factors + 2 * (kWidth + at)), hn::ConvertTo(f, bytes_at(b + kWidth + at)));
        }
        for (int64_t i = 0; i < 16; ++i, b += kWidth) {
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) {
                VF low, high;
                from_nibbles<0>(bytes_at(b + 2 * kWidth + j * kLanes), low, high);
                use(k + i, j, hn::MulSub(low, scale[j], least[j]), 0);
                use(k + i + 16, j, hn::MulSub(high, scale[j], least[j]), 1);
            }
        }
    }
    return b;
}

// The same of six bits.
template <int VECTORS, typename Use>
HWY_INLINE const uint8_t* each_of_six_bits(const uint8_t* b, const Use& use) {
    constexpr int64_t kWidth = VECTORS * kLanes;
    const uint8_t* factors = b;
    b += 2 * kWidth;
    for (int64_t k = 0; k < kLongDepth; k += 64, b += 52 * kWidth) {
        VF scale[4][VECTORS];
#pragma GCC unroll 4
        for (int g = 0; g < 4; ++g)
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j)
                scale[g][j] = hn::Mul(from_half(factors + 2 * j * kLanes), from_int8(b + g * kWidth + j * kLanes));
        for (int64_t i = 0; i < 16; ++i) {
            const uint8_t* nibbles = b + (4 + i) * kWidth;
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) {
                VF w[4];
                const VI upper = bytes_at(nibbles + 32 * kWidth + j * kLanes);
                from_nibbles<0>(bytes_at(nibbles + j * kLanes), w[0], w[2]);
                from_nibbles<0>(bytes_at(nibbles + 16 * kWidth + j * kLanes), w[1], w[3]);
                use(k + i, j, hn::Mul(hn::Add(w[0], from_two_bits<0>(upper)), scale[0][j]), 0);
                use(k + i + 16, j, hn::Mul(hn::Add(w[1], from_two_bits<2>(upper)), scale[1][j]), 1);
                use(k + i + 32, j, hn::Mul(hn::Add(w[2], from_two_bits<4>(upper)), scale[2][j]), 0);
                use(k + i + 48, j, hn::Mul(hn::Add(w[3], from_two_bits<6>(upper)), scale[3][j]), 1);
            }
        }
    }
    return b;
}

template <PackedType TYPE, int VECTORS, typename Use>
HWY_INLINE const uint8_t* each_of_long_block(const uint8_t* b, const Use& use) {
    if constexpr (TYPE == backplane::cpu::kPackedFourBits) {
        return each_of_four_bits<VECTORS>(b, use);
    } else {
        return each_of_six_bits<VECTORS>(b, use);
    }
}

// Bytes of one vector of weights.
constexpr int64_t vector_bytes(PackedType type) {
    return kLanes * (type == backplane::cpu::kPackedF32 ? 4 : in_blocks(type) ? 1 : 2);
}

// A few rows: weights are decoded in registers, and all of the depth is summed there.
template <PackedType TYPE, int ROWS, int VECTORS>
HWY_NOINLINE void few_rows(const MatMulTask& t, int64_t row, int64_t column, const uint8_t* b) {
    // One row has too few sums to hide the latency of the additions.
    constexpr int SETS = ROWS == 1 ? 2 : 1;
    constexpr int64_t kStep = VECTORS * vector_bytes(TYPE);
    constexpr int64_t kScales = in_blocks(TYPE) ? VECTORS * kLanes * 2 : 0;
    const int64_t columns = HWY_MIN(kBlock, t.columns - column);
    const float* a[ROWS];
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        rows[i] = row + i;
        a[i] = t.a + rows[i] * t.a_row;
    }
    Tile<ROWS, VECTORS> tile;
    clear(tile);
    for (int64_t k = 0; k < t.depth; k += part_depth(TYPE)) {
        const int64_t n = HWY_MIN(part_depth(TYPE), t.depth - k);
        const uint8_t* scales = b;
        b += kScales;
        Tile<ROWS, VECTORS> part[SETS];
        for (int s = 0; s < SETS; ++s) clear(part[s]);
        auto add = [&](int s, int64_t depth, const VF(&w)[VECTORS]) HWY_ATTR {
#pragma GCC unroll 4
            for (int i = 0; i < ROWS; ++i) {
                const VF x = hn::Set(f, a[i][depth]);
#pragma GCC unroll 4
                for (int j = 0; j < VECTORS; ++j) part[s].v[i][j] = hn::MulAdd(x, w[j], part[s].v[i][j]);
            }
        };
        if constexpr (in_long_blocks(TYPE)) {
            b = each_of_long_block<TYPE, VECTORS>(b, [&](int64_t i, int j, const VF w, int s) HWY_ATTR {
#pragma GCC unroll 4
                for (int r = 0; r < ROWS; ++r) {
                    VF& sum = part[s * (SETS - 1)].v[r][j];
                    sum = hn::MulAdd(hn::Set(f, a[r][k + i]), w, sum);
                }
            });
        } else if constexpr (TYPE == backplane::cpu::kPackedQ4) {
            for (int64_t i = 0; i < kBlockDepth / 2; ++i, b += kStep) {
                VF low[VECTORS];
                VF high[VECTORS];
#pragma GCC unroll 4
                for (int j = 0; j < VECTORS; ++j) from_nibbles<8>(bytes_at(b + j * vector_bytes(TYPE)), low[j], high[j]);
                add(0, k + i, low);
                add(SETS - 1, k + i + kBlockDepth / 2, high);
            }
        } else {
            auto one = [&](int s, int64_t depth) HWY_ATTR {
                VF w[VECTORS];
#pragma GCC unroll 4
                for (int j = 0; j < VECTORS; ++j) w[j] = weights_at<TYPE>(b + j * vector_bytes(TYPE));
                add(s, depth, w);
                b += kStep;
            };
            int64_t i = 0;
            for (; i + 2 <= n; i += 2) {
                one(0, k + i);
                one(SETS - 1, k + i + 1);
            }
            if (i < n) one(0, k + i);
        }
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) {
            VF scale = hn::Set(f, 1.0f);
            if constexpr (in_blocks(TYPE)) scale = from_half(scales + j * kLanes * 2);
#pragma GCC unroll 4
            for (int i = 0; i < ROWS; ++i) {
                VF sum = part[0].v[i][j];
                if constexpr (SETS == 2) sum = hn::Add(sum, part[1].v[i][j]);
                tile.v[i][j] = in_blocks(TYPE) ? hn::MulAdd(sum, scale, tile.v[i][j]) : hn::Add(sum, tile.v[i][j]);
            }
        }
    }
    finish_and_store(tile, t.epilogue, rows, column, columns, t.out, t.out_row);
}

// `depth` rows of a block of columns as floats; what follows them is returned.
template <PackedType TYPE, int VECTORS>
HWY_NOINLINE const uint8_t* decode_panel(const uint8_t* b, int64_t depth, float* out) {
    constexpr int64_t kWidth = VECTORS * kLanes;
    if constexpr (in_long_blocks(TYPE)) {
        for (int64_t k = 0; k < depth; k += kLongDepth, out += kLongDepth * kWidth)
            b = each_of_long_block<TYPE, VECTORS>(
                b, [&](int64_t i, int j, const VF w, int) HWY_ATTR { hn::StoreU(w, f, out + i * kWidth + j * kLanes); });
    } else if constexpr (!in_blocks(TYPE)) {
        for (int64_t i = 0; i < depth * VECTORS; ++i, b += vector_bytes(TYPE), out += kLanes)
            hn::StoreU(weights_at<TYPE>(b), f, out);
    } else {
        for (int64_t k = 0; k < depth; k += kBlockDepth, out += kBlockDepth * kWidth) {
            VF scale[VECTORS];
            for (int j = 0; j < VECTORS; ++j, b += kLanes * 2) scale[j] = from_half(b);
            if constexpr (TYPE == backplane::cpu::kPackedQ8) {
                for (int64_t i = 0; i < kBlockDepth; ++i)
#pragma GCC unroll 4
                    for (int j = 0; j < VECTORS; ++j, b += kLanes)
                        hn::StoreU(hn::Mul(from_int8(b), scale[j]), f, out + i * kWidth + j * kLanes);
            } else {
                for (int64_t i = 0; i < kBlockDepth / 2; ++i)
#pragma GCC unroll 4
                    for (int j = 0; j < VECTORS; ++j, b += kLanes) {
                        VF low, high;
                        from_nibbles<8>(bytes_at(b), low, high);
                        hn::StoreU(hn::Mul(low, scale[j]), f, out + i * kWidth + j * kLanes);
                        hn::StoreU(hn::Mul(high, scale[j]), f, out + (i + kBlockDepth / 2) * kWidth + j * kLanes);
                    }
            }
        }
    }
    return b;
}

template <int ROWS, int VECTORS>
HWY_NOINLINE void panel(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column, const float* b,
                        int64_t k_begin, int64_t k_end) {
    const int64_t columns = HWY_MIN(kBlock, t.columns - column);
    for (int64_t r = row_begin; r < row_end; r += ROWS) {
        const int64_t valid = HWY_MIN(static_cast<int64_t>(ROWS), row_end - r);
        const float* a[ROWS];
        int64_t rows[ROWS];
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            rows[i] = r + HWY_MIN(static_cast<int64_t>(i), valid - 1);
            a[i] = t.a + rows[i] * t.a_row + k_begin;
        }
        Tile<ROWS, VECTORS> tile;
        clear(tile);
        if (k_begin != 0)
            each(tile, [&](VF, int i, int j) HWY_ATTR {
                return load_first(t.out + rows[i] * t.out_row + column + j * kLanes, columns - j * kLanes);
            });
        multiply<ROWS, VECTORS>(tile, a, b, k_end - k_begin);
        if (k_end == t.depth) finish(tile, t.epilogue, rows, column, columns);
        for (int i = 0; i < valid; ++i)
            for (int j = 0; j < VECTORS; ++j)
                store_first(tile.v[i][j], t.out + rows[i] * t.out_row + column + j * kLanes, columns - j * kLanes);
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
    for (int64_t k = 0; k == 0 || k < t.depth; k += panel_depth(TYPE)) {
        const int64_t end = HWY_MIN(k + panel_depth(TYPE), t.depth);
        if constexpr (TYPE == backplane::cpu::kPackedF32) {
            const auto* at = reinterpret_cast<const float*>(b) + k * VECTORS * kLanes;
            panel<rows_of(VECTORS), VECTORS>(t, row_begin, row_end, column, at, k, end);
        } else {
            b = decode_panel<TYPE, VECTORS>(b, end - k, t.panel);
            panel<rows_of(VECTORS), VECTORS>(t, row_begin, row_end, column, t.panel, k, end);
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

void run(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    switch (t.type) {
        case backplane::cpu::kPackedF16:
            return run_type<backplane::cpu::kPackedF16>(t, row_begin, row_end, column_begin, column_end);
        case backplane::cpu::kPackedBF16:
            return run_type<backplane::cpu::kPackedBF16>(t, row_begin, row_end, column_begin, column_end);
        case backplane::cpu::kPackedQ8:
            return run_type<backplane::cpu::kPackedQ8>(t, row_begin, row_end, column_begin, column_end);
        case backplane::cpu::kPackedQ4:
            return run_type<backplane::cpu::kPackedQ4>(t, row_begin, row_end, column_begin, column_end);
        case backplane::cpu::kPackedFourBits:
            return run_type<backplane::cpu::kPackedFourBits>(t, row_begin, row_end, column_begin, column_end);
        case backplane::cpu::kPackedSixBits:
            return run_type<backplane::cpu::kPackedSixBits>(t, row_begin, row_end, column_begin, column_end);
        default: return run_type<backplane::cpu::kPackedF32>(t, row_begin, row_end, column_begin, column_end);
    }
}

}  // namespace

BP_CPU_ENTRY(matmul, MatMulKernels) {
    table->rows = rows_of(kVectors);
    table->panel_floats = kLongDepth * kBlock;
    table->converts_f16 =
        HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3;
    table->run = run;
}
