// A file of lines that one process appends to while others may read it. A process that is killed leaves whole lines, and perhaps one that
// was cut off, which the next that appends removes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::base {

// One thread at a time.
class AppendedFile {
public:
    // Makes the file where it is not there, in a folder that is, and holds it until this is destroyed, where the file system can. Throws
    // Error: busy (a living process holds it), not_found, denied, invalid (no regular file).
    explicit AppendedFile(std::filesystem::path path);
    ~AppendedFile();
    AppendedFile(const AppendedFile&) = delete;
    AppendedFile& operator=(const AppendedFile&) = delete;

    // Without its end, which is put behind it; by one call of the system where that takes all. Throws Error(denied): the disk is full ...
    void append(std::string_view line);
    void touch() noexcept;  // says to who looks at the time of its last change that this process lives

private:
    std::filesystem::path path_;
    intptr_t handle_ = -1;
};

// Reads such a file, on and on while it grows.
class AppendedLines {
public:
    explicit AppendedLines(std::filesystem::path path) : path_(std::move(path)) {}

    // The whole lines since the last call; all of them anew when the file became shorter. None while it is not there or cannot be read.
    std::vector<std::string> next();
    // Changes whenever the file was appended to or touched; 0: it is not there.
    [[nodiscard]] int64_t pulse() const;

private:
    std::filesystem::path path_;
    uint64_t at_ = 0;
};

}  // namespace backplane::base
