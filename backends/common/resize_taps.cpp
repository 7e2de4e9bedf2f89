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
    if (mode == Coordinates::half_pixel) return (x + 0.5) * scale - 0.5;
    return out > 1 ? x * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
}

}  // namespace

Taps taps_of(const Node& node, int64_t in, int64_t out) {
    const auto how = node.as<backplane::ops::ResizeAttributes>();
    const bool linear = how.mode == backplane::ops::ResizeMode::linear;
    const Coordinates mode = how.coordinates;
    Taps taps;
    for (int64_t i = 0; i < out; ++i) {
        const double x = coordinate(i, in, out, mode);
        if (!linear) {
            // Whole numbers where they do: x * scale can fall just below the integer it means.
            const double nearest = mode == Coordinates::asymmetric   ? static_cast<double>(i * in / out)
                                   : mode == Coordinates::half_pixel ? static_cast<double>((2 * i + 1) * in / (2 * out))
                                                                     : std::floor(x + 0.5);
            taps.first.push_back(static_cast<int32_t>(std::clamp<double>(nearest, 0, static_cast<double>(in - 1))));
            continue;
        }
        const double clamped = std::clamp<double>(x, 0, static_cast<double>(in - 1));
        const auto low = static_cast<int64_t>(std::floor(clamped));
        taps.first.push_back(static_cast<int32_t>(low));
        taps.second.push_back(static_cast<int32_t>(std::min(low + 1, in - 1)));
        taps.weight.push_back(static_cast<float>(clamped - static_cast<double>(low)));
    }
    return taps;
}

}  // namespace backplane::backend
