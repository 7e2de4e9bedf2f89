// Finding: the folders that are searched, in order, and the files in them that could be modules.
#pragma once

#include <filesystem>
#include <vector>

#include "backplane/context.hpp"

namespace backplane::discovery {

struct Found {
    std::filesystem::path path;
    SourceKind source{};
    size_t place = 0;  // of its folder in Search::sources
};

struct Search {
    std::vector<Source> sources;  // what was looked at, with what came of it
    std::vector<Found> files;     // in order of the sources, by name within one
};

// Application's paths, BACKPLANE_MODULE_PATH, the library's folder and its `backplane` folder (also ../lib/backplane), the
// executable's folder and its `backplane` folder, the installed folder. Never the current directory: relative paths of the
// environment are refused, those of the application are its own affair. A folder that others may write to is refused.
Search find_modules(const ContextOptions& options);

// Start of the names of module files: "backplane-" unless the product chose its own.
std::string_view module_prefix() noexcept;

}  // namespace backplane::discovery
