// Counting what a piece of code does to files, for benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace backplane::base {

// How often files of a folder are opened, by anybody, while this lives.
class FolderWatch {
public:
    explicit FolderWatch(const std::filesystem::path& folder);
    ~FolderWatch();
    FolderWatch(const FolderWatch&) = delete;
    FolderWatch& operator=(const FolderWatch&) = delete;
    [[nodiscard]] std::optional<uint64_t> opened() const;  // since the last call; nothing: this system does not tell

private:
    int descriptor_ = -1;
};

// What this process has read by calls so far, in bytes, and what of a folder's files is mapped into it now.
std::optional<uint64_t> bytes_read();
std::optional<uint64_t> bytes_mapped_of(const std::filesystem::path& folder);

}  // namespace backplane::base
