// Files as discovery sees them: looked at with suspicion, never waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace backplane::base {

struct FileStatus {
    enum class Kind { missing, regular, folder, other };
    Kind kind = Kind::missing;
    uint64_t size = 0;
    uint64_t volume = 0, number = 0;  // together: which file it is, whatever its names
    int64_t modified_ns = 0;
    int64_t changed_ns = 0;  // its content, owner or rights, or its names; what sets the time of change cannot set this
    uint32_t mode = 0;       // rights as the system has them; 0 where it has no such thing
    bool others_may_write = false;  // anybody on this machine
    bool group_may_write =
        false;                   // members of a group that is neither the system's, nor the owner's own, nor this process's
    bool sticky = false;         // a folder where only a file's owner may replace it
    bool foreign_owner = false;  // owned by neither the system, nor this user, nor the owner of this library
    std::string owner, group;    // for messages: "user 1000", "group 50"
    std::string problem;         // why nothing is known; kind is then missing

    [[nodiscard]] bool trusted() const noexcept { return !others_may_write && !foreign_owner; }
};

// Follows links.
FileStatus status_of(const std::filesystem::path& path);

// An open regular file. A FIFO or device under that name is refused at once and never opened for waiting.
class File {
public:
    explicit File(const std::filesystem::path& path);  // throws Error(not_found, denied, invalid)
    ~File();
    File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), status_(std::move(other.status_)) {}
    File& operator=(File&&) = delete;

    [[nodiscard]] const FileStatus& status() const noexcept { return status_; }  // of the open file, not of the name
    // Fewer bytes than asked for: the end of the file, or an error of the disk.
    size_t read_at(uint64_t offset, std::span<std::byte> into) const noexcept;

private:
    intptr_t descriptor_ = -1;
    FileStatus status_;
};

// All that an open file holds; of a longer one the first `most` bytes.
std::string text_of(const File& file, uint64_t most = UINT64_MAX);

// Calls `f` with one piece after another of a file that may be large. Throws Error as File, and denied where not all of it can be read.
void each_piece(const std::filesystem::path& path, const std::function<void(std::span<const std::byte>)>& f);

// Names in a folder, sorted, at most `most`. Empty when it cannot be read: `problem` then says why.
std::vector<std::filesystem::path> names_in(const std::filesystem::path& folder, std::string& problem, size_t most = 100000);

// The path that a text in UTF-8 names; on systems where names are bytes, these bytes. Not std::filesystem::path(text): on Windows that
// takes the text for one of the C locale.
inline std::filesystem::path path_of(std::string_view text) {
    return std::u8string_view(reinterpret_cast<const char8_t*>(text.data()), text.size());
}

// The one absolute path of what is there, links followed; empty when nothing is.
std::filesystem::path real_path(const std::filesystem::path& path);

// The command that takes from others the right to write to a file or folder, for messages.
std::string how_to_protect(const std::filesystem::path& path);

// Gives `from` the name `to` in one step, in place of the file that has it, even while that one is open, mapped or loaded. Both in one
// folder. Returns why it could not; `to` then is as it was.
std::string replace(const std::filesystem::path& from, const std::filesystem::path& to);

// False: it is not there any more either way, or it could not be removed. A folder is never removed, a link is and not what it points at.
bool remove_file(const std::filesystem::path& path) noexcept;

// Sets the time of the last change to now, by the clock of the file system. Quietly nothing where that is not allowed.
void set_modified_now(const std::filesystem::path& path) noexcept;

// Why nothing in this folder may be trusted: others may write to it, or to one above it that is not sticky, or it belongs to somebody else.
struct Distrust {
    enum class Kind { none, others_may_write, foreign_owner };
    Kind kind = Kind::none;
    std::string text;  // empty: it may
};
// `safe`: folders above which, and in which, nobody else may write; those that were found to be are added, and not looked at again.
Distrust distrust_of(const std::filesystem::path& folder, const FileStatus& status,
                     std::set<std::filesystem::path::string_type>* safe = nullptr);
inline std::string why_not_trusted(const std::filesystem::path& folder) {
    return distrust_of(folder, status_of(folder)).text;
}

// For libraries that read and write a FILE*: names of any script and length. Null, and errno says why. create_new() refuses a name that
// is taken.
std::FILE* open_to_read(const std::filesystem::path& path) noexcept;
std::FILE* create_new(const std::filesystem::path& path) noexcept;

}  // namespace backplane::base
