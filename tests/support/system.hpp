// What tests ask of the system, by any platform's means.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace backplane::test {

// A new folder with a name of its own, for this test alone.
std::filesystem::path make_temporary_folder();

void set_environment(const std::string& name, const std::string& value);
void unset_environment(const std::string& name);

int process_id();

// Lets everybody on this machine write to a file or folder.
void let_others_write(const std::filesystem::path& path);

// A shared library, loaded and never unloaded; null when it does not load, or has no such symbol.
void* symbol_of(const std::filesystem::path& library, const char* name);

// Is this file part of this process?
bool is_loaded(const std::filesystem::path& library);

// How often is it mapped?
size_t times_loaded(const std::filesystem::path& library);

// Takes a file that may be loaded from its place, as an uninstaller does.
void take_away(const std::filesystem::path& path);

// Memory at a multiple of `alignment`, a power of two.
void* allocate(size_t size, size_t alignment);
void release(void* memory);

// Of this process, to find what leaks.
size_t open_files();
size_t threads();
size_t bytes_allocated();  // 0: not counted here

// The name of a shared library: "backplane-x" is "backplane-x.so" here, or "backplane-x.dll".
std::string library(const std::string& stem);

// Whether drivers of an interface start here, as far as the system goes: under Wine, Vulkan's want a display.
bool starts_drivers_of(const std::string& backend);

// A library that every system of this platform has.
std::string system_library();

}  // namespace backplane::test
