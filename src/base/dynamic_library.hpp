// Shared libraries: loading one, and telling whether one could be loaded without loading it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace backplane::base {

// An open library. Its symbols stay private to it. Closed on destruction unless kept.
class DynamicLibrary {
public:
    DynamicLibrary() = default;
    // Loads the very file (an absolute path), with everything it needs, at once. Throws Error(not_found) with what the system said.
    explicit DynamicLibrary(const std::filesystem::path& file);
    ~DynamicLibrary();
    DynamicLibrary(DynamicLibrary&& other) noexcept;
    DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;

    [[nodiscard]] void* symbol(const char* name) const noexcept;  // null: no such symbol
    void keep() noexcept { handle_ = nullptr; }                   // stays mapped until the process ends

private:
    void* handle_ = nullptr;
};

// The ending of shared libraries here: ".so", ".dll".
std::string_view library_ending() noexcept;
std::string_view program_ending() noexcept;  // "", ".exe"

// Would the system find the library `name` ("libvulkan.so.1") for a file with these run paths? Runs nothing. `unknown`: this system
// gives no way to tell.
enum class Presence { present, absent, unknown };
Presence find_library(const std::string& name, std::span<const std::filesystem::path> run_paths);

// The file of the library (or program) that contains this code, and that of the running program; empty when the system does not tell.
std::filesystem::path own_file();
std::filesystem::path executable_file();

}  // namespace backplane::base
