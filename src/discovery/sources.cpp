#include "discovery/sources.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "discovery/installed_modules.hpp"

namespace backplane::discovery {

namespace fs = std::filesystem;
using base::FileStatus;

namespace {

constexpr std::string_view kSidecar = ".backplane.json";
constexpr int kMostLinks = 40;  // as the system follows

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

using SafeFolders = std::set<fs::path::string_type>;

Distrust distrust(const fs::path& folder, const FileStatus& status, SafeFolders* safe = nullptr) {
    using Kind = base::Distrust::Kind;
    base::Distrust found = base::distrust_of(folder, status, safe);
    if (found.kind == Kind::none) return {};
    return {found.kind == Kind::foreign_owner ? ReasonCode::wrong_owner : ReasonCode::writable_by_others,
            std::move(found.text)};
}

// The folder of the file is trusted; is every folder that the links lead through, as it is written and as it is?
Distrust distrust_of_links(fs::path file) {
    std::error_code failed;
    for (int links = 0; links < kMostLinks && fs::is_symlink(file, failed); ++links) {
        const fs::path target = (file.parent_path() / fs::read_symlink(file, failed)).lexically_normal();
        if (failed) break;  // whoever reads the file hears why
        const fs::path real = base::real_path(target.parent_path());
        for (const fs::path& folder : {target.parent_path(), real}) {
            Distrust found = distrust_of_folder(folder);
            if (found.code == ReasonCode::none) continue;
            found.text = "it is a link into " + folder.string() + ": " + found.text;
            return found;
        }
        file = real / target.filename();
    }
    return {};
}

Distrust distrust_of_found(const fs::path& file, bool described) {
    Distrust found = distrust_of_links(file);
    if (found.code != ReasonCode::none || !described) return found;
    fs::path sidecar = file;
    sidecar += kSidecar;
    return distrust_of_links(sidecar);
}

class Finder {
public:
    Finder(Search& search, std::string_view ending) : search_(search), ending_(ending) {}

    void path(const fs::path& given, SourceKind kind) { path(given, kind, base::status_of(given)); }
    void path(const fs::path& given, SourceKind kind, const FileStatus& status) {
        Source source{kind, given, false, {}};
        const fs::path real = status.kind == FileStatus::Kind::missing ? fs::path() : base::real_path(given);
        if (real.empty()) {
            source.note = status.problem.empty() ? "does not exist" : status.problem;
            note_unused(given, kind, source.note + "; check the path");
        } else if (!seen_.insert(real).second) {
            source.note = "searched already";
        } else if (status.kind == FileStatus::Kind::folder) {
            folder(real, status, source);
        } else {
            source.searched = true;
            source.note = "a file";
            Distrust found = distrust_of_named(real);
            if (found.code != ReasonCode::none) note_unused(given, kind, found.text);
            search_.files.push_back({real, kind, search_.sources.size(), false, std::move(found)});
        }
        search_.sources.push_back(std::move(source));
    }

    // A file that no folder showed: in one that cannot be listed, or wherever the system's loader finds libraries.
    void name(const std::string& given) {
        Source source{SourceKind::application, base::path_of(given), false, {}};
        const bool plain = given.find_first_of("/\\") == std::string::npos && ends_with(given, ending_);
        const auto there = std::find_if(search_.files.begin(), search_.files.end(),
                                        [&](const Found& found) { return found.path.filename() == source.path; });
        const auto closed = std::find_if(closed_.begin(), closed_.end(), [&](const Closed& c) {
            return base::status_of(c.folder / source.path).kind == FileStatus::Kind::regular;
        });
        if (!plain) {
            source.note = "refused: not the name of a library (NAME" + std::string(ending_) + ")";
        } else if (there != search_.files.end()) {
            source.note = "found in " + there->path.parent_path().string();
        } else if (closed != closed_.end()) {
            source.searched = true;
            source.note = "found in " + closed->folder.string() + ", which cannot be listed";
            add(closed->folder / source.path, closed->kind);
        } else {
            source.searched = true;
            source.note = "in no folder that was searched: left to the system's loader";
            search_.files.push_back({source.path, SourceKind::application, search_.sources.size(), true, {}});
        }
        search_.sources.push_back(std::move(source));
    }

    void unknown_place() {
        const std::string why = base::why_no_place();
        search_.sources.push_back({SourceKind::library_folder, "/proc/self/exe", false, why});
        search_.notes.push_back(why);
    }

    void refuse(const fs::path& given, SourceKind kind, std::string why) {
        if (kind == SourceKind::environment) note_unused(given, kind, why);
        search_.sources.push_back({kind, given, false, std::move(why)});
    }

private:
    struct Closed {
        fs::path folder;
        SourceKind kind;
    };

    // Somebody named it, and nothing comes of it.
    void note_unused(const fs::path& given, SourceKind kind, const std::string& why) {
        if (kind != SourceKind::application && kind != SourceKind::environment) return;
        search_.notes.push_back("the module path '" + given.string() + "'" +
                                (kind == SourceKind::environment ? " in BACKPLANE_MODULE_PATH" : "") +
                                " is not used: " + why);
    }

