#include <algorithm>

#include "base/file.hpp"
#include "base/nearest.hpp"
#include "base/replacing_file.hpp"
#include "cli/machines.hpp"
#include "cli/targets.hpp"

namespace backplane::cli {

namespace {

std::string system_of(const discovery::Machine& machine) {
    const Json json = to_json(machine);
    return json["system"].text() + " " + json["architecture"].text();
}

void record(const std::string& name, const std::string& to, bool force) {
    const std::string text = to_json(discovery::this_machine(name)).dump(2) + "\n";
    if (to.empty()) return out_lines(text);
    check_target("FILE", to, "", force);
    base::write_text(base::path_of(to), text);
    out("{}: this machine, as it is judged by\n", to);
}

void list(const Run& run) {
    Json json = Json::array();
    std::vector<std::vector<std::string>> rows{{"NAME", "SYSTEM", "ABOUT"}};
    for (const KnownMachine& known : known_machines()) {
        const discovery::Machine machine = discovery::machine_from_json(known.text, std::string(known.name));
        rows.push_back({machine.name, system_of(machine), machine.about});
        json.push_back({{"name", machine.name}, {"system", system_of(machine)}, {"about", machine.about}});
    }
    if (run.json) return print({{"machines", json}});
    print_table(rows);
}

}  // namespace

discovery::Machine open_machine(const std::string& name_or_file) {
    const auto known = known_machines();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const KnownMachine& k) { return k.name == name_or_file; });
    if (found != known.end()) return discovery::machine_from_json(found->text, name_or_file);
    const std::filesystem::path path = base::path_of(name_or_file);
    if (base::status_of(path).kind == base::FileStatus::Kind::missing) {
        std::vector<std::string> names;
        for (const KnownMachine& k : known) names.emplace_back(k.name);
        throw Error(Code::not_found, "there is no machine '" + name_or_file + "', neither a file nor one that comes along" +
                                         base::did_you_mean(name_or_file, names) +
                                         "; `backplane machine list` shows those, `backplane machine record` writes a file");
    }
    const base::File file(path);
    if (file.status().size > discovery::kMostMachineBytes)
        throw Error(Code::invalid, "'" + name_or_file + "' is too long for a machine that was written down");
    return discovery::machine_from_json(base::text_of(file), name_or_file);
}

void add_machine(const Command& app, Run& run) {
    const Command command =
        app.subcommand("machine", "Write down what of this machine decides which modules are loaded, for use elsewhere");
    command.needs_subcommand();
    command.footer(
        "Examples:\n  backplane machine record office.json\n  backplane machine list\n"
        "  backplane bundle check DIR --machine office.json");
    struct Options {
        std::string name = "this machine", to;
        bool force = false;
    };
    auto o = std::make_shared<Options>();
    const Command recording =
        command.subcommand("record", "System, architecture, CPU features, and the libraries that the system would find");
    recording.option("FILE", o->to, "The file to write; without it: to the output");
    recording.option("--name", o->name, "What the machine is called in reports").type("NAME");
    recording.flag("--force", o->force, "Write over a file that is read-only");
    recording.footer("Example:\n  backplane machine record office.json --name office");
    recording.runs([o] { record(o->name, o->to, o->force); });
    const Command listing = command.subcommand("list", "The machines that come along, which --machine takes by name");
    add_json_option(listing, run);
    listing.footer("Example:\n  backplane machine list");
    listing.runs([&run] { list(run); });
}

}  // namespace backplane::cli
