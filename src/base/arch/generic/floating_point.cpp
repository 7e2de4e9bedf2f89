#include <cfenv>

#include "base/process_state.hpp"

namespace backplane::base {

// The status bits tell what was computed; the rest controls what will be.
uint64_t floating_point_control() { return static_cast<uint64_t>(std::fegetround()); }

}  // namespace backplane::base
