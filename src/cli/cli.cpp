#include "cli/cli.hpp"

#include <algorithm>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/terminal.hpp"
#include "base/user_folder.hpp"

namespace backplane::cli {

namespace {

constexpr const char* kShared = "Devices, modules and the kernel cache";  // the options of every command that computes

}  // namespace

void add_cache_options(const Command& command, DeviceChoice& choice) {
    const Argument folder = command
                                .option("--cache", choice.cache,
                                        "Folder of the kernel cache; without it: BACKPLANE_CACHE_DIR, else "
                                        "backplane/kernels in your cache folder")
                                .type("DIR")
                                .group(kShared);
    command.flag("--no-cache", choice.no_cache, "Neither read nor keep compiled kernels").excludes(folder).group(kShared);
}

void add_module_options(const Command& command, DeviceChoice& choice) {
    command.option("--modules", choice.modules, "Folder or module file to search first (may be repeated)")
        .type("PATH")
        .group(kShared);
    command.option("--option", choice.options, "Option of a module, for example cpu.threads=4 (may be repeated)")
        .type("NAME=VALUE")
        .group(kShared)
        .once_each()
        .check([](const std::string& text) {
            return text.find('=') == std::string::npos || text[0] == '=' ? "write it as NAME=VALUE" : std::string();
        });
    command.option("--cpu-mask", choice.cpu_mask, "CPU features to act as if missing, for example avx512f,avx2")
        .type("LIST")
        .group(kShared);
    add_cache_options(command, choice);
    command.flag("--verbose", choice.verbose, "Say what happens on the error stream").group(kShared);
}

void add_device_options(const Command& command, DeviceChoice& choice) {
    command
        .option("--device", choice.device,
                "Device: an id (cpu:0), a backend, a kind (discrete, integrated, cpu ...), name=PATTERN, an identity; "
                "!X excludes. "
                "Without it: BACKPLANE_DEVICE, else the best there is")
        .type("FILTER")
        .group(kShared);
    command
        .option("--threads", choice.threads, "Threads of a CPU device; without it: one for each core this process may use")
        .type("N")
        .group(kShared)
        .in_range(1, 4096);
    add_module_options(command, choice);
}

void add_json_option(const Command& command, Run& run) { command.flag("--json", run.json, "Print JSON for programs"); }

namespace {

// The library keeps nothing by itself. This program does, for the user who runs it.
void set_cache(ContextOptions& options, const DeviceChoice& choice) {
    options.use_cache = !choice.no_cache;
    options.cache_folder = base::path_of(choice.cache);
    if (choice.no_cache || !choice.cache.empty() || base::environment("BACKPLANE_CACHE_DIR")) return;
    const std::filesystem::path folder = base::user_cache_folder();
    if (!folder.empty()) options.cache_folder = folder / "backplane" / "kernels";
}

}  // namespace

ContextOptions context_options(const DeviceChoice& choice) {
    ContextOptions options;
    set_cache(options, choice);
    options.trust_module_paths = false;  // whoever typed them need not have looked into the files
    for (const std::string& path : choice.modules) {
        options.module_paths.push_back(base::path_of(path));
        if (base::status_of(options.module_paths.back()).kind == base::FileStatus::Kind::missing)
            err("backplane: --modules {}: there is no such file or folder; searched without it\n", path);
    }
    for (const std::string& text : choice.options) {
        const size_t equals = text.find('=');
        options.options[text.substr(0, equals)] = text.substr(equals + 1);
    }
    options.device_filter = choice.device;
    options.device_filter_name = "--device";
    options.strict_options = true;
    options.cpu_mask = choice.cpu_mask;
    options.cancel = base::interrupt_flag();
    if (choice.verbose) options.log = [](LogLevel, std::string_view text) { err_lines(text); };
    return options;
}

Device open_device(const Context& context, const DeviceChoice& choice) {
    Device device = context.choose(choice.device);
    if (choice.threads > 0) device.set_option("threads", choice.threads);
    return device;
}

std::vector<Device> open_with_fallback(const Context& context, const DeviceChoice& choice) {
    std::vector<Device> devices = context.choose_with_fallback(choice.device);
    for (size_t i = 0; i < devices.size() && choice.threads > 0; ++i) {
        try {
            devices[i].set_option("threads", choice.threads);
        } catch (const Error&) {
            if (i == 0) throw;  // of the one that stands in, the option is a wish
        }
    }
    return devices;
}

Json placement_json(const SpreadReport& report) {
    Json parts = Json::array();
    for (const SpreadPart& part : report.parts)
        parts.push_back({{"device", part.device}, {"nodes", part.nodes}, {"ops", part.ops}});
    return {{"parts", parts}, {"copies", report.copies}, {"copied_bytes", report.copied_bytes}, {"notes", report.notes}};
}

void print_placement(const SpreadReport& report, bool verbose) {
    for (const std::string& note : report.notes) out("Note: {}\n", note);
    // Parts of one device are of weights that are streamed.
    const auto elsewhere = [&](const SpreadPart& part) { return part.device != report.parts.front().device; };
    if (!verbose && std::ranges::none_of(report.parts, elsewhere)) return;
    for (const SpreadPart& part : report.parts) out("  on {}: {} nodes ({})\n", part.device, part.nodes, part.ops);
    out("  copied between devices: {} tensors, {} a run\n", report.copies,
        report.copied_bytes == 0 ? "0 B" : human_bytes(report.copied_bytes));
}

DType computed_in(const std::string& dtype) { return dtype == "f16" ? DType::f16 : DType::f32; }

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace backplane::cli
