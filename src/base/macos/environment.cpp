// Written by Apple's documentation; not built or run by this project's checks yet.
// issetugid(2): set while the process may act for another user than the one who started it.
#include "base/environment.hpp"

#include <unistd.h>

#include <cstdlib>

namespace backplane::base {

bool privileges_were_raised() { return ::issetugid() != 0; }

char list_separator() noexcept { return ':'; }

std::optional<std::string> environment(const char* name) {
    if (privileges_were_raised()) return std::nullopt;
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

}  // namespace backplane::base
