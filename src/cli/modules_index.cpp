// backplane modules index: facts of module files that cannot state them themselves, in a sidecar beside each, so that later starts judge
// and rank without opening the file. What a file is, a child process finds out: backplane-probe for modules of this library,
// backplane-probe-NAME for those of another interface (docs/discovery.md).
#include <algorithm>
#include <sstream>

#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "base/replacing_file.hpp"
#include "cli/cli.hpp"
#include "discovery/inspect.hpp"
#include "discovery/sources.hpp"
#include "registry/trial.hpp"

namespace backplane::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLimit{10};
constexpr std::string_view kProbe = "backplane-probe-";

struct IndexChoice {
    std::string folder, backend;
    bool force = false, dry_run = false;
};

// What became of one file.
struct Indexed {
    std::string file, interface_name, outcome, text;  // outcome: written, would-write, kept, own, foreign, failed
    Json sidecar;
};

// What a child said, line by line (docs/discovery.md).
struct Record {
    std::string step = "start", failure, sidecar, note;
    bool good = false, foreign = false, complete = false;
};

Record parse(const std::string& text) {
    Record r;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("step ")) r.step = line.substr(5, 32);
        if (line.starts_with("failed ")) r.failure = line.substr(7, 512);
        if (line.starts_with("sidecar ")) r.sidecar = line.substr(8);
        if (line.starts_with("note ")) r.note = line.substr(5, 512);
        if (line == "good") r.good = true;
        if (line == "foreign") r.foreign = true;
        if (line == "end") r.complete = true;
    }
    return r;
}

// Why the child's record does not count; empty: it does.
std::string why_lost(const base::ChildOutcome& child, const Record& record) {
    const std::string when = " during '" + record.step + "' in a child process";
    if (!child.started) return "could not be tried: " + child.problem;
    if (child.cut_short) return "could not be tried: the process that tried it was ended from outside";
    if (child.timed_out) return "did not come back within " + std::to_string(kLimit.count()) + " s" + when;
    if (child.held_caller) return "held this application as a debugger does" + when;
    if (child.signal != 0) return "crashed with " + base::name_of_signal(child.signal) + when;
    if (!record.complete) return "ended the process with exit code " + std::to_string(child.exit_code) + when;
    return {};
}

// Null: it is no JSON.
Json read_record(const std::string& text) try { return Json::parse(text); } catch (const base::JsonError&) {
    return {};
}

// A program that knows the modules of one interface.
struct Probe {
    fs::path program;
    std::string interface_name;
};

// Beside backplane-probe, in a folder and of an owner that may be trusted.
std::vector<Probe> find_probes(const fs::path& own) {
    std::vector<Probe> found;
    std::string problem;
    const std::string ending(base::program_ending());
    for (const fs::path& name : base::names_in(own.parent_path(), problem)) {
        std::string text = name.string();
        if (!text.starts_with(kProbe) || !text.ends_with(ending)) continue;
        const base::FileStatus status = base::status_of(own.parent_path() / name);
        if (status.kind != base::FileStatus::Kind::regular || !status.trusted()) continue;
        text = text.substr(kProbe.size(), text.size() - kProbe.size() - ending.size());
        found.push_back({own.parent_path() / name, text});
    }
    return found;
}

// Watched, as a module of our own is. A probe that does not know how to be says nothing then, and is asked by itself.
base::ChildOutcome ask(const fs::path& probe, const std::string& file) {
    base::ChildOutcome child = base::run_supervised(probe, {"--describe", file}, kLimit, kLimit);
    const bool said_nothing = child.started && !child.timed_out && child.signal == 0 && child.record.empty();
    return said_nothing ? base::run_child(probe, {"--describe", file}, kLimit) : child;
}

fs::path sidecar_of(const fs::path& file) {
    fs::path sidecar = file;
    sidecar += ".backplane.json";
    return sidecar;
}

class Indexer {
public:
    Indexer(const IndexChoice& choice, fs::path own_probe)
        : choice_(choice), own_probe_(std::move(own_probe)), probes_(find_probes(own_probe_)) {}

