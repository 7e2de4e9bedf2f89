// Discovery in folders of the test's own.
#pragma once

#include <string>

#include "discovery/discover.hpp"
#include "files.hpp"

namespace backplane::discovery::testing {

inline ContextOptions only(const fs::path& path) {
    ContextOptions options;
    options.module_paths = {path};
    options.search_defaults = false;
    return options;
}

inline Discovery discover_in(const fs::path& path) { return discover(only(path), nullptr, ""); }

inline const Candidate* find(const Discovery& d, const std::string& name) {
    for (const Rated& r : d.rated)
        if (r.candidate.path.filename() == name) return &r.candidate;
    return nullptr;
}

}  // namespace backplane::discovery::testing
