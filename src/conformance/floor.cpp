// Floor is exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::floor {

constinit const OpConformance conformance_floor{rounding_cases, bounds::exact};

}  // namespace backplane::graph::conformance::floor
