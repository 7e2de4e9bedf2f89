// Where files of a user's own are kept that can be made anew.
#pragma once

#include <filesystem>
#include <string>

namespace backplane::base {

// XDG_CACHE_HOME or ~/.cache (XDG Base Directory specification), %LOCALAPPDATA% on Windows; empty when there is none, or when the
// process runs with raised rights.
std::filesystem::path user_cache_folder();

// Writes a small file as a whole or not at all: a temporary name beside it, then a rename. Makes the folder (for this user only). Returns
// what went wrong, empty when nothing did.
std::string write_whole_file(const std::filesystem::path& path, const std::string& content);

}  // namespace backplane::base
