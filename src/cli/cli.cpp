#include "cli/cli.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/terminal.hpp"
#include "base/user_folder.hpp"

namespace backplane::cli {

void add_cache_options(CLI::App& command, DeviceChoice& choice) {
    CLI::Option* folder = command
                              .add_option("--cache", choice.cache,
                                          "Folder of the kernel cache; without it: BACKPLANE_CACHE_DIR, else "
                                          "backplane/kernels in your cache folder")
                              ->type_name("DIR");
    command.add_flag("--no-cache", choice.no_cache, "Neither read nor keep compiled kernels")->excludes(folder);
}

void add_module_options(CLI::App& command, DeviceChoice& choice) {
    command.add_option("--modules", choice.modules, "Folder or module file to search first (may be repeated)")
        ->type_name("PATH");
    command.add_option("--option", choice.options, "Option of a module, for example cpu.threads=4 (may be repeated)")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check([](const std::string& text) {
            return text.find('=') == std::string::npos || text[0] == '=' ? "write it as NAME=VALUE" : std::string();
        });
    command.add_option("--cpu-mask", choice.cpu_mask, "CPU features to act as if missing, for example avx512f,avx2")
        ->type_name("LIST");
    add_cache_options(command, choice);
    command.add_flag("--verbose", choice.verbose, "Say what happens on the error stream");
}

void add_device_options(CLI::App& command, DeviceChoice& choice) {
    command
        .add_option("--device", choice.device,
                    "Device: an id (cpu:0), a backend, a kind (discrete, integrated, cpu ...), name=PATTERN, an identity; "
                    "!X excludes. "
                    "Without it: BACKPLANE_DEVICE, else the best there is")
        ->type_name("FILTER");
    command
        .add_option("--threads", choice.threads,
                    "Threads of a CPU device; without it: one for each core this process may use")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    add_module_options(command, choice);
}

void add_json_option(CLI::App& command, Run& run) { command.add_flag("--json", run.json, "Print JSON for programs"); }

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
    for (const std::string& path : choice.modules) options.module_paths.push_back(base::path_of(path));
    for (const std::string& text : choice.options) {
        const size_t equals = text.find('=');
        options.options[text.substr(0, equals)] = text.substr(equals + 1);
    }
    options.device_filter = choice.device;
    options.cpu_mask = choice.cpu_mask;
    options.cancel = base::interrupt_flag();
    if (choice.verbose)
        options.log = [](LogLevel, std::string_view text) {
            std::fprintf(stderr, "backplane: %.*s\n", static_cast<int>(text.size()), text.data());
        };
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
    for (const std::string& note : report.notes) std::printf("Note: %s\n", note.c_str());
    if (!verbose && report.parts.size() < 2) return;
    for (const SpreadPart& part : report.parts)
        std::printf("  on %s: %zu nodes (%s)\n", part.device.c_str(), part.nodes, part.ops.c_str());
    std::printf("  copied between devices: %llu tensors, %s a run\n", static_cast<unsigned long long>(report.copies),
                report.copied_bytes == 0 ? "0 B" : human_bytes(report.copied_bytes).c_str());
}

void print(const Json& json) { std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str()); }

namespace {

std::string styled(const char* code, const std::string& text) {
    static const bool kTerminal = base::is_terminal(base::Stream::output);
    return kTerminal ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

// Columns a text takes: bytes that do not continue a UTF-8 sequence, without escape sequences.
size_t columns(const std::string& text) {
    size_t count = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\033') {
            i = text.find('m', i);
            if (i == std::string::npos) break;
        } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
            ++count;
        }
    }
    return count;
}

}  // namespace

std::string bold(const std::string& text) { return styled("1", text); }
std::string dim(const std::string& text) { return styled("2", text); }

std::string human_bytes(uint64_t bytes) {
    if (bytes == 0) return "-";
    static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
    return text.data();
}

void print_table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows)
        for (size_t i = 0; i < row.size(); ++i) {
            if (i >= widths.size()) widths.push_back(0);
            widths[i] = std::max(widths[i], columns(row[i]));
        }
    for (size_t r = 0; r < rows.size(); ++r) {
        std::string line;
        for (size_t i = 0; i < rows[r].size(); ++i) {
            line += rows[r][i];
            if (i + 1 < rows[r].size()) line += std::string(widths[i] - columns(rows[r][i]) + 2, ' ');
        }
        std::printf("%s\n", (r == 0 ? bold(line) : line).c_str());
    }
}

Progress::Progress(std::string label) : label_(std::move(label)), visible_(base::is_terminal(base::Stream::error)) {}

Progress::~Progress() {
    if (visible_ && shown_ >= 0) std::fprintf(stderr, "\r\033[K");
}

void Progress::show(double done, const std::string& remark) {
    const int percent = static_cast<int>(std::clamp(done, 0.0, 1.0) * 100);
    if (!visible_ || (percent == shown_ && remark.empty())) return;
    shown_ = percent;
    const int width =
        std::max(10, std::min(40, base::terminal_columns() - static_cast<int>(label_.size() + remark.size()) - 12));
    const int filled = percent * width / 100;
    std::string bar;
    for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "·";
    std::fprintf(stderr, "\r\033[K%s %s %3d%% %s", label_.c_str(), bar.c_str(), percent, remark.c_str());
    std::fflush(stderr);
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace backplane::cli
