// Filters of 3 x 3 over one channel, by steps of 1, where an instruction takes a vector from the middle of two: each vector of the plane is read
// once for a tile of the result, where it is, and those a column to the left and to the right are made of it and its neighbours. Rows that are
// copied with zeros beside them cost as much as the products, and most of what is read of them lies across two cache lines.
#pragma once

#include "kernels/planar.h"
#include "kernels/tile.h"

namespace {

#if HWY_TARGET == HWY_AVX3

// Lane FROM of `first` and those after it, then the first lanes of `second`.
template <int FROM>
HWY_INLINE VF between(VF first, VF second) {
    return VF{
        _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(second.raw), _mm512_castps_si512(first.raw), FROM))};
}

// Rows of the plane that a tile of ROWS rows of the result reads, a vector of columns after the other.
template <int ROWS>
class NearRows {
public:
    // `zeros`: a row of them, near_zeros() floats, that stands for rows which are not there.
    HWY_INLINE NearRows(const backplane::cpu::ConvTask& t, int64_t row, int64_t x, const float* zeros)
        : x_(x), width_(t.width) {
#pragma GCC unroll 6
        for (int i = 0; i < kGiven; ++i) {
            const int64_t y = row - t.pad_top + i;
            at_[i] = y >= 0 && y < t.height ? t.segment[0].data + y * t.width + x : zeros + kLanes;
            before_[i] = hn::MaskedLoad(there(x - kLanes), f, at_[i] - kLanes);
            here_[i] = hn::MaskedLoad(there(x), f, at_[i]);
        }
#pragma GCC unroll 9
        for (int i = 0; i < 9; ++i) weight_[i / 3][i % 3] = hn::Set(f, t.weights[i]);
    }
    // The next vector is there as a whole.
    [[nodiscard]] bool whole() const { return x_ + kLanes >= 0 && x_ + 2 * kLanes <= width_; }

    // Sums of the next vector of columns; WHOLE: whole().
    template <bool WHOLE>
    HWY_INLINE void sum(Tile<ROWS, 1>& tile) {
        x_ += kLanes;
        const auto mask = there(x_);
        clear(tile);
#pragma GCC unroll 6
        for (int i = 0; i < kGiven; ++i) {
            at_[i] += kLanes;
            const VF after = WHOLE ? hn::LoadU(f, at_[i]) : hn::MaskedLoad(mask, f, at_[i]);
            const VF given[3] = {between<kLanes - 1>(before_[i], here_[i]), here_[i], between<1>(here_[i], after)};
#pragma GCC unroll 3
            for (int ky = 0; ky < 3; ++ky)
                if (i >= ky && i < ky + ROWS)
#pragma GCC unroll 3
                    for (int kx = 0; kx < 3; ++kx)
                        tile.v[i - ky][0] = hn::MulAdd(given[kx], weight_[ky][kx], tile.v[i - ky][0]);
            before_[i] = here_[i];
            here_[i] = after;
        }
    }

private:
    static constexpr int kGiven = ROWS + 2;
    // Which lanes of the vector at column x are in the plane.
    [[nodiscard]] HWY_INLINE hn::Mask<F> there(int64_t x) const {
        const auto until = [](int64_t n) HWY_ATTR {
            return hn::FirstN(f, static_cast<size_t>(HWY_MAX(int64_t{0}, HWY_MIN(n, kLanes))));
        };
        return hn::AndNot(until(-x), until(width_ - x));
    }

    const float* at_[kGiven];  // `here`
    int64_t x_, width_;
    VF before_[kGiven], here_[kGiven], weight_[3][3];
};

// Floats of a row of zeros for so many columns of the result, whole vectors. plane_scratch() has room for them and for the sums of a tile: it has
// two rows more than the result.
constexpr int64_t near_zeros(int64_t columns) { return (columns + kLanes - 1) / kLanes * kLanes + 3 * kLanes; }

#endif

}  // namespace
