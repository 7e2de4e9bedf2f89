#include <string>

#include "base/file.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

using windows::extended;

constexpr int kOldNames = 100;  // tried for the old file
constexpr DWORD kFlags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;

// Old files that were in use when they were replaced; those that still are stay.
void remove_those_aside(const std::filesystem::path& to) {
    std::filesystem::path pattern = extended(to);
    pattern += windows::kPutAside;
    pattern += L"*";
    WIN32_FIND_DATAW entry{};
    HANDLE search = ::FindFirstFileW(pattern.c_str(), &entry);
    if (search == INVALID_HANDLE_VALUE) return;
    do {
        // One that is there while the name is not is somebody's who replaces it now, and tells readers so.
        if (::GetFileAttributesW(extended(to).c_str()) == INVALID_FILE_ATTRIBUTES) break;
        ::DeleteFileW((pattern.parent_path() / entry.cFileName).c_str());
    } while (::FindNextFileW(search, &entry) != 0);
    ::FindClose(search);
}

// A file that is loaded or mapped cannot be removed or overwritten, and can be renamed.
bool put_aside(const std::filesystem::path& to, std::filesystem::path& aside) {
    for (int i = 0; i < kOldNames; ++i) {
        aside = extended(to);
        aside += windows::kPutAside + std::to_wstring(::GetCurrentProcessId()) + L"-" + std::to_wstring(i);
        if (::MoveFileExW(extended(to).c_str(), aside.c_str(), 0) != 0) return true;
        if (::GetLastError() != ERROR_ALREADY_EXISTS && ::GetLastError() != ERROR_FILE_EXISTS) return false;
    }
    return false;
}

// The old file that this replacement put aside; one that something looks at goes a moment later, one that is loaded at the next replacement.
void remove_aside(const std::filesystem::path& aside) {
    windows::Patience patience;
    while (::DeleteFileW(aside.c_str()) == 0 && ::GetLastError() == ERROR_SHARING_VIOLATION && patience.wait()) {
    }
}

bool means_in_use(DWORD error) {
    return error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION || error == ERROR_USER_MAPPED_FILE;
}

bool is_folder(const std::filesystem::path& to) {
    const DWORD attributes = ::GetFileAttributesW(extended(to).c_str());
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

}  // namespace

// Others may do the same at this moment, or read the file that has the name: each step can fail because of them, and not for long.
std::string replace(const std::filesystem::path& from, const std::filesystem::path& to) {
    remove_those_aside(to);
    DWORD error = 0;
    windows::Patience patience;
    do {
        if (::MoveFileExW(extended(from).c_str(), extended(to).c_str(), kFlags) != 0) return {};
        error = ::GetLastError();
        if (!means_in_use(error) || is_folder(to)) break;
        std::filesystem::path aside;
        if (!put_aside(to, aside)) continue;
        if (::MoveFileExW(extended(from).c_str(), extended(to).c_str(), kFlags) != 0) {
            remove_aside(aside);
            return {};
        }
        error = ::GetLastError();
        // Back where it was; where somebody else's new file has the name by now, nobody wants the old one.
        if (::MoveFileExW(aside.c_str(), extended(to).c_str(), 0) == 0) remove_aside(aside);
        if (!means_in_use(error)) break;
    } while (patience.wait());
    return windows::words_for(error);
}

}  // namespace backplane::base
