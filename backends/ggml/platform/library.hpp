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

// The file that holds this code or data of the process; empty when the system does not tell.
fs::path file_of(const void* address);
// Files of this name that are mapped into the process by now, wherever they lie.
std::vector<fs::path> mapped(const std::string& file_name);
// Why the system would not survive loading this file: it is no library of this machine, or is cut off. Empty: it may load.
std::string why_unloadable(const fs::path& file);

std::string base_library_name();                           // "libggml-base.so"
bool is_module_name(const std::string& file_name);         // "libggml-cpu-zen4.so"; not libggml.so, not the base
std::string kind_of_module(const std::string& file_name);  // "cpu" of the above: variants of one kind compete

}  // namespace backplane::ggml
