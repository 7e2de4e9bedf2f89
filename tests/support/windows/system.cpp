#include "support/system.hpp"

#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <aclapi.h>
#include <sddl.h>
#include <tlhelp32.h>
#include <windows.h>

#include <malloc.h>

#include <array>
#include <atomic>
#include <stdexcept>

namespace backplane::test {

namespace {

std::wstring wide(const std::string& utf8) {
    return std::filesystem::path(std::u8string(utf8.begin(), utf8.end())).native();
}

}  // namespace

std::filesystem::path make_temporary_folder() {
    static std::atomic<int> next{0};
    std::array<wchar_t, MAX_PATH + 1> temporary{};
    ::GetTempPathW(temporary.size(), temporary.data());
    for (;;) {
        const std::filesystem::path folder =
            std::filesystem::path(temporary.data()) /
            ("backplane-test-" + std::to_string(process_id()) + "-" + std::to_string(next++));
        if (::CreateDirectoryW(folder.c_str(), nullptr) != 0) return folder;
        if (::GetLastError() != ERROR_ALREADY_EXISTS) throw std::runtime_error("cannot make a temporary folder");
    }
}

void set_environment(const std::string& name, const std::string& value) {
    ::SetEnvironmentVariableW(wide(name).c_str(), wide(value).c_str());
}
void unset_environment(const std::string& name) { ::SetEnvironmentVariableW(wide(name).c_str(), nullptr); }

int process_id() { return static_cast<int>(::GetCurrentProcessId()); }

void let_others_write(const std::filesystem::path& path) {
    // Everything to everybody, inherited by nobody.
    PSECURITY_DESCRIPTOR all = nullptr;
    if (::ConvertStringSecurityDescriptorToSecurityDescriptorW(L"D:P(A;;FA;;;WD)", SDDL_REVISION_1, &all, nullptr) == 0 ||
        ::SetFileSecurityW(path.c_str(), DACL_SECURITY_INFORMATION, all) == 0)
        throw std::runtime_error("cannot change the rights of " + path.string());
    ::LocalFree(all);
}

void* symbol_of(const std::filesystem::path& library, const char* name) {
    const HMODULE loaded = ::LoadLibraryW(library.c_str());
    return loaded == nullptr ? nullptr : reinterpret_cast<void*>(::GetProcAddress(loaded, name));
}

// Handles of every kind: files are among them.
size_t open_files() {
    DWORD count = 0;
    ::GetProcessHandleCount(::GetCurrentProcess(), &count);
    return count;
}

size_t bytes_allocated() { return 0; }

size_t threads() {
    HANDLE all = ::CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    size_t count = 0;
    THREADENTRY32 entry{};
    entry.dwSize = sizeof entry;
    for (BOOL more = ::Thread32First(all, &entry); more != 0; more = ::Thread32Next(all, &entry))
        count += entry.th32OwnerProcessID == ::GetCurrentProcessId() ? 1 : 0;
    ::CloseHandle(all);
    return count;
}

bool is_loaded(const std::filesystem::path& library) { return ::GetModuleHandleW(library.c_str()) != nullptr; }

size_t times_loaded(const std::filesystem::path& library) { return is_loaded(library) ? 1 : 0; }

void take_away(const std::filesystem::path& path) {
    std::filesystem::path away = path;
    away += L".gone";
    if (::MoveFileExW(path.c_str(), away.c_str(), MOVEFILE_REPLACE_EXISTING) == 0)
        throw std::runtime_error("cannot take away " + path.string());
}

void* allocate(size_t size, size_t alignment) { return ::_aligned_malloc(size, alignment); }
void release(void* memory) { ::_aligned_free(memory); }

bool starts_drivers_of(const std::string& backend) {
    return backend != "vulkan" || ::GetEnvironmentVariableW(L"DISPLAY", nullptr, 0) != 0;
}

std::string system_library() { return "KERNEL32.dll"; }
std::string library(const std::string& stem) { return stem + ".dll"; }

}  // namespace backplane::test
