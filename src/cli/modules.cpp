#include "base/file.hpp"
#include "base/folder_record.hpp"
#include "base/wall_clock.hpp"
#include "cli/cli.hpp"
#include "cli/machines.hpp"
#include "discovery/judge.hpp"
#include "discovery/sources.hpp"
#include "registry/remembered.hpp"
#include "registry/trial.hpp"

namespace backplane::cli {

namespace {

// Modules of another interface are no backend of ours.
std::string backend_or_interface(const Candidate& c) {
    if (!c.descriptor) return "?";
    return c.descriptor->backend.empty() ? "(" + c.descriptor->interface_name + ")" : c.descriptor->backend;
}

void list(const DeviceChoice& choice, const Run& run) {
    const Context context(context_options(choice));
    const Report report = context.report();
    if (run.json) {
        print({{"modules", Json::parse(report.json())["candidates"]}});
        return;
    }
    std::vector<std::vector<std::string>> rows{{"BACKEND", "VERSION", "VERDICT", "FILE", "REASON"}};
    for (const Candidate& c : report.candidates)
        rows.push_back({backend_or_interface(c), c.descriptor ? c.descriptor->version : "?", name_of(c.verdict),
                        c.path.empty() ? "(linked in)" : c.path.string(), c.reason});
    if (rows.size() == 1)
        out("No module files were found; `backplane doctor` shows where they were searched.\n");
    else
        print_table(rows);
}

int inspect(const std::string& file, const DeviceChoice& choice, const Run& run) {
    discovery::Inspection m = discovery::inspect(std::filesystem::absolute(base::path_of(file)));
    // As a search judges a file that is named: where somebody else may put another file in its place, it is not loaded.
    if (discovery::Distrust distrust = discovery::distrust_of_named(m.path);
        m.problem == ReasonCode::none && distrust.code != ReasonCode::none) {
        m.problem = distrust.code;
        m.text = std::move(distrust.text);
    }
    const discovery::Judgement verdict = discovery::judge(m, discovery::this_host(choice.cpu_mask));
    const bool good = verdict.code == ReasonCode::none;
    const Descriptor d = m.descriptor.value_or(Descriptor{});
    const std::string machine = m.binary.format == discovery::Format::none ? "" : discovery::name_of_machine(m.binary);
    if (run.json) {
        Json needs = Json::array();
        for (const Need& need : d.needs)
            needs.push_back({{"soname", need.soname}, {"priority", need.priority}, {"least", need.least}});
        print({{"path", m.path.string()},
               {"bytes", m.status.size},
               {"machine", machine},
               {"build_id", m.binary.build_id},
               {"has_descriptor", m.descriptor.has_value()},
               {"sidecar", m.from_sidecar},
               {"interface", d.interface_name},
               {"backend", d.backend},
               {"version", d.version},
               {"build", d.build},
               {"licence", d.licence},
               {"abi", std::to_string(d.abi >> 16) + "." + std::to_string(d.abi & 0xffff)},
               {"flags", d.flags},
               {"cpu", d.cpu},
               {"needs", needs},
               {"libraries", m.binary.needed},
               {"priority", d.priority},
               {"usable", good},
               {"code", name_of(verdict.code)},
               {"reason", verdict.reason},
               {"remedy", verdict.remedy}});
        return good ? kDone : kFailed;
    }
    auto row = [](const char* name, const std::string& value) {
        if (!value.empty()) out("{} {}\n", padded(name, 10), value);
    };
    auto joined = [](const std::vector<std::string>& words) {
        std::string text;
        for (const std::string& w : words) text += (text.empty() ? "" : " ") + w;
        return text;
    };
    row("file", m.path.string());
    row("machine", machine);
    if (m.descriptor && d.interface_name != discovery::kOwnInterface) {
        row("interface", d.interface_name);
    } else if (m.descriptor) {
        row("backend", d.backend + " " + d.version + (d.build.empty() ? "" : " (" + d.build + ")"));
        row("ABI", std::to_string(d.abi >> 16) + "." + std::to_string(d.abi & 0xffff));
        row("licence", d.licence);
        row("needs CPU", d.cpu.empty() ? "nothing special" : joined(d.cpu));
    }
    row("libraries", joined(m.binary.needed));
    row("build id", m.binary.build_id);
    row("verdict", good ? "can be loaded here" : "cannot be loaded: " + verdict.reason);
    row("remedy", verdict.remedy);
    return good ? kDone : kFailed;
}

std::filesystem::path state() { return registry::state_folder(ContextOptions{}); }

// The key under which it is remembered that a file is trusted, with the options that this program gives to modules: none but a mask.
std::string key_of(const std::filesystem::path& real, const DeviceChoice& choice) {
    const discovery::Inspection m = discovery::inspect(real);
    if (!m.descriptor) throw Error(Code::invalid, real.string() + " is not a module: " + m.text);
    std::map<std::string, std::string> options;
    if (!choice.cpu_mask.empty()) options["host.cpu-mask"] = choice.cpu_mask;
    return registry::Trials(ContextOptions{}, options).module_key(m);
}

void forget(const std::vector<std::string>& files, const Run& run) {
    Json json = Json::array();
    const size_t all = files.empty() ? registry::forget_all_remembered(state(), base::place_of_folder_records()) : 0;
    if (files.empty() && !run.json) out("{} forgotten\n", all);
    for (const std::string& file : files) {
        const size_t count = registry::forget_remembered(state(), base::path_of(file), base::place_of_folder_records());
        json.push_back({{"file", file}, {"forgotten", count}});
        if (!run.json) out("{}: {}\n", file, count != 0 ? "forgotten, will be tried again" : "nothing was remembered");
    }
    if (run.json) print(files.empty() ? Json{{"forgotten", all}} : Json{{"files", json}});
}

void trust(const std::vector<std::string>& files, const DeviceChoice& choice) {
    for (const std::string& file : files) {
        const std::filesystem::path real = base::real_path(base::path_of(file));
        if (real.empty()) throw Error(Code::not_found, "there is no file " + file);
        registry::RememberedTrial good;
        good.trial = registry::Trial::good;
        good.by_hand = true;
        good.file = real.string();
        const std::string problem = registry::VerdictStore(state()).remember(key_of(real, choice), good);
        if (!problem.empty())
            throw Error(Code::denied, "cannot remember that " + file + " is trusted, in '" + state().string() + "': " +
                                          problem + "; name a folder that can be written to with BACKPLANE_STATE_DIR");
        out("{}: trusted until the file changes\n", file);
    }
}

void remembered(const Run& run) {
    Json json = Json::array();
    std::vector<std::vector<std::string>> rows{{"OUTCOME", "SINCE", "UNTIL", "WHAT", "REASON"}};
    for (const registry::Remembered& r : registry::all_remembered(state(), base::place_of_folder_records())) {
        json.push_back({{"kind", r.kind},
                        {"file", r.file},
                        {"device", r.device},
                        {"outcome", r.outcome},
                        {"reason", r.reason},
                        {"when", r.when},
                        {"until", r.until},
                        {"attempts", r.attempts},
                        {"by_hand", r.by_hand},
                        {"expired", r.expired}});
        const std::string until =
            r.until == 0 ? "something changes" : base::utc_text(r.until) + (r.expired ? " (over)" : "");
        rows.push_back({r.outcome, base::utc_text(r.when), until, r.kind == "trial" ? r.file : r.device, r.reason});
    }
    if (run.json) return print({{"folder", state().string()}, {"remembered", json}});
    if (rows.size() == 1) {
        out("Nothing is remembered in {}\n", state().string());
        return;
    }
    print_table(rows);
    out("Kept in {}; `backplane modules forget FILE` forgets what is remembered of a module, without FILE all of it\n",
        state().string());
}

}  // namespace

void add_modules(const Command& app, Run& run) {
    const Command command = app.subcommand("modules", "List module files, or read one without running it");
    command.needs_subcommand();
    command.footer(
        "Examples:\n  backplane modules list\n  backplane modules inspect /opt/app/lib/backplane-NAME.so\n  backplane "
        "modules "
        "remembered");
    auto choice = std::make_shared<DeviceChoice>();
    auto file = std::make_shared<std::string>();
    const Command list_command = command.subcommand("list", "All module files found, with their verdicts");
    add_module_options(list_command, *choice);
    add_json_option(list_command, run);
    list_command.footer("Example:\n  backplane modules list --modules ./my-modules");
    list_command.runs([choice, &run] { list(*choice, run); });
    auto files = std::make_shared<std::vector<std::string>>();
    const Command forget_command =
        command.subcommand("forget",
                           "Have modules tried in a child process again, and their ops checked again; without "
                           "FILE: forget all that is remembered");
    forget_command.option("FILE", *files, "Module files");
    add_json_option(forget_command, run);
    forget_command.footer(
        "Examples:\n  backplane modules forget /opt/app/lib/backplane-NAME.so\n  backplane modules forget");
    forget_command.runs([files, &run] { forget(*files, run); });
    const Command trust_command =
        command.subcommand("trust", "Load a module without trying it first, as long as the file stays as it is");
    trust_command.option("FILE", *files, "Module files").required();
    trust_command.footer("Example:\n  backplane modules trust /opt/app/lib/backplane-NAME.so");
    trust_command.runs([files, choice] { trust(*files, *choice); });
    const Command remembered_command = command.subcommand(
        "remembered", "All that is remembered: trials of modules, ops that drivers get wrong, the fastest devices");
    add_json_option(remembered_command, run);
    remembered_command.footer("Example:\n  backplane modules remembered --json");
    remembered_command.runs([&run] { remembered(run); });
    const Command inspect_command = command.subcommand(
        "inspect", "What a file says of itself, and whether it could be loaded here; none of its code runs");
    inspect_command.option("FILE", *file, "A module file").required();
    inspect_command.option("--cpu-mask", choice->cpu_mask, "CPU features to act as if missing").type("LIST");
    add_json_option(inspect_command, run);
    inspect_command.footer(
        "Exit code 1 when it could not be loaded.\nExample:\n  backplane modules inspect "
        "build/release/lib/backplane/backplane-NAME.so");
    inspect_command.runs([file, choice, &run] { run.exit_code = inspect(*file, *choice, run); });
    add_modules_index(command, run);
    add_modules_plan(command, run);
}

}  // namespace backplane::cli
