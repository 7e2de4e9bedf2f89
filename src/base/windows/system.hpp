// What the files of this folder share: texts, paths and errors as Windows wants them.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace backplane::base::windows {

// What is not valid in the one becomes U+FFFD in the other.
std::string to_utf8(std::wstring_view text);
std::wstring to_wide(std::string_view text);

// The system's words for GetLastError(), without the line end.
std::string words_for(DWORD error);

// The path as the calls of the system take it at any length: absolute, and with \\?\ in front when it is long.
std::filesystem::path extended(const std::filesystem::path& path);
// Without \\?\ where it is not needed, for people and for comparing.
std::filesystem::path plain(std::wstring_view path);

struct CloseHandle_ {
    using pointer = HANDLE;
    void operator()(HANDLE handle) const noexcept { ::CloseHandle(handle); }
};
using Handle = std::unique_ptr<HANDLE, CloseHandle_>;
// Of one that is kept as a number, where the header knows no Windows.
inline HANDLE as_handle(intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

// Between attempts at a file that another process or thread is replacing, or that something looks at (a virus scanner, an indexer): such
// moments pass, and whoever holds it for good is told of within a quarter of a second.
class Patience {
public:
    // False, at once: it was waited long enough.
    bool wait() noexcept {
        constexpr DWORD kLongest = 128;  // milliseconds, the last of eight
        if (milliseconds_ > kLongest) return false;
        ::Sleep(milliseconds_);
        milliseconds_ *= 2;
        return true;
    }

private:
    DWORD milliseconds_ = 1;
};

// How the name of a file ends that was in use when it was replaced; a number follows.
inline constexpr const wchar_t* kPutAside = L".replaced-";

// A file or folder that is there, by its extended() path; again for a moment while it is being replaced. Null, and GetLastError() says why.
Handle open_existing(const std::filesystem::path& extended, DWORD rights, DWORD shared, DWORD flags);

struct LocalFree_ {
    void operator()(void* memory) const noexcept { ::LocalFree(memory); }
};
template <typename T>
using LocalMemory = std::unique_ptr<T, LocalFree_>;

}  // namespace backplane::base::windows