    Indexed index(const fs::path& file) {
        Indexed result{file.string(), {}, {}, {}, {}};
        discovery::Inspection m = discovery::inspect(file);
        if (!m.status.trusted())
            return failed(
                result, "not tried: " + (m.status.foreign_owner ? "it belongs to " + m.status.owner
                                                                : "anybody may write to it; " + base::how_to_protect(file)));
        if (m.descriptor && !m.from_sidecar) return said(result, "own", "states its own descriptor: needs no sidecar");
        if (m.from_sidecar && !choice_.force && !is_for_another_file(m)) {
            if (m.problem == ReasonCode::none)
                return said(result, "kept", "has a sidecar for this very file: kept (--force writes it anew)");
            return failed(result, m.text + " (--force writes it anew)");
        }
        if (m.problem != ReasonCode::none && !m.from_sidecar) return failed(result, "not tried: " + m.text);
        if (discovery::name_of_machine(m.binary) != discovery::name_of_machine(discovery::host_binary()))
            return failed(result, "not tried: it is for " + discovery::name_of_machine(m.binary));
        return describe(result, m);
    }

private:
    static bool is_for_another_file(const discovery::Inspection& m) {
        return m.descriptor && ((m.descriptor->file_bytes != 0 && m.descriptor->file_bytes != m.status.size) ||
                                (!m.descriptor->file_build_id.empty() && m.descriptor->file_build_id != m.binary.build_id));
    }
    static Indexed said(Indexed result, const char* outcome, std::string text) {
        result.outcome = outcome;
        result.text = std::move(text);
        return result;
    }
    static Indexed failed(Indexed result, std::string text) { return said(std::move(result), "failed", std::move(text)); }

    // Our own interface first: its probe tells by the entry whether the file is one of ours.
    Indexed describe(Indexed result, const discovery::Inspection& m) {
        const std::string file = m.path.string();
        const base::ChildOutcome child =
            base::run_supervised(own_probe_, {file, std::to_string(kLimit.count()), "--devices=none"}, kLimit, 2 * kLimit);
        const Record record = parse(child.record);
        if (const std::string lost = why_lost(child, record); !lost.empty()) return failed(std::move(result), lost);
        if (record.good) {
            const std::string backend = choice_.backend.empty() ? backend_of(m.path) : choice_.backend;
            return write(std::move(result), m, {{"backend", backend}, {"probe", "child"}}, {});
        }
        if (record.step != "load" && record.step != "start")  // it has the entry, and does not work
            return failed(std::move(result), "is a module, but: " + record.failure);
        for (const Probe& probe : probes_) {
            const base::ChildOutcome other = ask(probe.program, file);
            const Record theirs = parse(other.record);
            if (theirs.complete && theirs.foreign) continue;
            result.interface_name = probe.interface_name;
            if (const std::string lost = why_lost(other, theirs); !lost.empty()) return failed(std::move(result), lost);
            if (theirs.sidecar.empty()) return failed(std::move(result), theirs.failure);
            Json json = read_record(theirs.sidecar);
            if (!json.is_object()) return failed(std::move(result), "its probe gave a record that is no JSON object");
            json["interface"] = probe.interface_name;
            return write(std::move(result), m, std::move(json), theirs.note);
        }
        return said(std::move(result), "foreign", "a library, no module of an interface known here");
    }

    // "acme-tool.so" with the prefix "acme-" is the backend "tool".
    static std::string backend_of(const fs::path& file) {
        std::string stem = file.stem().string();
        const std::string_view prefix = discovery::module_prefix();
        if (stem.starts_with(prefix)) stem.erase(0, prefix.size());
        return stem;
    }

    Indexed write(Indexed result, const discovery::Inspection& m, Json json, const std::string& note) {
        json["file"] = {{"size", m.status.size}, {"build_id", m.binary.build_id}};
        if (result.interface_name.empty()) result.interface_name = discovery::kOwnInterface;
        const std::string text = json.dump() + "\n";
        discovery::Inspection check;
        discovery::read_descriptor_json(text, BP_ABI, 0, check);
        if (check.problem != ReasonCode::none)
            return failed(std::move(result),
                          "no sidecar: " + check.text + (json.contains("backend") ? " (--backend NAME gives it one)" : ""));
        result.sidecar = std::move(json);
        if (!choice_.dry_run) {
            base::ReplacingOptions options;
            options.follow_links = false;
            base::write_text(sidecar_of(m.path), text, options);
        }
        return said(
            std::move(result), choice_.dry_run ? "would-write" : "written",
            std::string(choice_.dry_run ? "would get a sidecar" : "sidecar written") + (note.empty() ? "" : ": " + note));
    }

