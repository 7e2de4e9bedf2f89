#include "common/saturated.hpp"

#include <algorithm>
#include <cstring>

#include "backplane/module.h"

namespace backplane::backend {

namespace {

// Bits of a floating-point number of `digits` stored digits and least exponent `least`, rounded to nearest even.
uint16_t short_float(double value, int digits, int least) {
    constexpr int kBits = 16;
    const uint32_t sign = std::signbit(value) ? 1U << (kBits - 1) : 0U;
    const uint32_t infinity = ((1U << (kBits - 1 - digits)) - 1) << digits;
    if (value != value) return static_cast<uint16_t>(sign | infinity | 1U << (digits - 1));
    const double magnitude = std::fabs(value);
    if (magnitude == 0) return static_cast<uint16_t>(sign);
    if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | infinity);
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    exponent = std::max(exponent - 1, least);
    const auto whole = static_cast<int64_t>(std::nearbyint(std::ldexp(magnitude, digits - exponent)));
    // Below the least usual number the stored exponent is 0; a carry out of the digits moves into the exponent by itself.
    const int64_t stored = (static_cast<int64_t>(exponent - least) << digits) + whole;
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::min<int64_t>(stored, infinity)));
}

template <typename T>
std::array<std::byte, 8> bytes_of(T value) {
    std::array<std::byte, 8> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

}  // namespace

std::array<std::byte, 8> element_of(double value, uint32_t dtype) {
    switch (dtype) {
        case BP_F32: return bytes_of(static_cast<float>(value));
        case BP_F16: return bytes_of(short_float(value, 10, -14));
        case BP_BF16: return bytes_of(short_float(value, 7, -126));
        case BP_F64: return bytes_of(value);
        case BP_I8: return bytes_of(saturated<int8_t>(value));
        case BP_U8: return bytes_of(saturated<uint8_t>(value));
        case BP_I16: return bytes_of(saturated<int16_t>(value));
        case BP_U16: return bytes_of(saturated<uint16_t>(value));
        case BP_I32: return bytes_of(saturated<int32_t>(value));
        case BP_I64: return bytes_of(saturated<int64_t>(value));
        default: return bytes_of<uint8_t>(value != 0 ? 1 : 0);
    }
}

}  // namespace backplane::backend
