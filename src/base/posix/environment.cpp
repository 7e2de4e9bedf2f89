#include "base/environment.hpp"

#include <sys/auxv.h>

#include <cstdlib>

namespace backplane::base {

bool privileges_were_raised() { return getauxval(AT_SECURE) != 0; }

char list_separator() noexcept { return ':'; }

void set_where_unset(const char* name, const char* value) noexcept { static_cast<void>(::setenv(name, value, 0)); }

std::optional<std::string> environment(const char* name) {
    if (privileges_were_raised()) return std::nullopt;
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

}  // namespace backplane::base
