// Doubles as whole numbers, and as elements of other types.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

// One element of a plain type in the first bytes, zeros behind it: floats are rounded to the nearest, of two the even one.
std::array<std::byte, 8> element_of(double value, uint32_t dtype);

}  // namespace backplane::backend
