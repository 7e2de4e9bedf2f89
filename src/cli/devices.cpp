#include "backplane/runtime.hpp"
#include "cli/cli.hpp"
#include "cli/measure_costs.hpp"

namespace backplane::cli {

namespace {

// Of each device what this process holds of its memory: what a command has opened to list it, no more.
Json memory_json(const Context& context, const Report& report) {
    Json all = Json::array();
    for (const DeviceInfo& d : report.devices) {
        Json one{{"device", d.id}};
        try {
            const Ledger there = ledger(context.choose(d.id));
            one.update({{"total", there.total}, {"available", there.available}, {"held", there.held}});
            one["holders"] = Json::array();
            for (const Holder& holder : there.holders)
                one["holders"].push_back({{"name", holder.name}, {"bytes", holder.bytes}});
        } catch (const Error& error) {
            one["problem"] = error.what();
        }
        all.push_back(std::move(one));
    }
    return all;
}

void print_memory(const Json& memory) {
    out("\nMemory of devices, and what this process holds of it:\n");
    for (const Json& one : memory) {
        const std::string& id = one["device"].text();
        if (one.contains("problem")) {
            out("  {}: {}\n", id, one["problem"].text());
            continue;
        }
        const auto held = one["held"].get<uint64_t>();
        out("  {}: {} of {} available, {} held\n", id, human_bytes(one["available"].get<uint64_t>()),
            human_bytes(one["total"].get<uint64_t>()), held == 0 ? "nothing" : human_bytes(held));
        for (const Json& holder : one["holders"])
            out("    {} {}\n", holder["name"].text(), human_bytes(holder["bytes"].get<uint64_t>()));
    }
}

struct DevicesChoice : DeviceChoice {
    bool measure = false;
};

// Of each device what is known of the cost of work there, by now.
std::vector<std::pair<std::string, const DeviceCosts*>> costs_of(const Context& context, const DevicesChoice& choice,
                                                                 const Report& report, CostModel& costs, Run& run) {
    std::vector<Device> opened;
    for (const DeviceInfo& d : report.devices)
        if (choice.device.empty() || d.id == report.chosen) opened.push_back(context.choose(d.id));
    if (choice.measure)
        for (const std::string& problem : measure_costs(costs, opened, true, run)) err("note: {}\n", problem);
    std::vector<std::pair<std::string, const DeviceCosts*>> all;
    for (const Device& device : opened) all.emplace_back(device.info().id, costs.of(device));
    return all;
}

int devices(const DevicesChoice& choice, Run& run) {
    const Context context(context_options(choice));
    const Report report = context.report();
    CostModel costs(context);
    if (run.json) {
        const Json all = Json::parse(report.json());
        Json shown{{"devices", all["devices"]}, {"chosen", all["chosen"]}, {"why", all["why"]}};
        if (choice.verbose) shown["memory"] = memory_json(context, report);
        if (choice.measure) {
            shown["costs"] = Json::object();
            for (const auto& [id, known] : costs_of(context, choice, report, costs, run))
                shown["costs"][id] = known == nullptr ? Json() : costs_json(*known);
        }
        print(shown);
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
    if (choice.verbose) print_memory(memory_json(context, report));
    if (choice.measure && !report.chosen.empty()) {
        out("\n");
        print_costs(costs_of(context, choice, report, costs, run));
    }
    return report.chosen.empty() ? kFailed : kDone;
}

}  // namespace

void add_devices(const Command& app, Run& run) {
    const Command command = app.subcommand("devices", "List the compute devices of this machine, the chosen one marked");
    auto choice = std::make_shared<DevicesChoice>();
    command.option("--device", choice->device, "Show what this filter would choose").type("FILTER");
    command.flag(
        "--measure", choice->measure,
        "Measure what work and copies cost on each device, some seconds, and remember it for `plan` and --place auto");
    add_module_options(command, *choice);
    add_json_option(command, run);
    command.footer(
        "Examples:\n  backplane devices\n  backplane devices --device '!cpu'\n  backplane devices --verbose   # and who "
        "holds how much memory\n  backplane devices --json | jq -r .chosen");
    command.runs([choice, &run] { run.exit_code = devices(*choice, run); });
}

}  // namespace backplane::cli
