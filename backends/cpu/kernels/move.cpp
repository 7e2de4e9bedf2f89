#include "kernels/move.h"

#include "kernels/simd.h"

namespace {

using backplane::cpu::CopyTask;

template <typename T>
void copy_elements(const CopyTask& t) {
    const T* from = static_cast<const T*>(t.from);
    T* into = static_cast<T*>(t.into);
    for (int64_t i = 0; i < t.outer; ++i, from += t.from_outer, into += t.into_outer) {
        if (t.into_inner == 1 && t.from_inner == 1) {
            for (int64_t j = 0; j < t.inner; ++j) into[j] = from[j];
        } else if (t.into_inner == 1) {
            for (int64_t j = 0; j < t.inner; ++j) into[j] = from[j * t.from_inner];
        } else {
            for (int64_t j = 0; j < t.inner; ++j) into[j * t.into_inner] = from[j * t.from_inner];
        }
    }
}

void copy_bytes(const CopyTask& t) {
    const auto* from = static_cast<const char*>(t.from);
    auto* into = static_cast<char*>(t.into);
    for (int64_t i = 0; i < t.outer; ++i)
        memcpy(into + i * t.into_outer * t.size, from + i * t.from_outer * t.size, static_cast<size_t>(t.inner * t.size));
}

void copy(const CopyTask& t) {
    // A call of memcpy pays from about a cache line on.
    if (t.from_inner == 1 && t.into_inner == 1 && t.inner * t.size >= 64) return copy_bytes(t);
    switch (t.size) {
        case 1: return copy_elements<uint8_t>(t);
        case 2: return copy_elements<uint16_t>(t);
        case 4: return copy_elements<uint32_t>(t);
        default: return copy_elements<uint64_t>(t);
    }
}

// into[c * into_row + r] = from[r * from_row + c]
template <typename T>
HWY_INLINE void transpose_plain(const T* from, int64_t from_row, T* into, int64_t into_row, int64_t rows, int64_t columns) {
    for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r) into[c * into_row + r] = from[r * from_row + c];
}

// A square small enough for registers.
template <typename T>
struct Square {
    static constexpr int64_t side = 8;
    static HWY_INLINE void transpose(const T* from, int64_t from_row, T* into, int64_t into_row) {
        transpose_plain(from, from_row, into, into_row, side, side);
    }
};

#if HWY_TARGET != HWY_SCALAR
template <>
struct Square<uint32_t> {
    static constexpr int64_t side = 4;
    static HWY_INLINE void transpose(const uint32_t* from, int64_t from_row, uint32_t* into, int64_t into_row) {
        const hn::FixedTag<uint32_t, 4> d;
        const hn::FixedTag<uint64_t, 2> d64;
        const auto a = hn::LoadU(d, from);
        const auto b = hn::LoadU(d, from + from_row);
        const auto c = hn::LoadU(d, from + 2 * from_row);
        const auto e = hn::LoadU(d, from + 3 * from_row);
        const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(d, a, b));
        const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(d, a, b));
        const auto ce_low = hn::BitCast(d64, hn::InterleaveLower(d, c, e));
        const auto ce_high = hn::BitCast(d64, hn::InterleaveUpper(d, c, e));
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, ab_low, ce_low)), d, into);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, ab_low, ce_low)), d, into + into_row);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, ab_high, ce_high)), d, into + 2 * into_row);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, ab_high, ce_high)), d, into + 3 * into_row);
    }
};
#endif

// A band of kBand rows fills whole cache lines of the result, and its rows are read as so many streams.
constexpr int64_t kBand = 16;

template <typename T>
void transpose_elements(const T* from, int64_t from_row, T* into, int64_t into_row, int64_t rows, int64_t columns) {
    constexpr int64_t side = Square<T>::side;
    for (int64_t band = 0; band < rows; band += kBand) {
        const int64_t height = rows - band < kBand ? rows - band : kBand;
        int64_t c = 0;
        for (; c + side <= columns; c += side) {
            int64_t r = band;
            for (; r + side <= band + height; r += side)
                Square<T>::transpose(from + r * from_row + c, from_row, into + c * into_row + r, into_row);
            if (r < band + height)
                transpose_plain(from + r * from_row + c, from_row, into + c * into_row + r, into_row, band + height - r,
                                side);
        }
        if (c < columns)
            transpose_plain(from + band * from_row + c, from_row, into + c * into_row + band, into_row, height, columns - c);
    }
}

template <typename T>
void transpose_task(const CopyTask& t) {
    transpose_elements(static_cast<const T*>(t.from), t.from_inner, static_cast<T*>(t.into), t.into_outer, t.inner, t.outer);
}

void transpose(const CopyTask& t) {
    switch (t.size) {
        case 1: return transpose_task<uint8_t>(t);
        case 2: return transpose_task<uint16_t>(t);
        case 4: return transpose_task<uint32_t>(t);
        default: return transpose_task<uint64_t>(t);
    }
}

}  // namespace

BP_CPU_ENTRY(move, MoveKernels) {
    table->copy = copy;
    table->transpose = transpose;
}
