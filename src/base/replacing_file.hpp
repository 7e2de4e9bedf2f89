// A file that appears under its name whole, or not at all: the one way in which this library writes files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/new_file.hpp"

namespace backplane::base {

struct ReplacingOptions {
    bool durable = true;       // commit() returns when the disk has the file and its name
    bool only_mine = false;    // a file that is new is for this user alone; else as the umask says
    bool follow_links = true;  // what a link points at is replaced; else the link itself
    std::string_view mark;     // in the temporary's name, so that its owner knows it later and sweeps; without: swept here
};

// Writes to a new file `.MARKxxxxxxxxxxxxxxxx.partial` beside the target (without a mark, that of this machine); commit() gives it the
// target's name in one step and, where there was a file, its permissions and, for root, its owner. Destroyed before, it removes what it
// wrote: only a killed process leaves the temporary file, which the next ReplacingFile in that folder removes (those of this user, made on
// this machine, that no living process has locked; of another machine after a day). Not for two threads at once.
class ReplacingFile {
public:
    // Throws Error: not_found (no such folder), invalid (the target is a folder, a device, a link in a circle; its name is too long),
    // denied (what the system says).
    explicit ReplacingFile(const std::filesystem::path& target, ReplacingOptions options = {});
    ~ReplacingFile();
    ReplacingFile(const ReplacingFile&) = delete;
    ReplacingFile& operator=(const ReplacingFile&) = delete;

    // False: it failed, fault() says why, and so does all that is written later. Does not throw, so that C code may call it.
    [[nodiscard]] bool try_write(std::span<const std::byte> bytes) noexcept;
    [[nodiscard]] int fault() const noexcept { return fault_; }  // errno of the first failure, 0: none

    void write(std::span<const std::byte> bytes);  // throws Error, for instance when the disk is full
    void commit();                                 // throws Error; the old file then is as it was

private:
    [[nodiscard]] int flush() noexcept;
    void remove() noexcept;

    ReplacingOptions options_;
    std::filesystem::path target_, temporary_;
    NewFile file_;
    std::vector<std::byte> waiting_;  // small pieces, written together
    int fault_ = 0;
};

// A file that holds this text. Throws Error as ReplacingFile does.
void write_text(const std::filesystem::path& target, std::string_view text, const ReplacingOptions& options = {});

}  // namespace backplane::base
