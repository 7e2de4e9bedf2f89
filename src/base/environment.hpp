// The environment: the only place of the library that reads it.
#pragma once

#include <optional>
#include <string>

namespace backplane::base {

// A variable's value; nothing when it is not set or empty, or when the process runs with more rights than the user who started it.
std::optional<std::string> environment(const char* name);

// Set-uid, set-gid, file capabilities: whoever set the environment may not be who the process acts for.
bool privileges_were_raised();

// What stands between the folders of a list in a variable: ':' or ';'.
char list_separator() noexcept;

}  // namespace backplane::base
