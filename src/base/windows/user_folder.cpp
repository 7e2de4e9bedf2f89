#include "base/user_folder.hpp"

#include <algorithm>
#include <atomic>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

using windows::extended;
using windows::Handle;

// Below a user's profile, folders inherit that only this user, the system and administrators may enter.
std::string make_folders(const std::filesystem::path& folder) {
    if (status_of(folder).kind == FileStatus::Kind::folder) return {};
    if (folder.has_parent_path() && folder.parent_path() != folder)
        if (std::string problem = make_folders(folder.parent_path()); !problem.empty()) return problem;
    if (::CreateDirectoryW(extended(folder).c_str(), nullptr) != 0 || ::GetLastError() == ERROR_ALREADY_EXISTS) return {};
    return windows::words_for(::GetLastError());
}

std::string write_new(const std::filesystem::path& path, const std::string& content) {
    const Handle file([&] {
        HANDLE made =
            ::CreateFileW(extended(path).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
        return made == INVALID_HANDLE_VALUE ? nullptr : made;
    }());
    if (!file) return windows::words_for(::GetLastError());
    for (size_t done = 0; done < content.size();) {
        DWORD n = 0;
        const auto wanted = static_cast<DWORD>(std::min<size_t>(content.size() - done, size_t{1} << 30));
        if (::WriteFile(file.get(), content.data() + done, wanted, &n, nullptr) == 0)
            return windows::words_for(::GetLastError());
        done += n;
    }
    return ::FlushFileBuffers(file.get()) != 0 ? std::string() : windows::words_for(::GetLastError());
}

}  // namespace

std::filesystem::path user_cache_folder() {
    const std::filesystem::path folder = path_of(environment("LOCALAPPDATA").value_or(""));
    return folder.is_absolute() ? folder : std::filesystem::path();
}

std::string write_whole_file(const std::filesystem::path& path, const std::string& content) {
    static std::atomic<uint32_t> next{0};
    if (std::string problem = make_folders(path.parent_path()); !problem.empty()) return problem;
    std::filesystem::path part = path;
    part += "." + std::to_string(::GetCurrentProcessId()) + "-" + std::to_string(next++) + ".part";
    std::string problem = write_new(part, content);
    if (problem.empty()) problem = replace(part, path);
    if (!problem.empty()) ::DeleteFileW(extended(part).c_str());
    return problem;
}

}  // namespace backplane::base
