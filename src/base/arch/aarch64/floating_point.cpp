#include "base/floating_point.hpp"

namespace backplane::base {

// The flags are in a register of their own (FPSR).
uint64_t floating_point_control() noexcept {
    uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

void set_floating_point_control(uint64_t control) noexcept { asm volatile("msr fpcr, %0" : : "r"(control)); }

}  // namespace backplane::base