    void folder(const fs::path& real, const FileStatus& status, Source& source) {
        if (const Distrust found = distrust(real, status, &safe_); found.code != ReasonCode::none) {
            source.note = "refused: " + found.text;
            note_unused(source.path, source.kind, source.note);
            return;
        }
        std::string problem;
        const std::vector<fs::path> names = base::names_in(real, problem);
        if (!problem.empty()) {
            source.note = "cannot be read: " + problem;
            closed_.push_back({real, source.kind});
            return;
        }
        source.searched = true;
        const size_t before = search_.files.size();
        for (const fs::path& name : names) {
            const std::string text = name.string();
            if (!ends_with(text, ending_)) continue;
            const bool described =
                std::binary_search(names.begin(), names.end(), base::path_of(text + std::string(kSidecar)));
            if (described || starts_with(text, module_prefix())) add(real / name, source.kind, described);
        }
        const size_t count = search_.files.size() - before;
        source.note =
            count == 0 ? "no module files" : std::to_string(count) + (count == 1 ? " module file" : " module files");
        if (status.group_may_write && count != 0) note_group(real, status);
        for (size_t i = before; i < search_.files.size(); ++i)
            if (const FileStatus file = base::status_of(search_.files[i].path); file.group_may_write)
                note_group(search_.files[i].path, file);
    }

    // Not refused: /usr/local belongs to such groups on some systems, and so do the folders of whoever builds with others.
    void note_group(const fs::path& path, const FileStatus& status) {
        search_.notes.push_back("modules are taken from " + path.string() + ", which every member of " + status.group +
                                " may change; `chmod g-w` it, if they are not meant to");
    }

    void add(fs::path file, SourceKind kind, bool described = true) {
        Distrust found = distrust_of_found(file, described);
        search_.files.push_back({std::move(file), kind, search_.sources.size(), false, std::move(found)});
    }

    Search& search_;
    std::string_view ending_;
    std::set<fs::path> seen_;
    SafeFolders safe_;
    std::vector<Closed> closed_;  // trusted folders that may be entered, perhaps, but not listed
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

void around(Finder& finder, const fs::path& file, SourceKind kind) {
    for (const fs::path& place : places_around(file)) {  // a file of that name is somebody else's (this program's, perhaps)
        const FileStatus status = base::status_of(place);
        if (status.kind == FileStatus::Kind::missing || status.kind == FileStatus::Kind::folder)
            finder.path(place, kind, status);
    }
}

}  // namespace

Distrust distrust_of_folder(const fs::path& folder) { return distrust(folder, base::status_of(folder)); }

Distrust distrust_of_named(const fs::path& file) {
    const fs::path real = base::real_path(file);
    if (real.empty()) return {};  // whoever reads the file hears why
    Distrust found = distrust_of_found(real, true);
    return found.code == ReasonCode::none ? distrust_of_folder(real.parent_path()) : found;
}

std::string_view module_prefix() noexcept { return BACKPLANE_MODULE_PREFIX; }

std::vector<fs::path> places_around(const fs::path& file) {
    const fs::path folder = file.parent_path();
    const fs::path above = folder.parent_path();
    const std::string name = folder.filename().string();
    std::vector<fs::path> places{folder / "backplane", folder};
    if (name == "bin") {
        places.push_back(above / "lib" / "backplane");
        const fs::path configured = base::path_of(BACKPLANE_INSTALL_LIBDIR);  // "lib64", "lib/x86_64-linux-gnu"
        if (configured.is_relative() && configured != "lib") places.push_back(above / configured / "backplane");
    }
    if (above.filename() == "Contents")  // a bundle of macOS: code that is loaded on request belongs in PlugIns
        for (const char* place : {"PlugIns", "Frameworks"}) places.push_back(above / place / "backplane");
    // Python: repairing a wheel moves the libraries of the package `acme` to `acme.libs` beside it, and may leave the modules.
    constexpr std::string_view kLibs = ".libs";
    if (name.size() > kLibs.size() && ends_with(name, kLibs))
        places.push_back(above / base::path_of(name.substr(0, name.size() - kLibs.size())) / "backplane");
    else if (const fs::path libs = above / base::path_of(name + std::string(kLibs));
             base::status_of(libs).kind == FileStatus::Kind::folder)
        places.insert(places.end(), {libs / "backplane", libs});
    return places;
}

std::vector<fs::path> installed_folders() {
    std::vector<fs::path> folders;
    for (const char* const place : {installed_modules(), BACKPLANE_PACKAGE_MODULES}) {
        fs::path folder = base::path_of(place);
        // A prefix of another system has no drive, and would mean the current one.
        if (folder.is_absolute()) folders.push_back(std::move(folder));
    }
    return folders;
}

Search find_modules(const ContextOptions& options) { return find_modules(options, base::library_ending()); }

Search find_modules(const ContextOptions& options, std::string_view ending) {
    Search search;
    Finder finder(search, ending);
    for (const fs::path& path : options.module_paths) finder.path(path, SourceKind::application);
    if (options.search_defaults) {
        if (options.use_environment) environment_paths(finder);
        const fs::path own = base::own_file();
        const fs::path program = base::executable_file();
        if (own.empty() && program.empty()) finder.unknown_place();
        if (!own.empty()) around(finder, own, SourceKind::library_folder);
        if (!program.empty() && program.parent_path() != own.parent_path())
            around(finder, program, SourceKind::executable_folder);
        for (const fs::path& installed : installed_folders()) finder.path(installed, SourceKind::installed);
    }
    for (const std::string& name : options.module_names) finder.name(name);
    return search;
}

}  // namespace backplane::discovery
