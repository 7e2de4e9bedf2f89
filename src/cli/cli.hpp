// What the commands share. A command is one file with one function add_NAME(); adding one is adding it to the table in main.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/esrgan.hpp"
#include "backplane/spread.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

namespace backplane::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// The state of one run of the program.
struct Run {
    int exit_code = kDone;
    bool json = false;
    std::atomic<uint32_t> interrupted{0};  // the number of the signal
    std::string if_cancelled;              // what a signal now leaves: ": nothing was written"
};

// Options of every command that looks for devices.
struct DeviceChoice {
    std::vector<std::string> modules;
    std::vector<std::string> options;  // for modules: "cpu.threads=4"
    std::string device, cpu_mask;
    int64_t threads = 0;
    std::string cache;      // folder of the kernel cache
    bool no_cache = false;  // whatever the environment says
    bool verbose = false;
};
void add_cache_options(const Command& command, DeviceChoice& choice);  // --cache, --no-cache
void add_module_options(const Command& command,
                        DeviceChoice& choice);  // --modules, --option, --cpu-mask, --verbose, those of the cache
void add_device_options(const Command& command, DeviceChoice& choice);  // those and --device, --threads
void add_json_option(const Command& command, Run& run);

ContextOptions context_options(const DeviceChoice& choice);
Device open_device(const Context& context, const DeviceChoice& choice);
std::vector<Device> open_with_fallback(const Context& context,
                                       const DeviceChoice& choice);  // that, and what stands in for it

// The device that `tune` found the fastest for a model; empty: nothing is remembered.
std::string tuned_for(const Context& context, const Esrgan& model);

// What ran where. In words: what went wrong always, all of it with `verbose` or when the graph was split.
Json placement_json(const SpreadReport& report);
void print_placement(const SpreadReport& report, bool verbose);

double median(std::vector<double> values);

// What a network is computed in by a --dtype: f16, or f32, which auto begins with and weights in blocks are computed in.
DType computed_in(const std::string& dtype);

Json cache_facts(const ContextOptions& options);  // of the kernel cache: folder, limit, bytes, entries ... (docs/cli.md)

void add_devices(const Command& app, Run& run);
void add_doctor(const Command& app, Run& run);
void add_upscale(const Command& app, Run& run);
void add_transcribe(const Command& app, Run& run);
void add_verify(const Command& app, Run& run);
void add_plan(const Command& app, Run& run);
void add_tune(const Command& app, Run& run);
void add_bench(const Command& app, Run& run);
void add_bench_ops(const Command& bench, Run& run);
void add_bench_esrgan(const Command& bench, Run& run);
void add_bench_chain(const Command& bench, Run& run);
void add_bench_plan(const Command& bench, Run& run);
void add_bench_state(const Command& bench, Run& run);
void add_bench_stream(const Command& bench, Run& run);
void add_bench_speech(const Command& bench, Run& run);
void add_bench_predict(const Command& bench, Run& run);
void add_bench_upscale(const Command& bench, Run& run);
void add_bench_discovery(const Command& bench, Run& run);
void add_modules(const Command& app, Run& run);
void add_modules_index(const Command& modules, Run& run);
void add_model(const Command& app, Run& run);
void add_model_check(const Command& model, Run& run);
void add_model_fetch(const Command& model, Run& run);
void add_model_quantize(const Command& model, Run& run);
void add_run(const Command& app, Run& run);
void add_cache(const Command& app, Run& run);

}  // namespace backplane::cli
