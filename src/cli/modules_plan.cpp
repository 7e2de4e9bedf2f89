// `backplane modules catalogue` and `modules plan`: for installers that download what a machine needs. What is judged is what discovery read of the files.
#include <algorithm>

#include "base/file.hpp"
#include "base/replacing_file.hpp"
#include "base/sha512.hpp"
#include "cli/machines.hpp"
#include "cli/targets.hpp"
#include "discovery/discover.hpp"
#include "discovery/sources.hpp"

namespace backplane::cli {

namespace {

namespace fs = std::filesystem;
using discovery::Inspection;

constexpr uint64_t kMostCatalogueBytes = 64u << 20;
constexpr std::string_view kSidecarEnding = ".backplane.json";

struct Contents {
    uint64_t bytes = 0;
    std::string sha512;
};

// A file that is offered, and what discovery reads of it.
struct Offered {
    Inspection inspection;
    Contents contents;
    std::optional<Contents> sidecar;  // where it says what the file does not say itself
    bool program = false;             // what tries modules
};

const char* const kFormats[] = {"", "elf", "pe", "macho"};

Json json_of(const Offered& file) {
    const Inspection& m = file.inspection;
    Json json{{"file", m.path.filename().string()},
              {"bytes", file.contents.bytes},
              {"sha512", file.contents.sha512},
              {"format", kFormats[static_cast<size_t>(m.binary.format)]},
              {"machine", m.binary.machine},
              {"bits", m.binary.bits},
              {"little_endian", m.binary.little_endian},
              {"build_id", m.binary.build_id}};
    if (file.program) {
        json["program"] = true;
        return json;
    }
    json["libraries"] = m.binary.needed;
    json["executable_stack"] = m.binary.executable_stack;
    json["abi"] = m.descriptor->abi;
    json["flags"] = m.descriptor->flags;
    json["descriptor"] = m.descriptor->json;
    if (file.sidecar) json["sidecar"] = Json{{"bytes", file.sidecar->bytes}, {"sha512", file.sidecar->sha512}};
    return json;
}

Contents contents_from(const Json& json) { return {json.at("bytes").get<unsigned long>(), json.at("sha512").text()}; }

Offered offered_from(const Json& json) {
    Offered file;
    Inspection& m = file.inspection;
    m.path = base::path_of(json.at("file").text());
    if (m.path != m.path.filename()) throw base::JsonError("'" + json.at("file").text() + "' is no name of a file");
    m.status.kind = base::FileStatus::Kind::regular;
    file.contents = contents_from(json);
    m.status.size = file.contents.bytes;
    const std::string& format = json.at("format").text();
    const auto* const known = std::find(std::begin(kFormats) + 1, std::end(kFormats), format);
    if (known == std::end(kFormats)) throw base::JsonError("there is no format '" + format + "'");
    m.binary.format = static_cast<discovery::Format>(known - std::begin(kFormats));
    m.binary.machine = json.at("machine").get<unsigned>();
    m.binary.bits = json.at("bits").get<unsigned>();
    m.binary.little_endian = json.at("little_endian").get<bool>();
    m.binary.build_id = json.at("build_id").text();
    file.program = json.contains("program");
    if (file.program) return file;
    for (const Json& library : json.at("libraries")) m.binary.needed.push_back(library.text());
    m.binary.executable_stack = json.at("executable_stack").get<bool>();
    discovery::read_descriptor_json(json.at("descriptor").text(), json.at("abi").get<unsigned>(),
                                    json.at("flags").get<unsigned>(), m);
    if (json.contains("sidecar")) file.sidecar = contents_from(json.at("sidecar"));
    return file;
}

Contents contents_of(const fs::path& path) { return {base::status_of(path).size, base::sha512_of_file(path)}; }

// Libraries of whatever system, as discovery looks at those of this one, and the program that tries them. Other programs are none of its business.
bool is_offered(const fs::path& name, bool& program) {
    program = name.stem().string() == std::string(discovery::module_prefix()) + "probe";
    const std::string text = name.string();
    return text.starts_with(discovery::module_prefix()) &&
           (program || text.ends_with(".so") || text.ends_with(".dll") || text.ends_with(".dylib"));
}

std::vector<Offered> of_folder(const fs::path& folder) {
    std::string problem;
    std::vector<Offered> files;
    for (const fs::path& name : base::names_in(folder, problem)) {
        Offered file;
        if (!is_offered(name, file.program)) continue;
        file.inspection = discovery::inspect(folder / name);
        if (!file.program && !file.inspection.descriptor) {
            err("backplane: {} is left out: {}\n", name.string(),
                file.inspection.text.empty() ? "it has no descriptor" : file.inspection.text);
            continue;
        }
        file.contents = contents_of(folder / name);
        if (file.inspection.from_sidecar)
            file.sidecar = contents_of(folder / base::path_of(name.string() + std::string(kSidecarEnding)));
        files.push_back(std::move(file));
    }
    if (!problem.empty()) throw Error(Code::denied, "cannot read " + folder.string() + ": " + problem);
    if (files.empty()) throw Error(Code::not_found, "there is no module file in " + folder.string());
    return files;
}

std::vector<Offered> open_catalogue(const std::string& from) {
    const fs::path path = base::path_of(from);
    if (base::status_of(path).kind == base::FileStatus::Kind::folder) return of_folder(path);
    const base::File file(path);
    if (file.status().size > kMostCatalogueBytes) throw Error(Code::invalid, "'" + from + "' is too long for a catalogue");
    try {
        const Json json = Json::parse(base::text_of(file));
        if (json.at("backplane_catalogue").get<int>() != 1) throw base::JsonError("its version is not 1");
        std::vector<Offered> files;
        for (const Json& each : json.at("files")) files.push_back(offered_from(each));
        return files;
    } catch (const base::JsonError& error) {
        throw Error(Code::invalid,
                    "'" + from + "' is no catalogue: " + error.what() + "; `backplane modules catalogue DIR` writes one");
    }
}

void write_catalogue(const std::string& folder, const std::string& to, bool force) {
    Json json{{"backplane_catalogue", 1}, {"files", Json::array()}};
    for (const Offered& file : of_folder(base::path_of(folder))) {
        if (!to.empty()) check_target("--output", to, file.inspection.path.string(), force);
        json["files"].push_back(json_of(file));
    }
    const std::string text = json.dump(1) + "\n";
    if (to.empty()) return out_lines(text);
    base::write_text(base::path_of(to), text);
    out("{}: {} files\n", to, json["files"].size());
}

struct Download {
    struct Part {
        std::string file, why;
        Contents contents;
    };
    struct LeftOut {
        std::string file, why, code;
    };
    std::vector<Part> needed;
    std::vector<LeftOut> left_out;
    uint64_t bytes = 0;
};

std::string name_of(const Inspection& inspection) { return inspection.path.filename().string(); }

// The file of that path, and its sidecar.
void need(const std::vector<Offered>& files, const fs::path& path, const std::string& why, Download& plan) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const Offered& f) { return f.inspection.path == path; });
    const std::string name = name_of(file->inspection);
    plan.needed.push_back({name, why, file->contents});
    if (file->sidecar) plan.needed.push_back({name + std::string(kSidecarEnding), why, *file->sidecar});
}

