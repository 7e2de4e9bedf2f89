// Whether the loader of Windows would find a library, asked without running any of it ("Dynamic-link library search order").
#include <string>

#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

bool is_file(const std::filesystem::path& path) {
    const DWORD attributes = ::GetFileAttributesW(windows::extended(path).c_str());
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

std::filesystem::path system_folder() {
    std::wstring room(MAX_PATH, L'\0');
    const DWORD length = ::GetSystemDirectoryW(room.data(), static_cast<UINT>(room.size()));
    return length != 0 && length < room.size() ? std::filesystem::path(room.substr(0, length)) : std::filesystem::path();
}

}  // namespace

std::vector<std::string> names_of_libraries() {
    std::string problem;
    std::vector<std::string> names;
    for (const std::filesystem::path& name : names_in(system_folder(), problem)) {
        const std::u8string text = name.u8string();
        const std::string_view ending =
            text.size() < 4 ? std::string_view()
                            : std::string_view(reinterpret_cast<const char*>(text.data()) + text.size() - 4, 4);
        if (ending == ".dll" || ending == ".DLL") names.emplace_back(text.begin(), text.end());
    }
    return names;
}

Presence find_library(const std::string& name, std::span<const std::filesystem::path> run_paths) {
    const std::wstring wide = windows::to_wide(name);
    // Imports are plain names; one with the name of another machine in it would be asked for over the network.
    if (wide.starts_with(L"\\\\") || wide.starts_with(L"//")) return Presence::absent;
    if (wide.find_first_of(L"/\\") != std::wstring::npos) return is_file(wide) ? Presence::present : Presence::absent;
    for (const std::filesystem::path& folder : run_paths)
        if (is_file(folder / wide)) return Presence::present;
    if (is_api_set(name) || ::GetModuleHandleW(wide.c_str()) != nullptr) return Presence::present;
    // Mapped as data: no code runs, what it needs itself is not looked at. The folders are those of DynamicLibrary.
    constexpr DWORD kLook = LOAD_LIBRARY_AS_DATAFILE | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
    if (const HMODULE found = ::LoadLibraryExW(wide.c_str(), nullptr, kLook); found != nullptr) {
        ::FreeLibrary(found);
        return Presence::present;
    }
    return ::GetLastError() == ERROR_MOD_NOT_FOUND || ::GetLastError() == ERROR_FILE_NOT_FOUND ? Presence::absent
                                                                                               : Presence::unknown;
}

struct LibraryPlaces::Index {};
LibraryPlaces::LibraryPlaces() = default;
LibraryPlaces::~LibraryPlaces() = default;

Presence LibraryPlaces::find(const std::string& name, std::span<const std::filesystem::path> run_paths) const {
    return find_library(name, run_paths);
}

std::vector<std::filesystem::path> LibraryPlaces::of(const std::string& name,
                                                     std::span<const std::filesystem::path> run_paths) const {
    const std::wstring wide = windows::to_wide(name);
    if (wide.find_first_of(L"/\\") != std::wstring::npos)
        return is_file(wide) ? std::vector<std::filesystem::path>{wide} : std::vector<std::filesystem::path>();
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path& folder : run_paths)
        if (files.empty() && is_file(folder / wide)) files.push_back(folder / wide);
    if (const std::filesystem::path system = system_folder(); !system.empty() && is_file(system / wide))
        files.push_back(system / wide);
    if (const std::filesystem::path own = executable_file().parent_path() / wide; is_file(own)) files.push_back(own);
    return files;
}

}  // namespace backplane::base
