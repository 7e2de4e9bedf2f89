#include "base/posix/keeps_pages.hpp"

namespace backplane::base {

// APFS copies on write.
bool keeps_pages(int) noexcept { return false; }

}  // namespace backplane::base
