#include <string>

#include "base/file.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

using windows::extended;

constexpr int kNames = 100;  // tried for the old file
constexpr const wchar_t* kAside = L".replaced-";

// Old files that were in use when they were replaced; those that still are stay.
void remove_those_aside(const std::filesystem::path& to) {
    std::filesystem::path pattern = extended(to);
    pattern += kAside;
    pattern += L"*";
    WIN32_FIND_DATAW entry{};
    HANDLE search = ::FindFirstFileW(pattern.c_str(), &entry);
    if (search == INVALID_HANDLE_VALUE) return;
    do {
        ::DeleteFileW((pattern.parent_path() / entry.cFileName).c_str());
    } while (::FindNextFileW(search, &entry) != 0);
    ::FindClose(search);
}

// A file that is loaded or mapped cannot be removed or overwritten, and can be renamed.
bool put_aside(const std::filesystem::path& to, std::filesystem::path& aside) {
    for (int i = 0; i < kNames; ++i) {
        aside = extended(to);
        aside += kAside + std::to_wstring(::GetCurrentProcessId()) + L"-" + std::to_wstring(i);
        if (::MoveFileExW(extended(to).c_str(), aside.c_str(), 0) != 0) return true;
        if (::GetLastError() != ERROR_ALREADY_EXISTS && ::GetLastError() != ERROR_FILE_EXISTS) return false;
    }
    return false;
}

}  // namespace

std::string replace(const std::filesystem::path& from, const std::filesystem::path& to) {
    constexpr DWORD kFlags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    remove_those_aside(to);
    if (::MoveFileExW(extended(from).c_str(), extended(to).c_str(), kFlags) != 0) return {};
    const DWORD error = ::GetLastError();
    std::filesystem::path aside;
    const bool in_use = error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION || error == ERROR_USER_MAPPED_FILE;
    if (!in_use || !put_aside(to, aside)) return windows::words_for(error);
    if (::MoveFileExW(extended(from).c_str(), extended(to).c_str(), kFlags) == 0) {
        const DWORD second = ::GetLastError();
        ::MoveFileExW(aside.c_str(), extended(to).c_str(), 0);
        return windows::words_for(second);
    }
    ::DeleteFileW(aside.c_str());  // at the next replacement otherwise
    return {};
}

}  // namespace backplane::base
