// A file as read-only memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace backplane::formats {

enum class Links { follow, refuse };  // where the last part of a path is one

// Unmaps when it goes. A file that somebody shortens while it is mapped makes the system raise SIGBUS on access: replace model files
// by renaming, as base::ReplacingFile does, and never write into them.
class MappedFile {
public:
    MappedFile() = default;
    // Throws Error: not_found, denied (what the system says; a link that is refused), invalid (no regular file).
    explicit MappedFile(const std::filesystem::path& path, Links links = Links::follow);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

// Whole pages among these bytes of a MappedFile go from this process's memory until they are read again: for what was read once and is large.
void let_go(std::span<const std::byte> bytes) noexcept;

}  // namespace backplane::formats
