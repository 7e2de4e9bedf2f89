// Written by Apple's documentation; not built or run by this project's checks yet.
// dyld(1), dlopen_preflight(3). Libraries of the system lie in one cache and need not exist as files.
#include <dlfcn.h>

#include <string>
#include <string_view>
#include <system_error>

#include "base/dynamic_library.hpp"

namespace backplane::base {

namespace {

// Looks for the file and all it needs; loads nothing.
bool could_be_loaded(const std::filesystem::path& file) { return ::dlopen_preflight(file.c_str()); }

}  // namespace

Presence find_library(const std::string& name, std::span<const std::filesystem::path> run_paths) {
    constexpr std::string_view kRunPath = "@rpath/";
    constexpr std::string_view kProgram = "@executable_path/";
    if (name.starts_with(kProgram))
        return could_be_loaded(executable_file().parent_path() / name.substr(kProgram.size())) ? Presence::present
                                                                                               : Presence::absent;
    const bool by_run_path = name.starts_with(kRunPath);
    if (name.starts_with('@') && !by_run_path) return Presence::unknown;  // relative to a file that is not named here
    const std::string rest = by_run_path ? name.substr(kRunPath.size()) : name;
    if (by_run_path || name.find('/') == std::string::npos)
        for (const std::filesystem::path& folder : run_paths)
            if (could_be_loaded(folder / rest)) return Presence::present;
    if (!by_run_path) return could_be_loaded(name) ? Presence::present : Presence::absent;
    return Presence::unknown;  // the program's own run paths count, too
}

// Those of the system are in no folder that could be listed.
std::vector<std::string> names_of_libraries() { return {}; }

struct LibraryPlaces::Index {};
LibraryPlaces::LibraryPlaces() = default;
LibraryPlaces::~LibraryPlaces() = default;

Presence LibraryPlaces::find(const std::string& name, std::span<const std::filesystem::path> run_paths) const {
    return find_library(name, run_paths);
}

// Those of the system are in its cache, which changes with the system: files alone.
std::vector<std::filesystem::path> LibraryPlaces::of(const std::string& name,
                                                     std::span<const std::filesystem::path> run_paths) const {
    constexpr std::string_view kRunPath = "@rpath/";
    std::vector<std::filesystem::path> files;
    std::error_code failed;
    const bool by_run_path = name.starts_with(kRunPath);
    const std::string rest = by_run_path ? name.substr(kRunPath.size()) : name;
    if (by_run_path || name.find('/') == std::string::npos)
        for (const std::filesystem::path& folder : run_paths)
            if (files.empty() && std::filesystem::exists(folder / rest, failed)) files.push_back(folder / rest);
    if (name.starts_with('/') && std::filesystem::exists(name, failed)) files.emplace_back(name);
    return files;
}

}  // namespace backplane::base
