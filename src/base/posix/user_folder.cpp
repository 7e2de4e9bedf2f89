#include "base/user_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/environment.hpp"

namespace backplane::base {

namespace {

// Started by sudo, with the environment of somebody else: what root made there would lock out whose folder it is.
bool is_of_another_user(std::filesystem::path folder) {
    struct stat s {};
    while (::stat(folder.c_str(), &s) != 0 && folder.has_relative_path()) folder = folder.parent_path();
    return s.st_uid != 0 && s.st_uid != ::geteuid();
}

std::filesystem::path user_folder(const char* variable, const char* below_home) {
    std::filesystem::path folder;
    if (const auto given = environment(variable); given && (*given)[0] == '/')
        folder = *given;
    else if (const auto home = environment("HOME"); home && (*home)[0] == '/')
        folder = std::filesystem::path(*home) / below_home;
    return folder.empty() || is_of_another_user(folder) ? std::filesystem::path() : folder;
}

}  // namespace

std::filesystem::path user_cache_folder() { return user_folder("XDG_CACHE_HOME", ".cache"); }
std::filesystem::path user_data_folder() { return user_folder("XDG_DATA_HOME", ".local/share"); }

// Whatever the umask: a folder above, too, in which everybody may write is one whose content nobody can trust.
std::string make_own_folder(const std::filesystem::path& folder) {
    std::error_code failed;
    if (std::filesystem::is_directory(folder, failed)) return {};
    if (folder.has_relative_path() && folder.has_parent_path())
        if (std::string problem = make_own_folder(folder.parent_path()); !problem.empty()) return problem;
    if (::mkdir(folder.c_str(), 0700) == 0) return {};
    const int error = errno;  // somebody else may have made it just now
    return std::filesystem::is_directory(folder, failed) ? std::string() : std::generic_category().message(error);
}

}  // namespace backplane::base
