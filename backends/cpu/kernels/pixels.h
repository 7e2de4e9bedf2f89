// A 1x1 convolution over planes, filters by pixels: what is multiplied next is packed between the products of what is packed already. So the memory
// that both come from and go to is busy all the time; packing first and multiplying then has products wait for the one and memory for the other.
#pragma once

#include "kernels/planar.h"
#include "kernels/tile.h"

namespace {

using backplane::cpu::PixelsTask;

// Pixels in blocks as wide as a tile, of which the first may be narrower (PixelsTask::first_block), as the last.
struct Blocks {
    int64_t first, pixels, count;

    explicit Blocks(const PixelsTask& t)
        : first(HWY_MIN(t.first_block, t.pixels)), pixels(t.pixels), count(1 + (pixels - first + kBlock - 1) / kBlock) {}
    [[nodiscard]] HWY_INLINE int64_t begin(int64_t block) const { return block == 0 ? 0 : first + (block - 1) * kBlock; }
    [[nodiscard]] HWY_INLINE int64_t columns(int64_t block) const {
        return block == 0 ? first : HWY_MIN(kBlock, pixels - begin(block));
    }
};

// Blocks on their way from the planes to where they are packed, one of one plane at a time: those that lie side by side first, which the processor
// runs ahead of by itself where they are many.
class Incoming {
public:
    Incoming(const PixelsTask& t, const Blocks& blocks, int64_t begin, int64_t end, float* into)
        : blocks_(blocks), t_(t), begin_(begin), end_(end), block_(begin), from_(t.from), into_(into) {
        if (begin >= end) plane_ = t.depth;
    }

    HWY_INLINE void one() {
        if (plane_ >= t_.depth) return;
        const int64_t columns = blocks_.columns(block_);
        const float* from = from_ + blocks_.begin(block_);
        float* to = into_ + (block_ - begin_) * t_.depth * kBlock;
        if (columns == kBlock) {
            to += plane_ * kBlock;
#pragma GCC unroll 4
            for (int j = 0; j < kVectors; ++j) {
                __builtin_prefetch(from + t_.ahead + j * kLanes);
                hn::StoreU(hn::LoadU(f, from + j * kLanes), f, to + j * kLanes);
            }
        } else {
            const int64_t width = (columns + kLanes - 1) / kLanes * kLanes;
            to += plane_ * width;
            for (int64_t i = 0; i < width; i += kLanes) hn::StoreU(load_first(from + i, columns - i), f, to + i);
        }
        if (++block_ < end_) return;
        block_ = begin_;
        from_ += t_.plane;
        ++plane_;
    }
    void rest() {
        while (plane_ < t_.depth) one();
    }

private:
    const Blocks& blocks_;
    const PixelsTask& t_;
    int64_t begin_, end_, block_, plane_ = 0;
    const float* from_;
    float* into_;
};

// What a stretch of blocks that is packed has for its tiles; `every`: so many depths after each other, then one block comes in.
struct Stretch {
    const float* packed;
    int64_t begin, end, every;
};

template <int ROWS, int VECTORS>
HWY_NOINLINE void pixels_tile(const PixelsTask& t, const Blocks& blocks, const float* packed, int64_t block, int64_t filter,
                              int64_t every, Incoming& incoming) {
    const int64_t pixel = blocks.begin(block);
    const int64_t columns = blocks.columns(block);
    const int64_t valid = HWY_MIN(static_cast<int64_t>(ROWS), t.filters - filter);
    const float* a[ROWS];
    int64_t rows[ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
        rows[i] = filter + HWY_MIN(static_cast<int64_t>(i), valid - 1);
        a[i] = t.weights + rows[i] * t.depth;
    }
    Tile<ROWS, VECTORS> tile;
    clear(tile);
    for (int64_t k = 0; k < t.depth; k += every) {
        multiply<ROWS, VECTORS>(tile, a, packed + k * VECTORS * kLanes, HWY_MIN(every, t.depth - k));
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) a[i] += every;
        incoming.one();
    }
    finish_copy(tile, t.epilogue, rows, pixel, columns);
    store_rows(tile, valid, columns, t.out + filter * t.out_plane + pixel, t.out_plane);
}

template <int VECTORS>
HWY_INLINE void some_filters(const PixelsTask& t, const Blocks& blocks, const float* packed, int64_t block, int64_t filter,
                             int64_t every, Incoming& incoming) {
    constexpr int ROWS = rows_of(kVectors), FEWER = ROWS * 2 / 3;  // of a last tile: no more sums than are wanted
    if (t.filters - filter > FEWER)
        pixels_tile<ROWS, VECTORS>(t, blocks, packed, block, filter, every, incoming);
    else
        pixels_tile<FEWER, VECTORS>(t, blocks, packed, block, filter, every, incoming);
}

HWY_INLINE void stretch_tile(const PixelsTask& t, const Blocks& blocks, const Stretch& s, int64_t block, int64_t filter,
                             Incoming& incoming) {
    const float* packed = s.packed + (block - s.begin) * t.depth * kBlock;
    switch ((blocks.columns(block) + kLanes - 1) / kLanes) {
        case 1: return some_filters<1>(t, blocks, packed, block, filter, s.every, incoming);
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3 && HWY_TARGET != HWY_AVX2
        case 2: return some_filters<2>(t, blocks, packed, block, filter, s.every, incoming);
        case 3: return some_filters<3>(t, blocks, packed, block, filter, s.every, incoming);
#endif
        default: return some_filters<kVectors>(t, blocks, packed, block, filter, s.every, incoming);
    }
}

void pixels(const PixelsTask& t) {
    constexpr int64_t ROWS = rows_of(kVectors);
    const Blocks blocks(t);
    const int64_t together = HWY_MAX(int64_t{1}, t.stretch / kBlock);
    float* packed = t.scratch;
    float* next = t.scratch + together * kBlock * t.depth;
    Incoming(t, blocks, 0, HWY_MIN(together, blocks.count), packed).rest();
    // All of the next stretch is there a little before the last of this one is multiplied.
    const int64_t groups = (t.filters + ROWS - 1) / ROWS;
    const int64_t times = HWY_MAX(int64_t{1}, (t.depth * 8 + groups * 7 - 1) / (groups * 7));
    const int64_t every = (t.depth + times - 1) / times;
    for (int64_t begin = 0; begin < blocks.count; begin += together) {
        const Stretch s{packed, begin, HWY_MIN(begin + together, blocks.count), every};
        Incoming incoming(t, blocks, s.end, HWY_MIN(s.end + together, blocks.count), next);
        if (t.rows_first) {
            for (int64_t filter = 0; filter < t.filters; filter += ROWS)
                for (int64_t block = s.begin; block < s.end; ++block) stretch_tile(t, blocks, s, block, filter, incoming);
        } else {
            for (int64_t block = s.begin; block < s.end; ++block)
                for (int64_t filter = 0; filter < t.filters; filter += ROWS)
                    stretch_tile(t, blocks, s, block, filter, incoming);
        }
        incoming.rest();
        float* const last = packed;
        packed = next;
        next = last;
    }
}

}  // namespace
