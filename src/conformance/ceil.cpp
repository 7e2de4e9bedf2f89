// Ceil is exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::ceil {

constinit const OpConformance conformance_ceil{rounding_cases, bounds::exact};

}  // namespace backplane::graph::conformance::ceil
