#include "base/machine.hpp"

namespace backplane::base {

// Built with -m32 it is the older machine.
Machine this_machine() noexcept { return sizeof(void*) == 8 ? Machine{62, 0x8664, 0x01000007} : Machine{3, 0x14c, 7}; }

}  // namespace backplane::base
