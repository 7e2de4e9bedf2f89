// What finding a device costs: reading the descriptors of a folder of module files beside mapping the same files and reading their first
// page, in turns, in one run; then loading the winner; then a whole process.
#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <random>

#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/folder_watch.hpp"
#include "base/process.hpp"
#include "cli/cli.hpp"
#include "discovery/discover.hpp"
#include "discovery/sources.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane::cli {

namespace {

namespace fs = std::filesystem;

template <typename Body>
double us_of(Body&& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// Copies of the module file that a Context takes here, under names of their own: as many variants as a product ships.
class Copies {
public:
    Copies(const fs::path& module, int count) {
        std::error_code failed;
        folder_ = fs::temp_directory_path(failed) / ("backplane-bench-" + std::to_string(std::random_device{}()));
        fs::create_directories(folder_, failed);
        fs::permissions(folder_, fs::perms::owner_all, failed);
        for (int i = 0; i < count && !failed; ++i) {
            fs::path to = folder_ / (std::string(discovery::module_prefix()) + "copy" + std::to_string(i));
            to += base::library_ending();
            fs::copy_file(module, to, fs::copy_options::overwrite_existing, failed);
            files_.push_back(to);
        }
        if (failed) throw Error(Code::denied, "cannot make copies of " + module.string() + " in " + folder_.string());
    }
    ~Copies() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;
    [[nodiscard]] const fs::path& folder() const { return folder_; }
    [[nodiscard]] const std::vector<fs::path>& files() const { return files_; }

private:
    fs::path folder_;
    std::vector<fs::path> files_;
};

// Opened, mapped whole, the first page read, unmapped, closed.
unsigned map_and_read(const std::vector<fs::path>& files) {
    constexpr size_t kPage = 4096;
    unsigned sum = 0;
    for (const fs::path& file : files) {
        const formats::MappedFile mapped(file);
        const auto page = mapped.bytes().first(std::min(kPage, mapped.bytes().size()));
        sum = std::accumulate(page.begin(), page.end(), sum,
                              [](unsigned s, std::byte b) { return s + std::to_integer<unsigned>(b); });
    }
    return sum;
}

struct Figures {
    std::vector<double> map, inspect, discover, context;  // microseconds, one a round
    std::optional<uint64_t> opened_map, opened_inspect, opened_context, read_inspect, mapped_context;
    uint64_t file_bytes = 0;
    size_t files = 0;
};

Figures measure_folder(const Copies& copies, int runs, const std::string& cpu_mask) {
    Figures f;
    f.files = copies.files().size();
    for (const fs::path& file : copies.files()) f.file_bytes += fs::file_size(file);
    ContextOptions options;
    options.module_paths = {copies.folder()};
    options.search_defaults = options.use_linked_in = options.use_environment = false;
    options.probe = ProbePolicy::never;
    const base::FolderWatch watch(copies.folder());
    volatile unsigned used = 0;
    for (int i = 0; i < runs; ++i) {
        f.map.push_back(us_of([&] { used = used + map_and_read(copies.files()); }));
        f.opened_map = watch.opened();
        const auto before = base::bytes_read();
        f.inspect.push_back(us_of([&] {
            for (const fs::path& file : copies.files())
                used = used + static_cast<unsigned>(discovery::inspect(file).binary.bits);
        }));
        if (const auto after = base::bytes_read()) f.read_inspect = *after - before.value_or(0);
        f.opened_inspect = watch.opened();
        f.discover.push_back(us_of(
            [&] { used = used + static_cast<unsigned>(discovery::discover(options, nullptr, cpu_mask).rated.size()); }));
        static_cast<void>(watch.opened());
        std::optional<Context> context;
        f.context.push_back(us_of([&] {
            context.emplace(options);
            static_cast<void>(context->devices());
        }));
        f.opened_context = watch.opened();
        f.mapped_context = base::bytes_mapped_of(copies.folder());
    }
    return f;
}

struct Start {
    double nothing_ms = 0, device_ms = 0;
};

// Whole processes of this program: one that does nothing, and one that opens the device, in turns.
Start measure_start(const std::string& device, const DeviceChoice& choice, int runs) {
    std::vector<double> nothing;
    std::vector<double> first;
    std::vector<std::string> open{"bench", "discovery", "--until-device", device};
    for (const std::string& path : choice.modules) open.insert(open.end(), {"--modules", path});
    auto run_one = [](const std::vector<std::string>& words) {
        const base::ChildOutcome child = base::run_child(base::executable_file(), words, std::chrono::seconds(60));
        if (!child.started || child.exit_code != 0)
            throw Error(Code::internal, "cannot time a process of this program: " + child.problem + child.output);
        return child.seconds * 1e3;
    };
    for (int i = 0; i < runs; ++i) {
        nothing.push_back(run_one({"--version"}));
        first.push_back(run_one(open));
    }
    return {median(nothing), median(first)};
}

Json number(const std::optional<uint64_t>& value) { return value ? Json(*value) : Json(); }
std::string text(const std::optional<uint64_t>& value) { return value ? std::to_string(*value) : "-"; }

void print_start(const std::string& device, const Start& start) {
    out("a process to its first device ({}): {} ms; a process that does nothing: {} ms\n", device, fixed(start.device_ms, 1),
        fixed(start.nothing_ms, 1));
}

void bench(const DeviceChoice& choice, int runs, int files, const Run& run) {
    const Context context(context_options(choice));
    const Device device = open_device(context, choice);
    if (device.info().module.empty()) {  // linked in: there is no file to inspect
        const Start start = measure_start(device.info().id, choice, std::min(runs, 20));
        if (run.json)
            return print({{"module", ""},
                          {"process_ms", start.nothing_ms},
                          {"process_to_first_device_ms", start.device_ms},
                          {"runs", runs}});
        out("{} is linked in: there is no file to inspect\n", device.info().id);
        return print_start(device.info().id, start);
    }
    const Copies copies(device.info().module, files);
    const Figures f = measure_folder(copies, runs, choice.cpu_mask);
    const Start start = measure_start(device.info().id, choice, std::min(runs, 20));
    const double ratio = median(f.inspect) / median(f.map);
    if (run.json)
        return print({{"module", device.info().module.string()},
                      {"files", f.files},
                      {"file_bytes", f.file_bytes},
                      {"map_us", median(f.map)},
                      {"inspect_us", median(f.inspect)},
                      {"inspect_over_map", ratio},
                      {"discover_us", median(f.discover)},
                      {"context_us", median(f.context)},
                      {"context_first_us", f.context.front()},
                      {"opened_map", number(f.opened_map)},
                      {"opened_inspect", number(f.opened_inspect)},
                      {"opened_context", number(f.opened_context)},
                      {"bytes_read_inspect", number(f.read_inspect)},
                      {"bytes_mapped_context", number(f.mapped_context)},
                      {"process_ms", start.nothing_ms},
                      {"process_to_first_device_ms", start.device_ms},
                      {"runs", runs}});
    out("{} copies of {}, {}; median of {} rounds in turns\n\n", f.files, device.info().module.filename().string(),
        human_bytes(f.file_bytes), runs);
    auto us = [](double value) { return fixed(value, 0).text + " us"; };
    print_table(
        {{"", "TIME", "FILES OPENED", "BYTES READ", "BYTES MAPPED"},
         {"mapping each, reading its first page", us(median(f.map)), text(f.opened_map), "-", std::to_string(f.file_bytes)},
         {"inspecting each", us(median(f.inspect)), text(f.opened_inspect), text(f.read_inspect), "0"},
         {"finding and judging, nothing loaded", us(median(f.discover)), "", "", "0"},
         {"a Context, the winner loaded", us(median(f.context)), text(f.opened_context), "", text(f.mapped_context)}});
    out("\ninspecting takes {} times as long as mapping\n", fixed(ratio, 2));
    print_start(device.info().id, start);
}

// The child of measure_start().
void until_device(const DeviceChoice& choice, const std::string& device) {
    DeviceChoice named = choice;
    named.device = device;
    const Context context(context_options(named));
    static_cast<void>(open_device(context, named));
}

}  // namespace

void add_bench_discovery(const Command& app, Run& run) {
    const Command command = app.subcommand("discovery", "Time finding and judging modules, and loading the winner");
    auto choice = std::make_shared<DeviceChoice>();
    auto runs = std::make_shared<int>(50);
    auto files = std::make_shared<int>(14);
    auto device = std::make_shared<std::string>();
    command.option("--runs", *runs, "How often").shows_default().in_range(1, 100000);
    command.option("--files", *files, "How many copies of the device's module").shows_default().in_range(1, 1000);
    command.option("--until-device", *device, "Only open that device, then end").group("");
    add_device_options(command, *choice);
    add_json_option(command, run);
    command.footer("Example:\n  backplane bench discovery --device cpu --files 14");
    command.runs([choice, runs, files, device, &run] {
        device->empty() ? bench(*choice, *runs, *files, run) : until_device(*choice, *device);
    });
}

}  // namespace backplane::cli
