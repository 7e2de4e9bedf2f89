// What the system's error numbers mean to a caller of the library, as one Error line each.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "backplane/error.hpp"

namespace backplane::base {

// The path in quotes, on one line whatever its bytes are.
std::string quoted(const std::filesystem::path& path);

// "WHAT 'PATH': what the system says of `number` (errno); what to do".
Error file_error(std::string_view what, const std::filesystem::path& path, int number);

}  // namespace backplane::base
