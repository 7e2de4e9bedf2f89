// Where files of a user's own are kept: what can be made anew, and what was asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace backplane::base {

// XDG_CACHE_HOME or ~/.cache (XDG Base Directory specification), %LOCALAPPDATA% on Windows; empty when there is none, when the process runs
// with raised rights, or when the folder belongs to somebody who is neither root nor this user: with sudo and that user's HOME, what is made
// there would be root's.
std::filesystem::path user_cache_folder();

// XDG_DATA_HOME or ~/.local/share, %LOCALAPPDATA% on Windows, by the same rules: what a user asked for and keeps.
std::filesystem::path user_data_folder();

// Makes a folder and those above it, each for this user only, whatever the umask. Those that are there are left as they are. Returns what
// went wrong, empty when nothing did.
std::string make_own_folder(const std::filesystem::path& folder);

// Writes a small file for this user only, as a whole or not at all (base/replacing_file.hpp), and makes its folder. Returns what went
// wrong, empty when nothing did.
std::string write_whole_file(const std::filesystem::path& path, const std::string& content);

// The content of such a file; nothing when there is none, when it is longer than `most` bytes, or when it is not to be trusted: others
// may write to it, or it belongs to somebody else.
std::optional<std::string> read_own_file(const std::filesystem::path& path, uint64_t most);

}  // namespace backplane::base
