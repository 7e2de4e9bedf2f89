// What a trial's outcome depends on, in one name that changes whenever the trial might end otherwise.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/inspect.hpp"

namespace backplane::discovery {

// The module file (place, identity, size, times, owner, rights, build id), this library's ABI, the options given to the module, every library
// that the loader would find for it, and what its descriptor watches: files, folders by what is in them two levels deep, variables by their
// value and by what the files and folders that they name are. Of manifests among these (.json, .icd, .conf) also the libraries and the
// variables that they name. Looks at files and reads no more of them than their first pages; takes a fraction of a millisecond. 32 hexadecimal
// digits.
std::string trial_key(const Inspection& module, std::string_view options);

// The same as one finds it who tries the module with this program: an identity of the program's file belongs to it.
std::string trial_key_with(const std::string& key, const std::filesystem::path& program);

// The files that an item of `watch.files` means: `~` is the user's home, `$NAME`, `${NAME}` and `${NAME:-WHERE IT IS NOT SET}` are variables,
// which may be lists of folders. Absolute paths only; none where a variable without a default is not set.
std::vector<std::filesystem::path> watched_files(std::string_view item);

}  // namespace backplane::discovery
