#include "base/appended_file.hpp"

#include <algorithm>
#include <array>

#include "backplane/error.hpp"
#include "base/file_error.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

bool move_to(HANDLE file, int64_t place) {
    LARGE_INTEGER where{};
    where.QuadPart = place;
    return ::SetFilePointerEx(file, where, nullptr, FILE_BEGIN) != 0;
}

// Behind the last line that is whole.
int64_t end_of_lines(HANDLE file, int64_t size) {
    std::array<char, 4096> piece;
    while (size > 0) {
        const int64_t from = std::max<int64_t>(0, size - static_cast<int64_t>(piece.size()));
        DWORD got = 0;
        if (!move_to(file, from) || ::ReadFile(file, piece.data(), static_cast<DWORD>(size - from), &got, nullptr) == 0 ||
            got != static_cast<DWORD>(size - from))
            return -1;
        for (DWORD i = got; i > 0; --i)
            if (piece[i - 1] == '\n') return from + i;
        size = from;
    }
    return 0;
}

[[noreturn]] void fail(const std::filesystem::path& path, DWORD error) {
    const std::string what = "cannot write " + quoted(path) + ": ";
    if (error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION)
        throw Error(Code::busy, what + "another process is at work with it");
    const bool missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
    throw Error(missing ? Code::not_found : Code::denied, what + windows::words_for(error));
}

}  // namespace

AppendedFile::AppendedFile(std::filesystem::path path) : path_(std::move(path)) {
    // Others may read it: that nobody else may write is the lock.
    HANDLE file = ::CreateFileW(windows::extended(path_).c_str(), GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ, nullptr,
                                OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (file == INVALID_HANDLE_VALUE) fail(path_, ::GetLastError());
    LARGE_INTEGER size{};
    const int64_t end = ::GetFileSizeEx(file, &size) != 0 ? end_of_lines(file, size.QuadPart) : -1;
    if (end < 0 || !move_to(file, end) || ::SetEndOfFile(file) == 0) {
        const DWORD error = ::GetLastError();
        ::CloseHandle(file);
        fail(path_, error);
    }
    handle_ = reinterpret_cast<intptr_t>(file);
}

AppendedFile::~AppendedFile() {
    if (handle_ != -1) ::CloseHandle(windows::as_handle(handle_));
}

void AppendedFile::append(std::string_view line) {
    std::string text(line);
    text += '\n';
    std::string_view left = text;
    while (!left.empty()) {
        DWORD written = 0;
        if (::WriteFile(windows::as_handle(handle_), left.data(), static_cast<DWORD>(left.size()), &written, nullptr) == 0)
            fail(path_, ::GetLastError());
        if (written == 0) fail(path_, ERROR_HANDLE_DISK_FULL);
        left.remove_prefix(written);
    }
}

void AppendedFile::touch() noexcept {
    FILETIME now{};
    ::GetSystemTimeAsFileTime(&now);
    static_cast<void>(::SetFileTime(windows::as_handle(handle_), nullptr, nullptr, &now));
}

}  // namespace backplane::base
