#include "base/floating_point.hpp"

#include <cfenv>

namespace backplane::base {

uint64_t floating_point_control() noexcept { return static_cast<uint64_t>(std::fegetround()); }

void set_floating_point_control(uint64_t control) noexcept { std::fesetround(static_cast<int>(control)); }

}  // namespace backplane::base
