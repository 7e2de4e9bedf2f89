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
              {"cpu_features", cpu}};
    json["environment"] = Json::object();
    for (const Variable& v : environment) json["environment"][v.name] = v.value;
    json["kernel_cache"] = cache;
    json.update(Json::parse(report.json()));
    print(json);
}

void print_text(const Report& report, const base::CpuFeatures& cpu, const std::vector<Variable>& environment,
                const Json& cache) {
    std::printf("%s\n", bold("This machine").c_str());
    std::string features;
    for (const std::string& f : cpu) features += " " + f;
    std::printf("  backplane %s for %s, %u hardware threads\n  CPU features usable:%s\n", BACKPLANE_VERSION,
                discovery::name_of_machine(discovery::host_binary()).c_str(), std::thread::hardware_concurrency(),
                features.c_str());
    for (const Variable& v : environment) std::printf("  %s=%s (%s)\n", v.name.c_str(), v.value.c_str(), v.meaning.c_str());
    std::printf("  kernel cache: %s\n", cache_line(cache).c_str());

    std::printf("\n%s\n", bold("Where modules were searched, in this order").c_str());
    for (const Source& s : report.sources)
        std::printf("  %s %s  %s\n", s.searched ? "+" : "-",
                    (s.path.empty() ? std::string("(in this program)") : s.path.string()).c_str(),
                    dim(std::string(name_of(s.kind)) + ": " + s.note).c_str());

    std::printf("\n%s\n", bold("What was found, and the verdict").c_str());
    if (report.candidates.empty())
        std::printf("  nothing: put module files into one of the folders above, or name a folder with --modules\n");
    for (const Candidate& c : report.candidates) {
        const std::string what = c.path.empty() ? c.descriptor->backend + " (linked in)" : c.path.string();
        std::printf("  %s %s: %s%s%s\n", c.verdict == Verdict::loaded ? "+" : "-", what.c_str(),
                    bold(name_of(c.verdict)).c_str(), c.reason.empty() ? "" : ": ", c.reason.c_str());
        if (!c.remedy.empty()) std::printf("      %s\n", c.remedy.c_str());
    }

    std::printf("\n%s\n", bold("Devices, best first").c_str());
    if (report.devices.empty()) std::printf("  none\n");
    for (const DeviceInfo& d : report.devices) {
        std::printf("  %s %s  %s, %s, %s\n", d.id == report.chosen ? ">" : " ", d.id.c_str(), d.name.c_str(),
                    name_of(d.kind), memory_of(d).c_str());
        if (!d.driver.empty()) std::printf("      driver %s\n", d.driver.c_str());
        if (!d.features.empty()) std::printf("      uses %s\n", d.features.c_str());
        if (!d.warning.empty()) std::printf("      warning: %s\n", d.warning.c_str());
    }
    std::printf("\n%s: %s\n", bold(report.chosen.empty() ? "Nothing chosen" : "Chosen").c_str(), report.why.c_str());
    for (const std::string& note : report.notes) std::printf("Note: %s\n", note.c_str());
}

}  // namespace

void add_doctor(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("doctor", "Explain what was searched, found, refused and chosen, and why");
    auto choice = std::make_shared<DeviceChoice>();
    command->add_option("--device", choice->device, "Explain what this filter would choose")->type_name("FILTER");
    add_module_options(*command, *choice);
    add_json_option(*command, run);
    command->footer(
        "Exit code 1 when no device can be used.\nExamples:\n  backplane doctor\n  backplane doctor --modules ./my-modules "
        "--json");
    command->callback([choice, &run] {
        const Context context(context_options(*choice));
        const Report report = context.report();
        const base::CpuFeatures cpu = base::without(
            base::detect_cpu_features(),
            choice->cpu_mask.empty() ? base::environment("BACKPLANE_CPU_MASK").value_or("") : choice->cpu_mask);
        const Json cache = cache_facts(context_options(*choice));
        if (run.json)
            print_json(report, cpu, variables(), cache);
        else
            print_text(report, cpu, variables(), cache);
        run.exit_code = report.chosen.empty() ? kFailed : kDone;
    });
}

}  // namespace backplane::cli
