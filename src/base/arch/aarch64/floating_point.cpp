#include <cstdint>

#include "base/process_state.hpp"

namespace backplane::base {

// The status bits tell what was computed; the rest controls what will be.
uint64_t floating_point_control() {
    uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

}  // namespace backplane::base
