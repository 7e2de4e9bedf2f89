#include "discovery/sources.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"

namespace backplane::discovery {

namespace fs = std::filesystem;
using base::FileStatus;

namespace {

constexpr std::string_view kSidecar = ".backplane.json";

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Why nothing may be loaded from this folder; empty when it may.
std::string why_unsafe(const fs::path& folder, const FileStatus& status) {
    if (status.others_may_write) return "refused: everybody may write to this folder (" + base::how_to_protect(folder) + ")";
    if (status.foreign_owner) return "refused: it belongs to " + status.owner;
    for (fs::path above = folder.parent_path(); !above.empty(); above = above.parent_path()) {
        const FileStatus s = base::status_of(above);
        if (s.others_may_write && !s.sticky)
            return "refused: everybody may write to " + above.string() + " above it (" + base::how_to_protect(above) + ")";
        if (above == above.parent_path()) break;
    }
    return {};
}

class Finder {
public:
    explicit Finder(Search& search) : search_(search) {}

    void path(const fs::path& given, SourceKind kind) {
        Source source{kind, given, false, {}};
        const FileStatus status = base::status_of(given);
        const fs::path real = base::real_path(given);
        if (status.kind == FileStatus::Kind::missing || real.empty()) {
            source.note = status.problem.empty() ? "does not exist" : status.problem;
        } else if (!seen_.insert(real).second) {
            source.note = "searched already";
        } else if (status.kind == FileStatus::Kind::folder) {
            folder(real, status, source);
        } else {
            source.searched = true;
            source.note = "a file";
            search_.files.push_back({real, kind, search_.sources.size()});
        }
        search_.sources.push_back(std::move(source));
    }

    void refuse(const fs::path& given, SourceKind kind, std::string why) {
        search_.sources.push_back({kind, given, false, std::move(why)});
    }

private:
    void folder(const fs::path& real, const FileStatus& status, Source& source) {
        source.note = why_unsafe(real, status);
        if (!source.note.empty()) return;
        std::string problem;
        const std::vector<fs::path> names = base::names_in(real, problem);
        if (!problem.empty()) {
            source.note = "cannot be read: " + problem;
            return;
        }
        source.searched = true;
        size_t count = 0;
        for (const fs::path& name : names) {
            if (!is_candidate(name.string(), names)) continue;
            search_.files.push_back({real / name, source.kind, search_.sources.size()});
            ++count;
        }
        source.note =
            count == 0 ? "no module files" : std::to_string(count) + (count == 1 ? " module file" : " module files");
    }

    // By its name: ours, or one that has a sidecar.
    static bool is_candidate(const std::string& name, const std::vector<fs::path>& names) {
        if (!ends_with(name, base::library_ending())) return false;
        if (starts_with(name, module_prefix())) return true;
        return std::binary_search(names.begin(), names.end(), base::path_of(name + std::string(kSidecar)));
    }

    Search& search_;
    std::set<fs::path> seen_;
};

void environment_paths(Finder& finder) {
    if (base::privileges_were_raised())
        return finder.refuse("BACKPLANE_MODULE_PATH", SourceKind::environment,
                             "ignored: the process runs with raised rights");
    const std::string list = base::environment("BACKPLANE_MODULE_PATH").value_or("");
    for (size_t at = 0; at < list.size();) {
        const size_t end = std::min(list.find(base::list_separator(), at), list.size());
        const fs::path folder = base::path_of(list.substr(at, end - at));
        at = end + 1;
        if (folder.empty()) continue;
        if (folder.is_relative())
            finder.refuse(folder, SourceKind::environment,
                          "refused: not an absolute path, and modules are never taken from the current directory");
        else
            finder.path(folder, SourceKind::environment);
    }
}

// Beside a library or program, and where installed trees and build trees keep modules.
void around(Finder& finder, const fs::path& file, SourceKind kind) {
    const fs::path folder = file.parent_path();
    std::vector<fs::path> places{folder / "backplane", folder};
    if (folder.filename() == "bin") places.push_back(folder.parent_path() / "lib" / "backplane");
    for (const fs::path& place : places) {  // a file of that name is somebody else's (this program's, perhaps)
        const FileStatus::Kind there = base::status_of(place).kind;
        if (there == FileStatus::Kind::missing || there == FileStatus::Kind::folder) finder.path(place, kind);
    }
}

}  // namespace

std::string_view module_prefix() noexcept { return BACKPLANE_MODULE_PREFIX; }

Search find_modules(const ContextOptions& options) {
    Search search;
    Finder finder(search);
    for (const fs::path& path : options.module_paths) finder.path(path, SourceKind::application);
    if (options.search_defaults) {
        if (options.use_environment) environment_paths(finder);
        const fs::path own = base::own_file();
        const fs::path program = base::executable_file();
        if (!own.empty()) around(finder, own, SourceKind::library_folder);
        if (!program.empty() && program.parent_path() != own.parent_path())
            around(finder, program, SourceKind::executable_folder);
        // A prefix of another system has no drive, and would mean the current one.
        const fs::path installed = base::path_of(BACKPLANE_INSTALL_MODULES);
        if (installed.is_absolute()) finder.path(installed, SourceKind::installed);
    }
    return search;
}

}  // namespace backplane::discovery
