// `backplane bundle check`: a folder that is given to others, as discovery will see it on their machines. The rules are those of src/discovery alone.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/file.hpp"
#include "cli/machines.hpp"
#include "discovery/discover.hpp"
#include "discovery/sources.hpp"
#include "registry/trial.hpp"

namespace backplane::cli {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 100000;
constexpr std::string_view kSidecar = ".backplane.json";

struct BundleFile {
    fs::path path;
    uint64_t bytes = 0;
};

struct Missing {
    std::string what, text;  // a word for programs, a sentence
};

struct Bundle {
    fs::path root;
    std::vector<BundleFile> files;  // by name
    std::vector<fs::path> hosts;    // programs and libraries that could have Backplane in them
    std::vector<fs::path> places;   // the folders that those would search, in order
};

std::string relative(const Bundle& bundle, const fs::path& path) {
    const fs::path inside = path.lexically_relative(bundle.root);
    return inside.empty() ? path.string() : inside.string();
}

// Begins as the name of a module file or of the probe does.
bool is_ours(const fs::path& path) { return path.filename().string().starts_with(discovery::module_prefix()); }

bool is_library(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.ends_with(".so") || name.ends_with(".dll") || name.ends_with(".dylib");
}

// A module file by its name, or the probe.
bool is_part(const fs::path& path) {
    return is_ours(path) && (is_library(path) || path.stem().string() == std::string(discovery::module_prefix()) + "probe");
}

bool is_inside(const Bundle& bundle, const fs::path& path) {
    const fs::path inside = path.lexically_relative(bundle.root);
    return !inside.empty() && *inside.begin() != "..";
}

Bundle open_bundle(const std::string& folder) {
    Bundle bundle;
    bundle.root = base::real_path(base::path_of(folder));
    if (bundle.root.empty() || base::status_of(bundle.root).kind != base::FileStatus::Kind::folder)
        throw Error(Code::not_found, "there is no folder " + folder);
    std::error_code failed;
    for (fs::recursive_directory_iterator at(bundle.root, failed), end; !failed && at != end; at.increment(failed)) {
        if (!at->is_regular_file(failed) || at->is_symlink(failed)) continue;
        if (bundle.files.size() == kMostFiles)
            throw Error(Code::invalid, folder + " has more than " + std::to_string(kMostFiles) +
                                           " files; name the folder of the application itself");
        bundle.files.push_back({at->path(), at->file_size(failed)});
    }
    if (failed) throw Error(Code::denied, "cannot read all of " + folder + ": " + failed.message());
    std::sort(bundle.files.begin(), bundle.files.end(),
              [](const BundleFile& a, const BundleFile& b) { return a.path < b.path; });
    std::set<fs::path> known;
    for (const BundleFile& file : bundle.files) {
        if (is_ours(file.path) || discovery::inspect(file.path).binary.format == discovery::Format::none) continue;
        bundle.hosts.push_back(file.path);
        for (const fs::path& place : discovery::places_around(file.path))
            if (is_inside(bundle, place) && base::status_of(place).kind == base::FileStatus::Kind::folder &&
                known.insert(place).second)
                bundle.places.push_back(place);
    }
    if (bundle.hosts.empty()) bundle.places = {bundle.root};  // modules alone, which somebody names
    return bundle;
}

// One machine's verdicts.
struct Seen {
    discovery::Machine machine;
    std::vector<discovery::Rated> rated;
    std::vector<std::string> notes;
    std::vector<Missing> refused;       // places that are not searched
    std::vector<std::string> backends;  // of which a module would be loaded
    fs::path probe;
    std::vector<std::string> remarks;  // of each of `rated`: what it would lack, ""
};

Seen see(const Bundle& bundle, discovery::Machine machine) {
    Seen seen;
    const discovery::Host host = discovery::host_of(machine, bundle.root);
    ContextOptions options;
    options.module_paths = bundle.places;
    options.search_defaults = false;
    discovery::Discovery found = discovery::discover(options, nullptr, host);
    for (const Source& source : found.sources)
        if (!source.searched && source.note.starts_with("refused"))
            seen.refused.push_back({"place", relative(bundle, source.path) + " is not searched: " + source.note});
    if (seen.refused.empty()) seen.notes = std::move(found.notes);  // else they say that once more
    std::vector<fs::path> places = bundle.places;
    for (const discovery::Rated& r : found.rated) {
        std::string remark;
        if (r.candidate.code == ReasonCode::none) {
            const std::string& backend = r.candidate.descriptor->backend;
            if (std::find(seen.backends.begin(), seen.backends.end(), backend) == seen.backends.end())
                seen.backends.push_back(backend);
            const std::string lacking =
                discovery::missing_drivers(*r.candidate.descriptor, *host.libraries, r.inspection.binary.run_paths);
            if (!lacking.empty()) remark = "finds no device there without " + lacking;
        }
        seen.remarks.push_back(remark);
        places.push_back(r.inspection.path.parent_path());
    }
    seen.probe = registry::probe_in(places, discovery::program_ending_of(host));
    seen.rated = std::move(found.rated);
    seen.machine = std::move(machine);
    return seen;
}

bool loads(const Seen& seen, const discovery::Rated& r) {
    if (r.candidate.code != ReasonCode::none) return false;
    const auto first = std::find_if(seen.rated.begin(), seen.rated.end(), [&](const discovery::Rated& other) {
        return other.candidate.code == ReasonCode::none &&
               other.candidate.descriptor->backend == r.candidate.descriptor->backend;
    });
    return &*first == &r;
}

bool names_a_licence(const fs::path& path) {
    std::string name = path.filename().string();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* start : {"licence", "license", "copying", "copyright", "notice"})
        if (name.starts_with(start)) return true;
    return false;
}

