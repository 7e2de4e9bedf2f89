// Finding: the folders that are searched, in order, and the files in them that could be modules.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"

namespace backplane::discovery {

// Why a folder, or a file because of where it lies, is not to be trusted; code none: it is.
struct Distrust {
    ReasonCode code = ReasonCode::none;
    std::string text;
};

// May something be loaded from this folder (a real path)?
Distrust distrust_of_folder(const std::filesystem::path& folder);

// May this file be loaded because somebody named it? By its folder, and by where its links and its sidecar's lead.
Distrust distrust_of_named(const std::filesystem::path& file);

struct Found {
    std::filesystem::path path;
    SourceKind source{};
    size_t place = 0;      // of its folder in Search::sources
    bool by_name = false;  // `path` is a name that the system's loader is to find
    Distrust distrust;     // it is a link, and what it leads to lies where others may put something in its place
};

struct Search {
    std::vector<Source> sources;     // what was looked at, with what came of it
    std::vector<Found> files;        // in order of the sources, by name within one
    std::vector<std::string> notes;  // what whoever named a path, or owns the machine, should hear
};

// Application's paths, BACKPLANE_MODULE_PATH, the places around the library and the program, the installed folder, the application's
// names. Never the current directory: relative paths of the environment are refused, those of the application are its own affair. A
// folder that others may write to is refused, and so is a link that leads into one.
Search find_modules(const ContextOptions& options);
// As on a system whose libraries end so: ".dll".
Search find_modules(const ContextOptions& options, std::string_view ending);

// Where modules lie around a library or program, first to last: `backplane` beside it, its own folder, and what the layout that it is
// part of has for them (docs/discovery.md). They need not exist. `file` is a real path: where a link to it lies does not matter.
std::vector<std::filesystem::path> places_around(const std::filesystem::path& file);

// The folder of module files that was configured at build, and where packages of this build put them, which may be another: a program
// of a packaged static library has its modules there. Without those whose path means nothing here.
std::vector<std::filesystem::path> installed_folders();

// Start of the names of module files: "backplane-" unless the product chose its own.
std::string_view module_prefix() noexcept;

}  // namespace backplane::discovery
