// What was found out of the module files of one folder, in one small file: for who looks at many files at each start and wants to open one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace backplane::base {

// What a trial found out of one file; counts only while the file is the same.
struct FileRecord {
    uint64_t size = 0, volume = 0, number = 0;
    int64_t modified_ns = 0, changed_ns = 0;
    int score = 0;        // the module's own; 0: not for this processor
    bool scored = true;   // it has a score of its own
    bool devices = true;  // it has some
    bool absent = false;  // `reason` is that this machine lacks what it drives: nothing is wrong with it
    int fits = 0;         // the library that it is made for: 1: it showed that it does, -1: that it does not, 0: neither
    int64_t since = 0;    // seconds since 1970
    int64_t until = 0;    // when it is tried again; 0: never
    bool drives = false;  // something beside the processor
    uint64_t around = 0;  // of what is around it, when it was tried: with others it is tried again; 0: that does not matter
    std::string reason;   // why it cannot be used; empty: it can
    std::string uses;     // of one that can be used: files of the libraries that it had with it, tabs between them

    template <class Facts>
    void is_of(const Facts& f) {
        size = f.size, volume = f.volume, number = f.number;
        modified_ns = f.modified_ns, changed_ns = f.changed_ns;
    }
};

struct FolderRecord {
    std::string header;                       // one line: all that it depends on but the files
    std::filesystem::path folder;             // of the files
    std::map<std::string, FileRecord> files;  // by name

    static std::optional<FolderRecord> read(
        const std::filesystem::path& from);                                  // nothing: there is none, or of another format
    [[nodiscard]] std::string write(const std::filesystem::path& to) const;  // what went wrong; empty: nothing
};

// The folder of such records is this one of BACKPLANE_STATE_DIR, else of `backplane` in the user's cache folder.
inline constexpr const char* kFolderRecords = "folders";
inline constexpr const char* kEndingOfFolderRecords = ".txt";
std::filesystem::path place_of_folder_records();  // empty: there is none

}  // namespace backplane::base
