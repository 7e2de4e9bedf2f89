#include "base/floating_point.hpp"

#include <xmmintrin.h>

namespace backplane::base {

namespace {

constexpr uint32_t kStatusFlags = 0x3F;  // of MXCSR: what was computed, not what will be

uint16_t x87_control() noexcept {
    uint16_t control = 0;
    asm volatile("fnstcw %0" : "=m"(control));
    return control;
}

}  // namespace

// MXCSR below, the control word of the x87 (long double) above.
uint64_t floating_point_control() noexcept {
    return (_mm_getcsr() & ~kStatusFlags) | static_cast<uint64_t>(x87_control()) << 32;
}

void set_floating_point_control(uint64_t control) noexcept {
    _mm_setcsr((static_cast<uint32_t>(control) & ~kStatusFlags) | (_mm_getcsr() & kStatusFlags));
    const auto x87 = static_cast<uint16_t>(control >> 32);
    if (x87 != x87_control()) asm volatile("fldcw %0" : : "m"(x87));
}

}  // namespace backplane::base
