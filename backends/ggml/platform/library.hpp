// Shared libraries and folders of the system this is built for: one source a platform, platform/NAME/library.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace backplane::ggml {

namespace fs = std::filesystem;

// An open library; its symbols stay private to it. Closed on destruction unless kept.
class Library {
public:
    Library() = default;
    // Loads the very file, by absolute path. Throws sdk::Failure(BP_NOT_FOUND) with what the system said.
    explicit Library(const fs::path& file);
    ~Library();
    Library(Library&& other) noexcept;
    Library& operator=(Library&& other) noexcept;

    [[nodiscard]] void* symbol(const char* name) const noexcept;  // null: it has none
    void keep() noexcept { handle_ = nullptr; }                   // stays mapped until the process ends

private:
    void* handle_ = nullptr;
};

// The file that holds this code or data of the process, links followed; empty when the system does not tell.
fs::path file_of(const void* address);
// The same under the name it was loaded by, which may be a link in another folder. Absolute.
fs::path name_of(const void* address);
// Every libggml-base that is mapped into the process by now, wherever it lies and whatever number ends its name.
std::vector<fs::path> mapped_bases();
// Every library that is mapped into the process by now, by the name under which it was loaded.
std::vector<std::string> loaded_libraries();
// A function that this code would be bound to if it were linked with ggml, as the loader looks it up; null: nothing in reach has it.
void* symbol_in_reach(const char* name) noexcept;
// The same in any library of the process, in reach or not.
void* symbol_anywhere(const char* name);
// Why the system would not survive loading this file: it is no library of this machine, or is cut off. Empty: it may load.
std::string why_unloadable(const fs::path& file);

// libggml-base.so or libggml-base.so.N, where it stands beside modules in this folder: here, in ../lib and its like (programs and modules in
// bin/, libraries in lib/), or above (modules in lib/ggml/). A link stays a link. Empty: there is none.
fs::path find_base_library(const fs::path& folder);
bool is_base_library_name(const std::string& file_name);   // "libggml-base.so", "libggml-base.so.0", "libacme-ggml-base.so"
std::string base_library_name();                           // "libggml-base.so"
bool is_module_name(const std::string& file_name);         // "libggml-cpu-zen4.so"; not libggml.so, not the base
std::string kind_of_module(const std::string& file_name);  // "cpu" of the above: variants of one kind compete

}  // namespace backplane::ggml
