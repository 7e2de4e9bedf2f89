// A file that did not exist before, written by the calls of the system. Numbers are those of errno on every system; 0: done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace backplane::base {

class NewFile {
public:
    NewFile() = default;
    ~NewFile() {
        static_cast<void>(close());
        let_go();
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // EEXIST: the name is taken. `only_mine`: nobody else may read it; else as the umask, or the folder, says. The file is locked, where
    // the file system can, so that remove_abandoned() knows that somebody is at it.
    [[nodiscard]] int create(const std::filesystem::path& path, bool only_mine) noexcept;
    [[nodiscard]] bool is_open() const noexcept { return handle_ != -1; }
    // As far as the system lets it; the owner, too, where this process may give files away.
    void take_permissions_of(const std::filesystem::path& other) noexcept;
    [[nodiscard]] int write(std::span<const std::byte> bytes) noexcept;  // all of them
    [[nodiscard]] int sync() noexcept;                                   // the disk has it, where the file system can say so
    [[nodiscard]] int close() noexcept;  // some file systems say only now that the disk was full
    void let_go() noexcept;              // of the lock, which outlives close() so that the file can be given its name first

private:
    intptr_t handle_ = -1, lock_ = -1;
};

// Removes a file of this user's that NewFile made, when whoever wrote it is gone and nobody has changed it for so many seconds. A link, a
// folder, a file with several names and one that is locked stay.
bool remove_abandoned(const std::filesystem::path& path, int64_t seconds) noexcept;

// Eight hexadecimal digits that are always the same on this machine, and hardly ever on another.
std::string machine_mark();

// Makes a rename in this folder survive a power cut, where the file system can.
void sync_folder(const std::filesystem::path& folder) noexcept;

}  // namespace backplane::base