// What is the same on every machine.
void missing_files(const Bundle& bundle, std::vector<Missing>& missing) {
    std::set<fs::path> there;
    for (const BundleFile& file : bundle.files) there.insert(file.path);
    bool licence = false;
    bool any = false;
    for (const BundleFile& file : bundle.files) {
        const std::string name = file.path.filename().string();
        licence = licence || names_a_licence(file.path);
        if (name.ends_with(kSidecar)) {
            fs::path module = file.path;
            module.replace_filename(base::path_of(name.substr(0, name.size() - kSidecar.size())));
            if (!there.contains(module))
                missing.push_back({"module", relative(bundle, file.path) + " is the sidecar of a file that is not here"});
            continue;
        }
        if (!is_library(file.path)) continue;
        fs::path sidecar = file.path;
        sidecar += kSidecar;
        const bool module = is_ours(file.path) || there.contains(sidecar);
        const bool searched =
            std::find(bundle.places.begin(), bundle.places.end(), file.path.parent_path()) != bundle.places.end();
        any = any || (module && searched);
        if (module && !searched)
            missing.push_back({"place", relative(bundle, file.path) +
                                            " lies where nothing in this folder searches: put it into `backplane` beside "
                                            "the program or library (docs/discovery.md)"});
        if (!module && file.path.parent_path().filename() == "backplane")
            missing.push_back({"sidecar", relative(bundle, file.path) + " is no module: it is not called " +
                                              std::string(discovery::module_prefix()) +
                                              "NAME and has no sidecar (`backplane modules index` writes one)"});
    }
    if (!any) missing.push_back({"modules", "no module file lies where it would be found"});
    if (!licence)
        missing.push_back({"licence",
                           "no text of a licence (LICENSE, COPYING): modules and library are given under "
                           "theirs, which asks for its text"});
}

// What some machine says is wrong: a place that is refused, a module that would be loaded and is to be tried first, without what tries it.
void missing_there(const Bundle& bundle, const std::vector<Seen>& all, std::vector<Missing>& missing) {
    std::set<std::string> said;
    for (const Seen& seen : all) {
        for (const Missing& refused : seen.refused)
            if (said.insert(refused.text).second) missing.push_back(refused);
        for (const discovery::Rated& r : seen.rated) {
            if (r.candidate.code != ReasonCode::none || !r.inspection.wants_trial() || !seen.probe.empty()) continue;
            const std::string program = std::string(discovery::module_prefix()) + "probe" +
                                        std::string(discovery::program_ending_of(discovery::host_of(seen.machine)));
            if (said.insert(r.inspection.path.string()).second)
                missing.push_back({"probe", relative(bundle, r.inspection.path) +
                                                " is first tried in a process of its own, and is not loaded without " +
                                                program + ": put it beside the module files"});
        }
    }
}

Json json_of(const Bundle& bundle, const Seen& seen) {
    Json modules = Json::array();
    for (size_t i = 0; i < seen.rated.size(); ++i) {
        const discovery::Rated& r = seen.rated[i];
        const bool good = r.candidate.code == ReasonCode::none;
        modules.push_back({{"path", relative(bundle, r.inspection.path)},
                           {"backend", r.candidate.descriptor ? r.candidate.descriptor->backend : ""},
                           {"verdict", loads(seen, r) ? "first"
                                       : good         ? "outranked"
                                                      : "rejected"},
                           {"code", name_of(r.candidate.code)},
                           {"reason", r.candidate.reason},
                           {"remedy", r.candidate.remedy},
                           {"remark", seen.remarks[i]}});
    }
    const Json machine = to_json(seen.machine);
    return {{"name", seen.machine.name},   {"about", seen.machine.about},
            {"system", machine["system"]}, {"architecture", machine["architecture"]},
            {"backends", seen.backends},   {"modules", modules},
            {"notes", seen.notes}};
}

