#include "discovery/installed_modules.hpp"

namespace backplane::discovery {

const char* installed_modules() noexcept { return BACKPLANE_INSTALL_MODULES; }

}  // namespace backplane::discovery
