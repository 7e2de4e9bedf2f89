// Doubles as whole numbers.
#pragma once

#include <cmath>
#include <limits>

namespace backplane::backend {

// Cut; the nearest that T has where it is out of range, 0 for NaN.
template <typename T>
T saturated(double value) {
    // 2^63 as a double is the first value out of range; the same for the others, exactly.
    constexpr auto low = static_cast<double>(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (value != value) return 0;
    if (value >= high) return std::numeric_limits<T>::max();
    return value <= low ? std::numeric_limits<T>::min() : static_cast<T>(value);
}

}  // namespace backplane::backend
