#include "discovery/inspect.hpp"

namespace backplane::discovery {

Format host_format() noexcept { return Format::elf; }

}  // namespace backplane::discovery
