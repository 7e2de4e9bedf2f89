// A file that appears under its name complete, or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace backplane::formats {

// Writes to a new file beside `path`; commit() makes it durable and renames it over `path`. Without commit() it is removed.
class ReplacingFile {
public:
    // Throws Error: not_found (no such folder), denied (what the system says).
    explicit ReplacingFile(std::filesystem::path path);
    ~ReplacingFile();
    ReplacingFile(const ReplacingFile&) = delete;
    ReplacingFile& operator=(const ReplacingFile&) = delete;

    void write(std::span<const std::byte> bytes);  // throws Error(denied), for instance when the disk is full
    void commit();                                 // throws Error(denied); the old file then is as it was

private:
    std::filesystem::path path_, temporary_;
    int descriptor_ = -1;
};

}  // namespace backplane::formats
