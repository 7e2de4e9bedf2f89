#include "base/user_folder.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "base/environment.hpp"

namespace backplane::base {

std::filesystem::path user_cache_folder() {
    if (const auto cache = environment("XDG_CACHE_HOME"); cache && (*cache)[0] == '/') return *cache;
    if (const auto home = environment("HOME"); home && (*home)[0] == '/') return std::filesystem::path(*home) / ".cache";
    return {};
}

std::string make_own_folder(const std::filesystem::path& folder) {
    std::error_code failed;
    if (std::filesystem::is_directory(folder, failed)) return {};
    std::filesystem::create_directories(folder.parent_path(), failed);
    if (::mkdir(folder.c_str(), 0700) == 0) return {};
    const int error = errno;  // somebody else may have made it just now
    return std::filesystem::is_directory(folder, failed) ? std::string() : std::generic_category().message(error);
}

}  // namespace backplane::base
