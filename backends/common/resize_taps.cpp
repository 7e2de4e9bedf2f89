#include "common/resize_taps.hpp"

#include <algorithm>
#include <cmath>

namespace backplane::backend {

namespace {

// Where position i of the result lies in the operand (ops.h).
double coordinate(int64_t i, int64_t in, int64_t out, int64_t mode) {
    const auto x = static_cast<double>(i);
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    if (mode == BP_COORDINATES_ASYMMETRIC) return x * scale;
    if (mode == BP_COORDINATES_HALF_PIXEL) return (x + 0.5) * scale - 0.5;
    return out > 1 ? x * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
}

}  // namespace

Taps taps_of(const Node& node, int64_t in, int64_t out) {
    const bool linear = node.integer(BP_ATTR_mode, BP_RESIZE_NEAREST) == BP_RESIZE_LINEAR;
    const int64_t mode = node.integer(BP_ATTR_coordinates, BP_COORDINATES_ASYMMETRIC);
    Taps taps;
    for (int64_t i = 0; i < out; ++i) {
        const double x = coordinate(i, in, out, mode);
        if (!linear) {
            // Whole numbers where they do: x * scale can fall just below the integer it means.
            const double nearest = mode == BP_COORDINATES_ASYMMETRIC   ? static_cast<double>(i * in / out)
                                   : mode == BP_COORDINATES_HALF_PIXEL ? static_cast<double>((2 * i + 1) * in / (2 * out))
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
