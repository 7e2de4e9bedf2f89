#include "kernels/move.h"

#include "kernels/transpose.h"

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
    if (t.from_inner == 1 && t.into_inner == 1 && (t.inner * t.size >= 64 || t.size > 8)) return copy_bytes(t);
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

// Bytes of a cache line: a band of rows fills whole lines of the result, and its rows are read as so many streams.
constexpr int64_t kLine = 64;

template <typename T>
void transpose_elements(const T* from, int64_t from_row, T* into, int64_t into_row, int64_t rows, int64_t columns) {
    constexpr int64_t kBand = kLine / static_cast<int64_t>(sizeof(T));
    constexpr int64_t kSide = 8;
    for (int64_t band = 0; band < rows; band += kBand) {
        const int64_t height = rows - band < kBand ? rows - band : kBand;
        for (int64_t c = 0; c < columns; c += kSide)
            transpose_plain(from + band * from_row + c, from_row, into + c * into_row + band, into_row, height,
                            columns - c < kSide ? columns - c : kSide);
    }
}

#if HWY_TARGET != HWY_SCALAR
// A square of vectors, of which `rows` x `columns` are there: no more is read or written.
HWY_INLINE void transpose_square(const float* from, int64_t from_row, float* into, int64_t into_row, int64_t rows,
                                 int64_t columns) {
    VF v[kLanes];
    if (rows == kLanes && columns == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) v[i] = hn::LoadU(f, from + i * from_row);
    } else {
        for (int i = 0; i < kLanes; ++i) v[i] = i < rows ? load_first(from + i * from_row, columns) : VF(hn::Zero(f));
    }
    transpose_vectors(v);
    if (rows == kLanes && columns == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) hn::StoreU(v[i], f, into + i * into_row);
    } else {
        for (int i = 0; i < kLanes && i < columns; ++i) store_first(v[i], into + i * into_row, rows);
    }
}

void transpose_direct(const float* from, int64_t from_row, float* into, int64_t into_row, int64_t rows, int64_t columns) {
    constexpr int64_t kBand = kLine / static_cast<int64_t>(sizeof(float));
    for (int64_t band = 0; band < rows; band += kBand) {
        const int64_t end = rows - band < kBand ? rows : band + kBand;
        for (int64_t c = 0; c < columns; c += kLanes)
            for (int64_t r = band; r < end; r += kLanes)
                transpose_square(from + r * from_row + c, from_row, into + c * into_row + r, into_row,
                                 HWY_MIN(kLanes, end - r), HWY_MIN(kLanes, columns - c));
    }
}

// Rows whose distance is a large power of two all fall on one set of the first-level cache: there, tiles of kTile x kTile pass through
// an array of their own, and both sides are touched in runs of several lines.
constexpr int64_t kTile = 64;

void transpose_floats(const float* from, int64_t from_row, float* into, int64_t into_row, int64_t rows, int64_t columns) {
    if (rows < kTile || columns < kTile) return transpose_direct(from, from_row, into, into_row, rows, columns);
    constexpr int64_t kRow = kTile + 16;
    float tile[kTile * kRow];
    for (int64_t r = 0; r < rows; r += kTile) {
        const int64_t height = HWY_MIN(kTile, rows - r);
        for (int64_t c = 0; c < columns; c += kTile) {
            const int64_t width = HWY_MIN(kTile, columns - c);
            transpose_direct(from + r * from_row + c, from_row, tile, kRow, height, width);
            for (int64_t i = 0; i < width; ++i)
                for (int64_t j = 0; j < height; j += kLanes)
                    store_first(load_first(tile + i * kRow + j, height - j), into + (c + i) * into_row + r + j, height - j);
        }
    }
}
#endif

template <typename T>
void transpose_task(const CopyTask& t) {
    transpose_elements(static_cast<const T*>(t.from), t.from_inner, static_cast<T*>(t.into), t.into_outer, t.inner, t.outer);
}

void transpose(const CopyTask& t) {
#if HWY_TARGET != HWY_SCALAR
    // Elements of four bytes are moved as floats, whatever they are.
    if (t.size == sizeof(float))
        return transpose_floats(static_cast<const float*>(t.from), t.from_inner, static_cast<float*>(t.into), t.into_outer,
                                t.inner, t.outer);
#endif
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
