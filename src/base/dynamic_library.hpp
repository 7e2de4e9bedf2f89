// Shared libraries: loading one, and telling whether one could be loaded without loading it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::base {

// An open library. Its symbols stay private to it. Closed on destruction unless kept.
class DynamicLibrary {
public:
    DynamicLibrary() = default;
    // Loads the very file (an absolute path), with everything it needs, at once. A name without a folder is left to the system's own
    // search. Throws Error(not_found) with what the system said.
    explicit DynamicLibrary(const std::filesystem::path& file);
    // One more reference to the library that contains this code, so that it stays in memory; empty when that is the program.
    static DynamicLibrary of_this_code() noexcept;
    ~DynamicLibrary();
    DynamicLibrary(DynamicLibrary&& other) noexcept;
    DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;

    [[nodiscard]] void* symbol(const char* name) const noexcept;  // null: no such symbol
    // Where the system says that it came from: perhaps no file, or none that may be read.
    [[nodiscard]] std::filesystem::path file() const;
    // Its note segments (ELF) where they lie in memory, valid while it is open; none where libraries have no such thing.
    [[nodiscard]] std::vector<std::span<const std::byte>> notes() const;
    void keep() noexcept { handle_ = nullptr; }  // stays mapped until the process ends

private:
    void* handle_ = nullptr;
};

// The ending of shared libraries here: ".so", ".dll".
std::string_view library_ending() noexcept;
std::string_view program_ending() noexcept;  // "", ".exe"

// Names that the loader of Windows maps to what implements them ("API sets"): no file has to be there. On no other system is there one.
bool is_api_set(std::string_view name);

// Every name by which the system would find a library, sorted, as far as it tells; empty: it tells none. Names in folders of their own (run paths)
// are not among them. Runs nothing.
std::vector<std::string> names_of_libraries();

// Would the system find the library `name` ("libvulkan.so.1") for a file with these run paths? Runs nothing. `unknown`: this system
// gives no way to tell.
enum class Presence { present, absent, unknown };
Presence find_library(const std::string& name, std::span<const std::filesystem::path> run_paths);

// The files that the system could take for a library `name`, in any of the places where it looks for libraries of a file with these run
// paths; of each place the first. What it reads to tell, it reads once. Runs nothing.
class LibraryPlaces {
public:
    LibraryPlaces();
    ~LibraryPlaces();
    LibraryPlaces(const LibraryPlaces&) = delete;
    LibraryPlaces& operator=(const LibraryPlaces&) = delete;
    // As find_library().
    [[nodiscard]] Presence find(const std::string& name, std::span<const std::filesystem::path> run_paths) const;
    [[nodiscard]] std::vector<std::filesystem::path> of(const std::string& name,
                                                        std::span<const std::filesystem::path> run_paths) const;

private:
    struct Index;
    mutable std::unique_ptr<Index> index_;  // read when it is needed
};

// The file of the library (or program) that contains this code, and that of the running program; empty when the system does not tell.
std::filesystem::path own_file();
std::filesystem::path executable_file();
// Why both are empty, and what to do, in a sentence.
std::string why_no_place();

}  // namespace backplane::base
