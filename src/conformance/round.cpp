// Round is exact; halves go to the even number.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::round {

constinit const OpConformance conformance_round{rounding_cases, bounds::exact};

}  // namespace backplane::graph::conformance::round
