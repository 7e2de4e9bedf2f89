// Files and the processor, as the system tells of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace backplane::ggml {

namespace fs = std::filesystem;

// Enough to tell whether a name stands for the same file as before, and who may change it. Links are followed; size 0: there is no regular
// file with anything in it.
struct FileFacts {
    uint64_t size = 0, volume = 0, number = 0;
    int64_t modified_ns = 0, changed_ns = 0;  // changed: its owner, rights or names, too
    uint32_t owner = 0;
    bool others_may_write = false;  // anybody on this machine
};
FileFacts facts_of(const char* file);
inline FileFacts facts_of(const fs::path& file) { return facts_of(file.c_str()); }

// For facts of many files in one folder: the way to it is walked once.
class Folder {
public:
    explicit Folder(const fs::path& folder);
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] FileFacts facts_of(const char* name) const;

private:
    int descriptor_;
};

// Why nothing in this file is believed or run: others may write to it, or it is somebody else's. Empty: nothing speaks against it. Trusted
// owners are the system, this user, and those whose code runs in this process anyway: of this library, of the program, of libggml-base.
std::string why_not_trusted(const fs::path& file, const FileFacts& facts);

// Owned by the user that this process acts for.
bool is_own(const fs::path& path);

// The build id of an ELF file in hexadecimal; empty: it has none, or is no such file. Reads headers and notes only.
std::string build_id_of(const fs::path& file);

// The text of a regular file of at most `most` bytes. Throws sdk::Failure: no such file, too long, not a regular file.
std::string read_small_file(const fs::path& file, size_t most);

// What tells processors apart: the same text, the same instructions under the same system. "x86,ven0002fam0019mod0061 3f2a...". Empty: the
// system has no such line.
std::string processor_text();

// As much for this machine alone, in next to no time: what the C library's loader asked the processor. Empty: it does not tell.
std::string processor_as_loaded();

}  // namespace backplane::ggml
