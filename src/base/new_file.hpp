// A file that did not exist before, written by the calls of the system. Numbers are those of errno on every system; 0: done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace backplane::base {

class NewFile {
public:
    NewFile() = default;
    ~NewFile() { static_cast<void>(close()); }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // EEXIST: the name is taken. `only_mine`: nobody else may read it; else as the umask, or the folder, says.
    [[nodiscard]] int create(const std::filesystem::path& path, bool only_mine) noexcept;
    [[nodiscard]] bool is_open() const noexcept { return handle_ != -1; }
    void take_permissions_of(const std::filesystem::path& other) noexcept;  // as far as the system lets it
    [[nodiscard]] int write(std::span<const std::byte> bytes) noexcept;     // all of them
    [[nodiscard]] int sync() noexcept;   // the disk has it, where the file system can say so
    [[nodiscard]] int close() noexcept;  // some file systems say only now that the disk was full

private:
    intptr_t handle_ = -1;
};

// Makes a rename in this folder survive a power cut, where the file system can.
void sync_folder(const std::filesystem::path& folder) noexcept;

}  // namespace backplane::base