    const IndexChoice& choice_;
    fs::path own_probe_;
    std::vector<Probe> probes_;
};

fs::path folder_of(const IndexChoice& choice) {
    fs::path folder = base::real_path(base::path_of(choice.folder));
    if (folder.empty() || base::status_of(folder).kind != base::FileStatus::Kind::folder)
        throw Error(Code::not_found, "cannot index " + choice.folder + ": there is no such folder");
    if (const discovery::Distrust d = discovery::distrust_of_folder(folder); d.code != ReasonCode::none)
        throw Error(Code::denied, "cannot index " + folder.string() + ": " + d.text);
    return folder;
}

int report(const std::vector<Indexed>& all, const fs::path& folder, const Run& run) {
    const bool good = std::none_of(all.begin(), all.end(), [](const Indexed& i) { return i.outcome == "failed"; });
    if (run.json) {
        Json files = Json::array();
        for (const Indexed& i : all)
            files.push_back({{"file", i.file},
                             {"interface", i.interface_name},
                             {"outcome", i.outcome},
                             {"text", i.text},
                             {"sidecar", i.sidecar}});
        print({{"folder", folder.string()}, {"files", files}});
        return good ? kDone : kFailed;
    }
    for (const Indexed& i : all)
        if (i.outcome != "foreign") out("{}: {}\n", fs::path(i.file).filename().string(), i.text);
    const auto others = std::count_if(all.begin(), all.end(), [](const Indexed& i) { return i.outcome == "foreign"; });
    if (others == static_cast<std::ptrdiff_t>(all.size()))
        out("Nothing to index in {}: it has no modules of an interface known here\n", folder.string());
    else if (others != 0)
        out("{} other {}: no module of an interface known here\n", others, others == 1 ? "library" : "libraries");
    return good ? kDone : kFailed;
}

int index(const IndexChoice& choice, const Run& run) {
    const fs::path folder = folder_of(choice);
    const fs::path probe = registry::find_probe_program();
    if (probe.empty())
        throw Error(Code::not_found,
                    "cannot index " + folder.string() +
                        ": modules are tried in a child process, and there is no backplane-probe beside this program; "
                        "install it there");
    std::string problem;
    const std::vector<fs::path> names = base::names_in(folder, problem);
    if (!problem.empty()) throw Error(Code::denied, "cannot index " + folder.string() + ": " + problem);
    Indexer indexer(choice, probe);
    std::vector<Indexed> all;
    for (const fs::path& name : names) {
        if (run.interrupted != 0) throw Error(Code::cancelled, "interrupted");
        if (!name.string().ends_with(base::library_ending())) continue;
        if (base::status_of(folder / name).kind == base::FileStatus::Kind::regular)
            all.push_back(indexer.index(folder / name));
    }
    return report(all, folder, run);
}

}  // namespace

void add_modules_index(const Command& modules, Run& run) {
    auto choice = std::make_shared<IndexChoice>();
    const Command command = modules.subcommand("index",
                                               "Write down, beside modules that cannot say it themselves, what they are and "
                                               "need: each is tried once in a child process");
    command.option("DIR", choice->folder, "A folder of module files").required();
    command.option("--backend", choice->backend, "Name of the backend, where a file's own name does not tell").type("NAME");
    command.flag("--force", choice->force, "Write sidecars anew that are there already");
    command.flag("--dry-run", choice->dry_run, "Say what would be written, and write nothing");
    add_json_option(command, run);
    command.footer(
        "Exit code 1 when a module was refused or failed in the child. Later starts read FILE.backplane.json and leave the "
        "file alone.\n"
        "Example:\n  backplane modules index /opt/app/lib");
    command.runs([choice, &run] { run.exit_code = index(*choice, run); });
}

}  // namespace backplane::cli
