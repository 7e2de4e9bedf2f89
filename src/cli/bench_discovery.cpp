#include <chrono>

#include "cli/cli.hpp"
#include "discovery/discover.hpp"

namespace backplane::cli {

namespace {

double us_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

void bench(const DeviceChoice& choice, int runs, const Run& run) {
    const ContextOptions options = context_options(choice);
    std::vector<double> discover;
    std::vector<double> context;
    size_t candidates = 0;
    size_t devices = 0;
    for (int i = 0; i < runs; ++i) {
        auto start = std::chrono::steady_clock::now();
        candidates = discovery::discover(options, nullptr, choice.cpu_mask).rated.size();
        discover.push_back(us_since(start));
        start = std::chrono::steady_clock::now();
        const Context made(options);
        devices = made.devices().size();
        context.push_back(us_since(start));
    }
    const double first = context.front();
    if (run.json)
        return print({{"discover_us", median(discover)},
                      {"discover_first_us", discover.front()},
                      {"context_us", median(context)},
                      {"context_first_us", first},
                      {"candidates", candidates},
                      {"devices", devices},
                      {"runs", runs}});
    std::printf(
        "%zu candidates, %zu devices\n  finding and judging, nothing loaded: %.0f us (first time %.0f us)\n"
        "  all of a Context, modules loaded and devices listed: %.0f us (first time %.0f us)\n",
        candidates, devices, median(discover), discover.front(), median(context), first);
}

}  // namespace

void add_bench_discovery(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("discovery", "Time finding and judging modules, and loading the winners");
    auto choice = std::make_shared<DeviceChoice>();
    auto runs = std::make_shared<int>(50);
    command->add_option("--runs", *runs, "How often")->capture_default_str()->check(CLI::Range(1, 100000));
    add_module_options(*command, *choice);
    add_json_option(*command, run);
    command->footer("Example:\n  backplane bench discovery --modules ./my-modules");
    command->callback([choice, runs, &run] { bench(*choice, *runs, run); });
}

}  // namespace backplane::cli
