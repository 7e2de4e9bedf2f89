#include "base/file.hpp"

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "backplane/error.hpp"
#include "base/windows/access.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

using windows::Handle;

// "NUL", "COM1", pipes and other devices, which the system finds in any folder: to open some is to act on them.
bool is_device(const std::filesystem::path& extended) { return extended.native().starts_with(L"\\\\.\\"); }

int64_t unix_nanoseconds(const FILETIME& time) {
    constexpr int64_t kFrom1601To1970 = 116'444'736'000'000'000;  // in steps of 100 ns
    const auto steps = static_cast<int64_t>(uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime);
    return (steps - kFrom1601To1970) * 100;
}

FileStatus from_handle(HANDLE file) {
    FileStatus status;
    BY_HANDLE_FILE_INFORMATION facts{};
    if (::GetFileType(file) != FILE_TYPE_DISK) {
        status.kind = FileStatus::Kind::other;
        return status;
    }
    if (::GetFileInformationByHandle(file, &facts) == 0) {
        status.problem = windows::words_for(::GetLastError());
        return status;
    }
    const bool folder = (facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    status.kind = folder ? FileStatus::Kind::folder : FileStatus::Kind::regular;
    status.size = uint64_t{facts.nFileSizeHigh} << 32 | facts.nFileSizeLow;
    status.volume = facts.dwVolumeSerialNumber;
    status.number = uint64_t{facts.nFileIndexHigh} << 32 | facts.nFileIndexLow;
    status.modified_ns = unix_nanoseconds(facts.ftLastWriteTime);
    FILE_BASIC_INFO times{};
    if (::GetFileInformationByHandleEx(file, FileBasicInfo, &times, sizeof times) != 0)
        status.changed_ns =
            unix_nanoseconds({static_cast<DWORD>(times.ChangeTime.LowPart), static_cast<DWORD>(times.ChangeTime.HighPart)});
    windows::Access access = windows::access_of(file, folder);
    status.others_may_write = access.others_may_write;
    status.foreign_owner = access.foreign_owner;
    status.owner = std::move(access.owner);
    return status;
}

// Backup semantics: the only way to open a folder. Links are followed.
Handle open_for(const std::filesystem::path& extended, DWORD rights) {
    return windows::open_existing(extended, rights, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                  FILE_FLAG_BACKUP_SEMANTICS);
}

// Names may hold any 16-bit values; those that are no text cannot be said in a report, nor typed.
bool is_text(std::wstring_view name) {
    return ::WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, name.data(), static_cast<int>(name.size()), nullptr, 0,
                                 nullptr, nullptr) != 0;
}

bool means_missing(DWORD error) {
    return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND || error == ERROR_INVALID_NAME ||
           error == ERROR_BAD_NETPATH || error == ERROR_BAD_PATHNAME;
}

}  // namespace

FileStatus status_of(const std::filesystem::path& path) {
    FileStatus status;
    const std::filesystem::path real = windows::extended(path);
    if (is_device(real)) {
        status.kind = FileStatus::Kind::other;
        return status;
    }
    const Handle file = open_for(real, FILE_READ_ATTRIBUTES | READ_CONTROL);
    if (file) return from_handle(file.get());
    status.problem = windows::words_for(::GetLastError());
    return status;
}

File::File(const std::filesystem::path& path) {
    const std::string what = "cannot read " + windows::to_utf8(path.native()) + ": ";
    // Not before knowing what it is.
    status_ = status_of(path);
    if (status_.kind == FileStatus::Kind::missing) throw Error(Code::not_found, what + status_.problem);
    if (status_.kind != FileStatus::Kind::regular) throw Error(Code::invalid, what + "not a regular file");
    Handle file = open_for(windows::extended(path), GENERIC_READ);
    if (!file) {
        const DWORD error = ::GetLastError();
        throw Error(means_missing(error) ? Code::not_found : Code::denied, what + windows::words_for(error));
    }
    status_ = from_handle(file.get());  // the name may have been given to another file meanwhile
    if (status_.kind != FileStatus::Kind::regular) throw Error(Code::invalid, what + "not a regular file");
    descriptor_ = reinterpret_cast<intptr_t>(file.release());
}

