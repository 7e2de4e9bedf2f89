// What image files and the system say went wrong, as one Error line each.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "backplane/error.hpp"

namespace backplane::formats {

// The path in quotes, on one line whatever its bytes are.
std::string quoted(const std::filesystem::path& path);

// "WHAT 'PATH': what the system says of `number` (errno); what to do".
Error system_error(std::string_view what, const std::filesystem::path& path, int number);

}  // namespace backplane::formats
