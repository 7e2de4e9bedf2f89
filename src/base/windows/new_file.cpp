#include "base/new_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

constexpr DWORD kDiskQuotaExceeded = 1295;  // not in every winerror.h

int number_for(DWORD error) {
    switch (error) {
        case ERROR_FILE_EXISTS:
        case ERROR_ALREADY_EXISTS: return EEXIST;
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
        case ERROR_BAD_NETPATH:
        case ERROR_BAD_PATHNAME: return ENOENT;
        case ERROR_INVALID_NAME:
        case ERROR_FILENAME_EXCED_RANGE: return ENAMETOOLONG;
        case ERROR_ACCESS_DENIED:
        case ERROR_SHARING_VIOLATION:
        case ERROR_LOCK_VIOLATION: return EACCES;
        case ERROR_WRITE_PROTECT: return EROFS;
        case ERROR_DISK_FULL:
        case ERROR_HANDLE_DISK_FULL:
        case kDiskQuotaExceeded: return ENOSPC;
        case ERROR_FILE_TOO_LARGE: return EFBIG;
        case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
        case ERROR_NOT_ENOUGH_MEMORY:
        case ERROR_OUTOFMEMORY: return ENOMEM;
        default: return EIO;
    }
}

}  // namespace

// Who may read it is what the folder says: below a user's profile, this user, the system and administrators.
int NewFile::create(const std::filesystem::path& path, bool) noexcept {
    HANDLE made = ::CreateFileW(windows::extended(path).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW,
                                FILE_ATTRIBUTE_NORMAL, nullptr);
    if (made == INVALID_HANDLE_VALUE) return number_for(::GetLastError());
    handle_ = reinterpret_cast<intptr_t>(made);
    return 0;
}

void NewFile::take_permissions_of(const std::filesystem::path&) noexcept {}

int NewFile::write(std::span<const std::byte> bytes) noexcept {
    constexpr size_t kMost = size_t{1} << 30;  // in one call
    while (!bytes.empty()) {
        DWORD written = 0;
        if (::WriteFile(windows::as_handle(handle_), bytes.data(), static_cast<DWORD>(std::min(bytes.size(), kMost)),
                        &written, nullptr) == 0)
            return number_for(::GetLastError());
        if (written == 0) return EIO;
        bytes = bytes.subspan(written);
    }
    return 0;
}

int NewFile::sync() noexcept {
    return ::FlushFileBuffers(windows::as_handle(handle_)) != 0 ? 0 : number_for(::GetLastError());
}

int NewFile::close() noexcept {
    const intptr_t handle = std::exchange(handle_, -1);
    return handle == -1 || ::CloseHandle(windows::as_handle(handle)) != 0 ? 0 : number_for(::GetLastError());
}

void NewFile::let_go() noexcept {}  // a file that is open cannot be removed here

// Between close() and its new name a file is not locked: for that the least time.
bool remove_abandoned(const std::filesystem::path& path, int64_t seconds) noexcept {
    constexpr int64_t kLeast = 60, kTicks = 10'000'000;  // of 100 ns
    HANDLE file = ::CreateFileW(windows::extended(path).c_str(), DELETE | FILE_READ_ATTRIBUTES, 0, nullptr, OPEN_EXISTING,
                                FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
    if (file == INVALID_HANDLE_VALUE) return false;
    BY_HANDLE_FILE_INFORMATION facts{};
    FILETIME now{};
    ::GetSystemTimeAsFileTime(&now);
    const auto ticks = [](const FILETIME& t) {
        return static_cast<int64_t>(uint64_t{t.dwHighDateTime} << 32 | t.dwLowDateTime);
    };
    FILE_DISPOSITION_INFO remove{TRUE};
    const bool gone = ::GetFileInformationByHandle(file, &facts) != 0 &&
                      (facts.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) == 0 &&
                      facts.nNumberOfLinks == 1 &&
                      ticks(now) - ticks(facts.ftLastWriteTime) >= std::max(seconds, kLeast) * kTicks &&
                      ::SetFileInformationByHandle(file, FileDispositionInfo, &remove, sizeof remove) != 0;
    ::CloseHandle(file);
    return gone;
}

std::string machine_mark() {
    std::array<wchar_t, MAX_COMPUTERNAME_LENGTH + 1> name{};
    auto length = static_cast<DWORD>(name.size());
    if (::GetComputerNameW(name.data(), &length) == 0) length = 0;
    std::array<char, 9> mark{};
    std::snprintf(mark.data(), mark.size(), "%08x", static_cast<unsigned>(std::hash<std::wstring>{}({name.data(), length})));
    return mark.data();
}

void sync_folder(const std::filesystem::path&) noexcept {}  // replace() writes through

}  // namespace backplane::base
