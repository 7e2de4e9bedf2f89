#include <xmmintrin.h>

#include "base/process_state.hpp"

namespace backplane::base {

// The status bits tell what was computed; the rest controls what will be.
uint64_t floating_point_control() { return _mm_getcsr() & ~0x3FU; }

}  // namespace backplane::base
