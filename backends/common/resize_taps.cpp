#include "common/resize_taps.hpp"

#include <algorithm>
#include <cmath>

namespace backplane::backend {

namespace {

using backplane::ops::Coordinates;

// Where position i of the result lies in the operand (ops.h).
double coordinate(int64_t i, int64_t in, int64_t out, Coordinates mode) {
    const auto x = static_cast<double>(i);
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    if (mode == Coordinates::asymmetric) return x * scale;
    if (mode == Coordinates::half_pixel) return (x + 0.5) * scale - 0.5;  // pytorch_half_pixel is one of the others
    return out > 1 ? x * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
}

int64_t nearest(int64_t i, int64_t in, int64_t out, Coordinates mode) {
    // Whole numbers where they do: x * scale can fall just below the integer it means.
    if (mode == Coordinates::asymmetric) return i * in / out;
    if (mode == Coordinates::half_pixel) return (2 * i + 1) * in / (2 * out);
    return static_cast<int64_t>(std::floor(coordinate(i, in, out, mode) + 0.5));
}

void append_cubic(Taps& taps, double x, int64_t in, const backplane::ops::ResizeAttributes& how) {
    const auto low = static_cast<int64_t>(std::floor(x));
    double weights[4];
    double total = 0;
    for (int64_t k = 0; k < 4; ++k) {
        const int64_t at = low - 1 + k;
        const bool left_out = how.exclude_outside && (at < 0 || at >= in);
        weights[k] = left_out ? 0 : cubic_weight(x - static_cast<double>(at), how.cubic_coeff_a);
        total += weights[k];
        taps.at.push_back(static_cast<int32_t>(std::clamp<int64_t>(at, 0, in - 1)));
    }
    for (const double weight : weights)
        taps.weight.push_back(static_cast<float>(weight / (how.exclude_outside ? total : 1)));
}

}  // namespace

double cubic_weight(double distance, double a) {
    const double d = std::fabs(distance);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0;
}

Taps taps_of(const Node& node, int64_t in, int64_t out) {
    const auto how = node.as<backplane::ops::ResizeAttributes>();
    Coordinates mode = how.coordinates;
    if (mode == Coordinates::pytorch_half_pixel) mode = out > 1 ? Coordinates::half_pixel : Coordinates::align_corners;
    const auto most = static_cast<double>(in - 1);
    Taps taps;
    taps.count = how.mode == backplane::ops::ResizeMode::nearest  ? 1
                 : how.mode == backplane::ops::ResizeMode::linear ? 2
                                                                  : 4;
    for (int64_t i = 0; i < out; ++i) {
        if (taps.count == 1) {
            taps.at.push_back(static_cast<int32_t>(std::clamp<int64_t>(nearest(i, in, out, mode), 0, in - 1)));
        } else if (taps.count == 2) {
            const double x = std::clamp<double>(coordinate(i, in, out, mode), 0, most);
            const auto low = static_cast<int32_t>(std::floor(x));
            const auto weight = static_cast<float>(x - low);
            taps.at.insert(taps.at.end(), {low, static_cast<int32_t>(std::min<int64_t>(low + 1, in - 1))});
            taps.weight.insert(taps.weight.end(), {1 - weight, weight});
        } else {
            append_cubic(taps, coordinate(i, in, out, mode), in, how);
        }
    }
    return taps;
}

}  // namespace backplane::backend
