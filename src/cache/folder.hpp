// The folder of a kernel cache as a whole: what is in it, keeping it small, emptying it. Only files whose names are the cache's own are
// counted or touched; any process may do any of this at any time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "cache/entry.hpp"

namespace backplane::cache {

inline constexpr std::string_view kTemporaryMark = "kernel-";  // base::ReplacingOptions::mark

// ---- one file --------------------------------------------------------------------------------------------------------------

// What came of reading an entry.
struct ReadEntry {
    enum class Outcome { missing, good, bad, unreadable };
    Outcome outcome = Outcome::missing;
    std::string why;              // of bad and unreadable
    std::vector<std::byte> file;  // good: the bytes that `entry` points into
    Entry entry;
    int64_t modified_ns = 0;
};

// Never allocates more than the file has, nor for a file of more than `most` bytes. A link, a folder, a file that belongs to somebody else
// or that others may write to is bad, as is one with a damaged byte.
ReadEntry read_entry(const std::filesystem::path& path, uint64_t most);

// ---- the folder ------------------------------------------------------------------------------------------------------------

struct FoundFile {
    std::string name;
    uint64_t bytes = 0;
    int64_t used_ns = 0;  // since 1970: when it was written, or last known to be used (docs/kernel-cache.md)
    bool temporary = false;
};

// All entries and temporary files. Empty and `problem` says why when the folder is there and cannot be read.
std::vector<FoundFile> files_in(const std::filesystem::path& folder, std::string& problem);

struct Trimmed {
    uint64_t bytes = 0;  // that are left
    size_t entries_removed = 0, temporaries_removed = 0;
};

// Removes temporary files that no living process can still be writing, and when there is more than `limit`, the entries not used for
// longest until an eighth is free.
Trimmed trim(const std::filesystem::path& folder, uint64_t limit);

// What is wrong with an entry, every byte read; empty: nothing. `most` as of read_entry().
std::string problem_of(const std::filesystem::path& folder, const std::string& name, uint64_t most);

// Whose entry it says it is, without reading all of it; empty when that cannot be told.
std::string scope_of(const std::filesystem::path& folder, const std::string& name);

// Removes all entries and temporary files, then the folder if nothing else is in it. Returns how many files went.
size_t clear(const std::filesystem::path& folder);

int64_t now_ns();  // since 1970

}  // namespace backplane::cache