File::~File() {
    if (descriptor_ != -1) ::CloseHandle(reinterpret_cast<HANDLE>(descriptor_));
}

size_t File::read_at(uint64_t offset, std::span<std::byte> into) const noexcept {
    constexpr size_t kMost = size_t{1} << 30;  // in one call
    size_t done = 0;
    while (done < into.size()) {
        const uint64_t at = offset + done;
        OVERLAPPED where{};
        where.Offset = static_cast<DWORD>(at);
        where.OffsetHigh = static_cast<DWORD>(at >> 32);
        const auto wanted = static_cast<DWORD>(std::min(into.size() - done, kMost));
        DWORD n = 0;
        if (::ReadFile(reinterpret_cast<HANDLE>(descriptor_), into.data() + done, wanted, &n, &where) == 0 || n == 0) break;
        done += n;
    }
    return done;
}

std::filesystem::path real_path(const std::filesystem::path& path) {
    const std::filesystem::path given = windows::extended(path);
    if (is_device(given)) return {};
    const Handle file = open_for(given, FILE_READ_ATTRIBUTES);
    if (!file) return {};
    const DWORD room = ::GetFinalPathNameByHandleW(file.get(), nullptr, 0, FILE_NAME_NORMALIZED);
    std::wstring name(room, L'\0');
    name.resize(room == 0 ? 0 : ::GetFinalPathNameByHandleW(file.get(), name.data(), room, FILE_NAME_NORMALIZED));
    // Some file systems and drivers give no final name.
    const std::filesystem::path real = windows::plain(name.empty() ? given.native() : name);
    return is_text(real.native()) ? real : std::filesystem::path();
}

std::vector<std::filesystem::path> names_in(const std::filesystem::path& folder, std::string& problem, size_t most) {
    std::vector<std::filesystem::path> names;
    // The pattern has room for a name, so that a folder near the limit is read as well.
    std::filesystem::path pattern = windows::extended(folder / std::wstring(14, L'x')).parent_path();
    pattern /= L"*";
    WIN32_FIND_DATAW entry{};
    HANDLE search = ::FindFirstFileExW(pattern.c_str(), FindExInfoBasic, &entry, FindExSearchNameMatch, nullptr, 0);
    if (search == INVALID_HANDLE_VALUE) {
        problem = windows::words_for(::GetLastError());
        return names;
    }
    do {
        if (is_text(entry.cFileName)) names.emplace_back(entry.cFileName);
    } while (names.size() < most && ::FindNextFileW(search, &entry) != 0);
    ::FindClose(search);
    std::sort(names.begin(), names.end());
    return names;
}

std::string how_to_protect(const std::filesystem::path& path) {
    return "icacls \"" + windows::to_utf8(path.native()) + "\" /inheritance:d /remove:g *S-1-1-0 *S-1-5-32-545 *S-1-5-11";
}

bool remove_file(const std::filesystem::path& path) noexcept { return ::DeleteFileW(windows::extended(path).c_str()) != 0; }

void set_modified_now(const std::filesystem::path& path) noexcept {
    const Handle file = open_for(windows::extended(path), FILE_WRITE_ATTRIBUTES);
    FILETIME now{};
    ::GetSystemTimeAsFileTime(&now);
    if (file) ::SetFileTime(file.get(), nullptr, nullptr, &now);
}

std::FILE* open_to_read(const std::filesystem::path& path) noexcept {
    return ::_wfopen(windows::extended(path).c_str(), L"rbN");
}

std::FILE* create_new(const std::filesystem::path& path) noexcept {
    constexpr int kNew = _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY | _O_NOINHERIT;
    const int descriptor = ::_wopen(windows::extended(path).c_str(), kNew, _S_IREAD | _S_IWRITE);
    return descriptor < 0 ? nullptr : ::_wfdopen(descriptor, L"wb");
}

}  // namespace backplane::base
