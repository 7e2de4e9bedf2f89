#include "base/user_folder.hpp"

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

std::filesystem::path user_cache_folder() {
    const std::filesystem::path folder = path_of(environment("LOCALAPPDATA").value_or(""));
    return folder.is_absolute() ? folder : std::filesystem::path();
}

std::filesystem::path user_data_folder() { return user_cache_folder(); }

// Below a user's profile, folders inherit that only this user, the system and administrators may enter.
std::string make_own_folder(const std::filesystem::path& folder) {
    if (status_of(folder).kind == FileStatus::Kind::folder) return {};
    if (folder.has_parent_path() && folder.parent_path() != folder)
        if (std::string problem = make_own_folder(folder.parent_path()); !problem.empty()) return problem;
    if (::CreateDirectoryW(windows::extended(folder).c_str(), nullptr) != 0) return {};
    const DWORD error = ::GetLastError();
    return status_of(folder).kind == FileStatus::Kind::folder ? std::string() : windows::words_for(error);
}

}  // namespace backplane::base