// Of each backend the module that would be tried first; without those that would find no device; the probe where one of them wants it.
Download download_for(const std::vector<Offered>& files, const discovery::Machine& machine) {
    const discovery::Host host = discovery::host_of(machine);
    std::vector<Inspection> inspections;
    for (const Offered& file : files)
        if (!file.program) inspections.push_back(file.inspection);
    Download plan;
    std::vector<std::string> backends;
    const Inspection* tried = nullptr;
    const std::vector<discovery::Rated> rated = discovery::rate_all(std::move(inspections), host);
    for (const discovery::Rated& r : rated) {
        const std::string name = name_of(r.inspection);
        if (r.candidate.code != ReasonCode::none) {
            plan.left_out.push_back({name, r.candidate.reason, backplane::name_of(r.candidate.code)});
            continue;
        }
        const Descriptor& d = *r.candidate.descriptor;
        const std::string lacking = discovery::missing_drivers(d, *host.libraries, {});
        if (!lacking.empty()) {
            plan.left_out.push_back({name, "finds no device without " + lacking, "library-missing"});
        } else if (std::find(backends.begin(), backends.end(), d.backend) != backends.end()) {
            plan.left_out.push_back({name, "another module of its backend goes before it", "outranked"});
        } else {
            backends.push_back(d.backend);
            need(files, r.inspection.path, d.backend, plan);
            if (d.probe_in_child) tried = &r.inspection;
        }
    }
    for (const Offered& file : files)
        if (file.program && tried && file.inspection.binary.format == tried->binary.format &&
            file.inspection.binary.machine == tried->binary.machine)
            need(files, file.inspection.path, "probe", plan);
    for (const Download::Part& part : plan.needed) plan.bytes += part.contents.bytes;
    return plan;
}

