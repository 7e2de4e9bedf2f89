// Which ggml module of a folder to load, without running any of them in this process: as remembered, or as the sidecar beside it says, or
// read from its bytes and tried in a child process once.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace backplane::compat {

// What is known of one file; counts only while the file is the same.
struct Known {
    uint64_t size = 0, number = 0;
    int64_t modified_ns = 0;
    int score = 0;         // the module's own; 0: not for this processor
    int64_t until = 0;     // seconds since 1970 when it is tried again; 0: never
    uint64_t drivers = 0;  // drivers_now() when it was tried: with others it is tried again; 0: they do not matter
    std::string reason;    // why it cannot be used; empty: it can
};

// Stands for the drivers that modules may find here: where they are registered, the device files, and what hides them from a process.
uint64_t drivers_now();

// What is remembered of the modules of one folder together with one libggml-base, on one kind of processor: one small file.
class Memory {
public:
    // `state`: folder for such files; empty: nothing is remembered.
    Memory(const std::filesystem::path& state, const std::filesystem::path& folder, const std::filesystem::path& base);
    [[nodiscard]] const Known* find(const std::string& name, const base::FileStatus& status) const;
    void remember(const std::string& name, Known known);
    void save();  // quietly nothing when it cannot

private:
    std::filesystem::path file_;
    std::string header_;
    std::map<std::string, Known> known_;
    bool changed_ = false;
};

struct Usable {
    std::filesystem::path path;
    int score = 0;
    bool by_sidecar =
        false;  // known by what somebody wrote down, not by a trial here: to be asked its score when it is loaded
    bool build_checked = false;  // the sidecar is about this very build
};

// The modules of one kind ("cpu"), the best first; the next is for when that fails after all.
struct Kind {
    std::string name;
    std::vector<Usable> usable;
};

struct Choice {
    std::vector<Kind> kinds;            // in the order in which ggml registers them: cpu last
    std::vector<std::string> refusals;  // one sentence each
    int tried = 0;                      // in a child, now
};

struct Search {
    std::filesystem::path base;       // the libggml-base that modules will be bound to
    std::string prefix = "libggml-";  // names: PREFIX KIND [-VARIANT] .so
    std::filesystem::path probe;      // the program that tries modules; empty: they are not tried
    std::filesystem::path state;      // where it is remembered; empty: nowhere
    int limit_ms = 5000;              // for one module in the child
};

Choice choose(const std::filesystem::path& folder, const Search& search);

// One file that somebody named. Returns why it must not be loaded; empty: it may.
std::string why_not(const std::filesystem::path& file, const Search& search);

std::filesystem::path own_folder();  // of this library, however it was loaded
// The probe beside this library, and the folder in the user's cache (or BACKPLANE_STATE_DIR).
std::filesystem::path find_probe();
std::filesystem::path state_folder();

}  // namespace backplane::compat
