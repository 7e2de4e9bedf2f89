#include "base/windows/system.hpp"

#include <algorithm>

namespace backplane::base::windows {

std::string to_utf8(std::wstring_view text) {
    if (text.empty()) return {};
    const int size = static_cast<int>(text.size());
    const int room = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr);
    std::string out(static_cast<size_t>(std::max(room, 0)), '\0');
    ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, out.data(), room, nullptr, nullptr);
    return out;
}

std::wstring to_wide(std::string_view text) {
    if (text.empty()) return {};
    const int size = static_cast<int>(text.size());
    const int room = ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0);
    std::wstring out(static_cast<size_t>(std::max(room, 0)), L'\0');
    ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, out.data(), room);
    return out;
}

std::string words_for(DWORD error) {
    wchar_t* text = nullptr;
    constexpr DWORD kFlags = FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
    const DWORD size = ::FormatMessageW(kFlags, nullptr, error, 0, reinterpret_cast<wchar_t*>(&text), 0, nullptr);
    const LocalMemory<wchar_t> held(text);
    std::string words = to_utf8({text, size});
    while (!words.empty() && (words.back() == '\n' || words.back() == '\r' || words.back() == ' ' || words.back() == '.'))
        words.pop_back();
    return words.empty() ? "error " + std::to_string(error) : words + " (error " + std::to_string(error) + ")";
}

std::filesystem::path extended(const std::filesystem::path& path) {
    // Below MAX_PATH by the twelve characters that creating a folder keeps for an old file name.
    constexpr size_t kShort = MAX_PATH - 12;
    const std::wstring& given = path.native();
    if (given.empty() || given.starts_with(L"\\\\?\\") || given.starts_with(L"\\\\.\\")) return path;
    const DWORD room = ::GetFullPathNameW(given.c_str(), 0, nullptr, nullptr);
    std::wstring full(room, L'\0');
    full.resize(::GetFullPathNameW(given.c_str(), room, full.data(), nullptr));
    if (full.size() < kShort) return full.empty() ? path : std::filesystem::path(full);
    if (full.starts_with(L"\\\\")) return L"\\\\?\\UNC" + full.substr(1);
    return L"\\\\?\\" + full;
}

std::filesystem::path plain(std::wstring_view path) {
    constexpr std::wstring_view kShare = L"\\\\?\\UNC\\";
    constexpr std::wstring_view kPrefix = L"\\\\?\\";
    if (path.starts_with(kShare)) return L"\\\\" + std::wstring(path.substr(kShare.size()));
    const bool drive = path.starts_with(kPrefix) && path.size() > 5 && path[5] == L':';
    return std::wstring(drive ? path.substr(kPrefix.size()) : path);
}

}  // namespace backplane::base::windows