int show_download(const std::string& catalogue, const std::string& machine_name, const Run& run) {
    const discovery::Machine machine =
        machine_name.empty() ? discovery::this_machine("this machine") : open_machine(machine_name);
    const std::vector<Offered> files = open_catalogue(catalogue);
    const Download plan = download_for(files, machine);
    if (run.json) {
        Json needed = Json::array();
        Json left_out = Json::array();
        for (const Download::Part& p : plan.needed)
            needed.push_back({{"file", p.file}, {"for", p.why}, {"bytes", p.contents.bytes}, {"sha512", p.contents.sha512}});
        for (const Download::LeftOut& l : plan.left_out)
            left_out.push_back({{"file", l.file}, {"code", l.code}, {"reason", l.why}});
        print({{"machine", machine.name}, {"files", needed}, {"bytes", plan.bytes}, {"left_out", left_out}});
    } else {
        std::vector<std::vector<std::string>> rows{{"FILE", "BYTES", "FOR"}};
        for (const Download::Part& p : plan.needed) rows.push_back({p.file, std::to_string(p.contents.bytes), p.why});
        print_table(rows);
        for (const Download::LeftOut& l : plan.left_out) out("left out: {}: {}\n", l.file, l.why);
    }
    return plan.needed.empty() ? kFailed : kDone;
}

}  // namespace

void add_modules_plan(const Command& modules, Run& run) {
    struct Options {
        std::string folder, to, machine;
        bool force = false;
    };
    auto o = std::make_shared<Options>();
    const Command catalogue = modules.subcommand(
        "catalogue", "Write down what module files are and need, for `modules plan` where the files are not");
    catalogue.option("DIR", o->folder, "A folder of module files").required();
    catalogue.option("--output,-o", o->to, "The file to write; without it: to the output").type("FILE");
    catalogue.flag("--force", o->force, "Write over a file that is read-only");
    catalogue.footer("Example:\n  backplane modules catalogue build/release/lib/backplane -o catalogue.json");
    catalogue.runs([o] { write_catalogue(o->folder, o->to, o->force); });
    const Command planning =
        modules.subcommand("plan", "Which files of a catalogue a machine needs, for installers that download");
    planning.option("CATALOGUE", o->folder, "A file of `modules catalogue`, or a folder of module files").required();
    planning
        .option("--machine", o->machine,
                "A machine that comes along, or a file of `machine record`; without it: this machine")
        .type("NAME|FILE");
    add_json_option(planning, run);
    planning.footer(
        "Exit code 1 when no file is for that machine.\nExample:\n  backplane modules plan catalogue.json --machine "
        "ubuntu-24.04-h100 --json");
    planning.runs([o, &run] { run.exit_code = show_download(o->folder, o->machine, run); });
}

}  // namespace backplane::cli
