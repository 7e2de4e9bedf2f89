// Which ggml modules to load, without running any of them in this process: as remembered, or as the sidecar beside it says, or read from
// its bytes and tried in a child process once. Where no child can be had, each is asked its score in this process, as ggml's own registry
// does (scores.cpp).
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dynamic_library.hpp"
#include "base/folder_record.hpp"
#include "platform/files.hpp"

namespace backplane::compat {

struct Search;
using Known = base::FileRecord;  // what a trial found out of one file

// Stands for what this outcome of a trial depends on besides the file, its libggml-base and the probe. Of a module that can be used: the libraries
// that it had with it and what sends the loader elsewhere; if it drives something, also what drivers read. Of one that was refused: what drivers
// read, the libraries that the loader would find for it, and those that lie beside it.
uint64_t surroundings(const std::filesystem::path& file, const Known& known);

// What is remembered of the modules of one folder together with one libggml-base, on one kind of processor: one small file.
class Memory {
public:
    // As `search` says: where (nowhere, perhaps), for which libggml-base, tried by which program.
    Memory(const Search& search, const std::filesystem::path& folder);
    // Null: nothing that still counts. Of one that can be used that is not all yet: before it is, holds() is to be asked.
    [[nodiscard]] const Known* find(const std::string& name, const ggml::FileFacts& facts) const;
    // Nothing around it has changed since.
    [[nodiscard]] static bool holds(const Known& known, const std::filesystem::path& file);
    void remember(const std::string& name, Known known);
    std::string save();  // what went wrong; empty: nothing, or nothing was to be saved
    // " (remembered since ...)", for a refusal that was found in here.
    [[nodiscard]] std::string where(const Known& known) const;

private:
    std::filesystem::path file_;
    base::FolderRecord record_;
    bool changed_ = false;
};

// Who says what the score of a module is.
enum class Source {
    trial,    // a child process, now or before
    sidecar,  // what somebody wrote down: the module is asked when it is loaded
    nobody    // it is asked in this process before it is compared with others
};

struct Usable {
    std::string path;  // text: a path of the library's takes itself apart, of each file at each start
    int score = 0;
    Source source = Source::trial;
    bool checked = false;  // what is known of it is about this very build, and nothing around it changed
    bool devices = true;   // it had some when it was tried
    bool variant = false;  // by its name: it needs a score, and goes before those that are none
    size_t folder = 0;     // its place in the list that was searched
    std::shared_ptr<base::DynamicLibrary> open{};  // since it was asked its score in this process
};

// The modules of one kind ("cpu"), the best first; the next is for when that fails after all.
struct Kind {
    std::string name;
    std::vector<Usable> usable;
};

struct Message {
    bool warning = true;  // else for information
    std::string text;
};

struct Choice {
    std::vector<Kind> kinds;        // in the order in which ggml registers them: cpu last
    std::vector<Message> messages;  // one sentence each
};

struct Search {
    std::filesystem::path base;               // the libggml-base that modules will be bound to
    std::string prefix = "libggml-";          // names: PREFIX KIND [-VARIANT] .so
    std::filesystem::path probe;              // the program that tries modules
    std::filesystem::path state;              // where it is remembered; empty: nowhere
    std::string no_state;                     // why not
    std::chrono::milliseconds limit{10000};   // for one module in the child
    std::chrono::milliseconds budget{30000};  // for all modules of one call
};

// The modules of all these folders in competition: of each kind the best of all comes first.
Choice choose(std::span<const std::filesystem::path> folders, const Search& search);

// One file that somebody named. Empty: it may be loaded; else why not. `source`: whether it is to be asked its score.
std::string why_not(const std::filesystem::path& file, const Search& search, Source& source);

// Sorts modules nobody has asked for their score by asking them in this process. Those that answer 0, or cannot be loaded, are taken out;
// the others stay open with their place in the list.
void ask_scores(Kind& kind, std::vector<Message>& messages);

// Folders of this library: under the name by which it was loaded, and of the file that this stands for.
std::vector<std::filesystem::path> own_folders();
// With the probe beside this library, the folder for what is remembered (BACKPLANE_STATE_DIR, or in the user's cache) and what the
// environment says of both.
Search search_with(const std::filesystem::path& base, std::string prefix);
// Empty: modules are tried. Asked when one is to be tried, not at each start: the answer is in files of the system.
std::string why_nothing_is_tried(const Search& search);
// The name of a registration whose modules have this kind in their names: "ROCm" for "hip".
std::string_view registration_of_kind(std::string_view kind);

}  // namespace backplane::compat
