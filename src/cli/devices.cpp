#include "cli/cli.hpp"

namespace backplane::cli {

namespace {

int devices(const DeviceChoice& choice, const Run& run) {
    const Context context(context_options(choice));
    const Report report = context.report();
    if (run.json) {
        const Json all = Json::parse(report.json());
        print({{"devices", all["devices"]}, {"chosen", all["chosen"]}, {"why", all["why"]}});
        return report.chosen.empty() ? kFailed : kDone;
    }
    if (report.devices.empty()) {
        err_lines(report.summary());
        return kFailed;
    }
    std::vector<std::vector<std::string>> rows{{"  ID", "NAME", "KIND", "MEMORY", "FREE", "IDENTITY", "USES"}};
    for (const DeviceInfo& d : report.devices)
        rows.push_back({(d.id == report.chosen ? "> " : "  ") + d.id, d.name, name_of(d.kind), human_bytes(d.memory_total),
                        human_bytes(d.memory_free),
                        d.identity.empty()       ? "-"
                        : d.same_chip_as.empty() ? d.identity
                                                 : "= " + d.same_chip_as,
                        d.warning.empty() ? d.features : d.warning});
    print_table(rows);
    out("\n{}: {}\n", report.chosen.empty() ? "Nothing chosen" : "Chosen", report.why);
    for (const std::string& note : report.notes) out("Note: {}\n", note);
    return report.chosen.empty() ? kFailed : kDone;
}

}  // namespace

void add_devices(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("devices", "List the compute devices of this machine, the chosen one marked");
    auto choice = std::make_shared<DeviceChoice>();
    command->add_option("--device", choice->device, "Show what this filter would choose")->type_name("FILTER");
    add_module_options(*command, *choice);
    add_json_option(*command, run);
    command->footer(
        "Examples:\n  backplane devices\n  backplane devices --device '!cpu'\n  backplane devices --json | jq -r .chosen");
    command->callback([choice, &run] { run.exit_code = devices(*choice, run); });
}

}  // namespace backplane::cli