void print_report(const Bundle& bundle, const std::vector<Seen>& all, const std::vector<Missing>& missing) {
    uint64_t bytes = 0;
    for (const BundleFile& file : bundle.files) bytes += file.bytes;
    out("{}: {} files, {}\n", bundle.root.string(), bundle.files.size(), human_bytes(bytes));
    for (const fs::path& place : bundle.places) out("searched: {}\n", relative(bundle, place));
    for (const BundleFile& file : bundle.files)
        if (is_part(file.path)) out("  {} {}\n", padded(human_bytes(file.bytes), 10), relative(bundle, file.path));
    out("\n");
    std::vector<std::vector<std::string>> rows{{"MACHINE", "LOADS", "REFUSED, AND REMARKS"}};
    std::set<std::string> notes;
    for (const Seen& seen : all) {
        std::string backends;
        for (const std::string& backend : seen.backends) backends += (backends.empty() ? "" : " ") + backend;
        std::vector<std::string> why;
        std::vector<std::string> texts;  // what is said of several files is said once
        for (size_t i = 0; i < seen.rated.size(); ++i) {
            const discovery::Rated& r = seen.rated[i];
            const std::string text = r.candidate.code == ReasonCode::none ? seen.remarks[i] : r.candidate.reason;
            if (text.empty()) continue;
            const std::string name = r.inspection.path.filename().string();
            const auto same = std::find(texts.begin(), texts.end(), text);
            if (same != texts.end()) {
                why[static_cast<size_t>(same - texts.begin())].insert(0, name + ", ");
                continue;
            }
            texts.push_back(text);
            why.push_back(name + ": " + text);
        }
        if (seen.rated.empty()) why.emplace_back("nothing here is for its system");
        rows.push_back({seen.machine.name, backends.empty() ? "nothing" : backends, why.empty() ? "" : why.front()});
        for (size_t i = 1; i < why.size(); ++i) rows.push_back({"", "", why[i]});
        notes.insert(seen.notes.begin(), seen.notes.end());
    }
    print_table(rows);
    if (!notes.empty() || !missing.empty()) out("\n");
    for (const std::string& note : notes) out("Note: {}\n", note);
    for (const Missing& m : missing) out("Missing: {}\n", m.text);
}

int check(const std::string& folder, const std::vector<std::string>& machines, const Run& run) {
    const Bundle bundle = open_bundle(folder);
    std::vector<Seen> all;
    for (const std::string& name : machines) all.push_back(see(bundle, open_machine(name)));
    if (machines.empty())
        for (const KnownMachine& known : known_machines()) all.push_back(see(bundle, open_machine(std::string(known.name))));
    std::vector<Missing> missing;
    missing_files(bundle, missing);
    missing_there(bundle, all, missing);
    // Which machines a folder is for only who made it knows: those that were named must have something.
    const bool served =
        machines.empty() || std::all_of(all.begin(), all.end(), [](const Seen& s) { return !s.backends.empty(); });
    if (run.json) {
        Json json{{"folder", bundle.root.string()}, {"files", Json::array()},    {"bytes", 0},
                  {"searched", Json::array()},      {"machines", Json::array()}, {"missing", Json::array()}};
        uint64_t bytes = 0;
        for (const BundleFile& file : bundle.files) {
            bytes += file.bytes;
            if (is_part(file.path)) json["files"].push_back({{"path", relative(bundle, file.path)}, {"bytes", file.bytes}});
        }
        json["bytes"] = bytes;
        for (const fs::path& place : bundle.places) json["searched"].push_back(relative(bundle, place));
        for (const Seen& seen : all) json["machines"].push_back(json_of(bundle, seen));
        for (const Missing& m : missing) json["missing"].push_back({{"what", m.what}, {"text", m.text}});
        print(json);
    } else {
        print_report(bundle, all, missing);
    }
    return missing.empty() && served ? kDone : kFailed;
}

}  // namespace

void add_bundle(const Command& app, Run& run) {
    const Command command = app.subcommand("bundle", "Check a folder that is given to others");
    command.needs_subcommand();
    command.footer("Example:\n  backplane bundle check build/package");
    struct Options {
        std::string folder;
        std::vector<std::string> machines;
    };
    auto o = std::make_shared<Options>();
    const Command checking = command.subcommand(
        "check", "What would be found in a folder, on which machines what would be refused and why, what is missing");
    checking.option("DIR", o->folder, "The application's folder, as it is given to others").required();
    checking
        .option(
            "--machine", o->machines,
            "A machine that comes along, or a file of `machine record` (may be repeated); without it: all that come along")
        .type("NAME|FILE")
        .once_each();
    add_json_option(checking, run);
    checking.footer(
        "Judged by the rules of discovery, without running anything. Exit code 1 when something is missing, or when nothing "
        "would be loaded on a machine that was named.\n"
        "Examples:\n  backplane bundle check build/package\n"
        "  backplane bundle check build/package --machine debian-12-server --json");
    checking.runs([o, &run] { run.exit_code = check(o->folder, o->machines, run); });
}

}  // namespace backplane::cli
