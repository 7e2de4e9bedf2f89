// Bilinear resizing of one channel by a whole factor, row by row. Half-pixel centres: the picture's edges meet, as in image editors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace backplane::models {

class BilinearRows {
public:
    struct Pair {  // two neighbouring positions of the input; the second one counts `weight`
        int64_t upper = 0, lower = 0;
        float weight = 0;
    };

    BilinearRows(int64_t width, int64_t height, int64_t scale) : height_(height), scale_(scale) {
        columns_.reserve(static_cast<std::size_t>(width * scale));
        for (int64_t x = 0; x < width * scale; ++x) columns_.push_back(pair_for(x, width));
    }

    [[nodiscard]] Pair rows_for(int64_t y) const { return pair_for(y, height_); }

    // One row of the output from two of the input; `stride` bytes from one pixel to the next in all three.
    void resize(const uint8_t* upper, const uint8_t* lower, int64_t stride, float weight, uint8_t* out) const {
        for (const Pair& column : columns_) {
            const float above = mix(upper[column.upper * stride], upper[column.lower * stride], column.weight);
            const float below = mix(lower[column.upper * stride], lower[column.lower * stride], column.weight);
            *out = static_cast<uint8_t>(mix(above, below, weight) + kHalf);
            out += stride;
        }
    }

private:
    static constexpr float kHalf = 0.5F;  // what is not negative is rounded by adding it
    static float mix(float a, float b, float weight) { return a + weight * (b - a); }

    [[nodiscard]] Pair pair_for(int64_t at, int64_t length) const {
        const float position = std::max(0.0F, (static_cast<float>(at) + 0.5F) / static_cast<float>(scale_) - 0.5F);
        const auto first = static_cast<int64_t>(position);
        return {std::min(first, length - 1), std::min(first + 1, length - 1), position - static_cast<float>(first)};
    }

    int64_t height_, scale_;
    std::vector<Pair> columns_;
};

}  // namespace backplane::models
