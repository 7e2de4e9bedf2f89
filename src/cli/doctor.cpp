// doctor: everything that was looked at, what became of it and why.
#include <array>
#include <thread>

#include "base/cpu_features.hpp"
#include "base/environment.hpp"
#include "cli/cli.hpp"
#include "discovery/inspect.hpp"

namespace backplane::cli {

namespace {

std::string memory_of(const DeviceInfo& d) {
    if (d.memory_total == 0) return "memory not known";
    return "memory " + human_bytes(d.memory_total) + (d.memory_free == 0 ? "" : ", free " + human_bytes(d.memory_free)) +
           (d.memory_source.empty() ? "" : " (" + d.memory_source + ")");
}

// Of ours.
constexpr std::array kOurs{"BACKPLANE_MODULE_PATH", "BACKPLANE_DEVICE",    "BACKPLANE_CPU_MASK",   "BACKPLANE_LOG",
                           "BACKPLANE_MODELS",      "BACKPLANE_CACHE_DIR", "BACKPLANE_CACHE_LIMIT"};

struct Variable {
    std::string name, value, meaning;
};

std::vector<Variable> variables() {
    std::vector<Variable> set;
    for (const char* name : kOurs)
        if (const auto value = base::environment(name)) set.push_back({name, *value, "ours"});
    for (const char* name : base::kDeviceVariables)
        if (const auto value = base::environment(name)) set.push_back({name, *value, "may hide devices from their drivers"});
    return set;
}

std::string cache_line(const Json& facts) {
    const auto folder = facts["folder"].get<std::string>(), problem = facts["problem"].get<std::string>();
    if (folder.empty()) return problem.empty() ? "none" : problem;
    return folder + ", " + std::to_string(facts["entries"].get<size_t>()) + " entries, " +
           human_bytes(facts["bytes"].get<uint64_t>()) + (problem.empty() ? "" : ": " + problem);
}

void print_json(const Report& report, const base::CpuFeatures& cpu, const std::vector<Variable>& environment,
                const Json& cache) {
    Json json{{"version", BACKPLANE_VERSION},
              {"machine", discovery::name_of_machine(discovery::host_binary())},
              {"cpu_features", std::vector<std::string>(cpu.begin(), cpu.end())}};
    json["environment"] = Json::object();
    for (const Variable& v : environment) json["environment"][v.name] = v.value;
    json["kernel_cache"] = cache;
    json.update(Json::parse(report.json()));
    print(json);
}

void print_text(const Report& report, const base::CpuFeatures& cpu, const std::vector<Variable>& environment,
                const Json& cache) {
    out("{}\n", bold("This machine"));
    std::string features;
    for (const std::string& f : cpu) features += " " + f;
    out("  backplane {} for {}, {} hardware threads\n  CPU features usable:{}\n", BACKPLANE_VERSION,
        discovery::name_of_machine(discovery::host_binary()), std::thread::hardware_concurrency(), features);
    for (const Variable& v : environment) out("  {}={} ({})\n", v.name, v.value, v.meaning);
    out("  kernel cache: {}\n", cache_line(cache));

    out("\n{}\n", bold("Where modules were searched, in this order"));
    for (const Source& s : report.sources)
        out("  {} {}  {}\n", s.searched ? "+" : "-", s.path.empty() ? std::string("(in this program)") : s.path.string(),
            dim(std::string(name_of(s.kind)) + ": " + s.note));

    out("\n{}\n", bold("What was found, and the verdict"));
    if (report.candidates.empty())
        out("  nothing: put module files into one of the folders above, or name a folder with --modules\n");
    for (const Candidate& c : report.candidates) {
        const std::string what = c.path.empty() ? c.descriptor->backend + " (linked in)" : c.path.string();
        out("  {} {}: {}{}{}\n", c.verdict == Verdict::loaded ? "+" : "-", what, bold(name_of(c.verdict)),
            c.reason.empty() ? "" : ": ", c.reason);
        if (!c.remedy.empty()) out("      {}\n", c.remedy);
    }

    out("\n{}\n", bold("Devices, best first"));
    if (report.devices.empty()) out("  none\n");
    for (const DeviceInfo& d : report.devices) {
        out("  {} {}  {}, {}, {}\n", d.id == report.chosen ? ">" : " ", d.id, d.name, name_of(d.kind), memory_of(d));
        if (!d.driver.empty()) out("      driver {}\n", d.driver);
        if (!d.features.empty()) out("      uses {}\n", d.features);
        if (!d.warning.empty()) out("      warning: {}\n", d.warning);
    }
    out("\n{}: {}\n", bold(report.chosen.empty() ? "Nothing chosen" : "Chosen"), report.why);
    for (const std::string& note : report.notes) out("Note: {}\n", note);
}

}  // namespace

void add_doctor(const Command& app, Run& run) {
    const Command command = app.subcommand("doctor", "Explain what was searched, found, refused and chosen, and why");
    auto choice = std::make_shared<DeviceChoice>();
    command.option("--device", choice->device, "Explain what this filter would choose").type("FILTER");
    add_module_options(command, *choice);
    add_json_option(command, run);
    command.footer(
        "Exit code 1 when no device can be used.\nExamples:\n  backplane doctor\n  backplane doctor --modules ./my-modules "
        "--json");
    command.runs([choice, &run] {
        const ContextOptions options = context_options(*choice);
        const Context context(options);
        const Report report = context.report();
        const base::CpuFeatures cpu = base::without(
            base::detect_cpu_features(),
            choice->cpu_mask.empty() ? base::environment("BACKPLANE_CPU_MASK").value_or("") : choice->cpu_mask);
        const Json cache = cache_facts(options);
        if (run.json)
            print_json(report, cpu, variables(), cache);
        else
            print_text(report, cpu, variables(), cache);
        run.exit_code = report.chosen.empty() ? kFailed : kDone;
    });
}

}  // namespace backplane::cli
