#include "cli/soonest.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "backplane/cost.hpp"
#include "base/dynamic_library.hpp"
#include "base/elapsed.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/process.hpp"
#include "base/wall_clock.hpp"
#include "cli/batch_command.hpp"
#include "cli/bench_run.hpp"
#include "discovery/discover.hpp"
#include "discovery/trial_key.hpp"
#include "registry/remembered.hpp"
#include "registry/trial.hpp"

namespace backplane::cli {

namespace {

constexpr const char* kTimes = "times";
constexpr const char* kKey = "key";                 // with it, what is kept can be written anew
constexpr int64_t kKept = int64_t{30} * 24 * 3600;  // seconds; a device that is added in between is met then at the latest

// All that a device's time depends on and that can be seen without starting a driver.
std::string key_of(const DeviceChoice& choice, const ContextOptions& options, const std::string& work) {
    std::string text = work + "\n" + choice.cpu_mask + "\n" + std::to_string(choice.threads) + "\n" +
                       std::to_string(std::thread::hardware_concurrency());
    for (const auto& [name, value] : options.options) text += "\n" + name + "=" + value;
    const base::FileStatus program = base::status_of(base::executable_file());
    text += "\n" + std::to_string(program.size) + "\n" + std::to_string(program.modified_ns);
    const std::string mask =
        choice.cpu_mask.empty() ? base::environment("BACKPLANE_CPU_MASK").value_or("") : choice.cpu_mask;
    for (const discovery::Rated& rated : discovery::discover(options, nullptr, mask).rated)
        if (rated.candidate.code == ReasonCode::none) text += "\n" + discovery::trial_key(rated.inspection, mask);
    return base::hexadecimal(base::hash_of(text));
}

// On the first of the devices: {"device", "cpu", "begin", "work": [[pixels, seconds], ...]}.
Json known_of(const std::vector<Device>& devices, const Soonest::Network& network, const Run& run) {
    constexpr int64_t kEdges[] = {64, 192};
    constexpr double kLong = 0.1;  // seconds of the small one: the large one is taken to cost its part
    double begins = 0;
    Json work = Json::array();
    for (const int64_t edge : kEdges) {
        const Graph graph = network.graph(edge);
        const auto started = std::chrono::steady_clock::now();
        Session session(devices, graph, Weights(network.weights));  // of its own: they are brought there
        const double once = std::max(1e-6, time_session(session, 1, 0, &run.interrupted, 255).least_ms / 1e3);
        constexpr int kRuns = 3;  // two of them to warm up
        const double begin = std::max(0.0, base::seconds_since(started) - kRuns * once);
        begins = work.empty() ? begin : std::min(begins, begin);
        work.push_back(std::vector<double>{static_cast<double>(edge * edge), once});
        if (once > kLong) break;
    }
    const DeviceInfo& info = devices.front().info();
    return {{"device", info.id}, {"cpu", info.kind == DeviceKind::cpu}, {"begin", begins}, {"work", work}};
}

// What a process takes that opens the device and ends. Nobody here may have the device open: a driver's start is cheap then.
double process_seconds(const DeviceChoice& choice, const std::string& device, const Run& run) {
    std::vector<std::string> words{"bench", "discovery", "--until-device", device};
    for (const std::string& path : choice.modules) words.insert(words.end(), {"--modules", path});
    for (const std::string& option : choice.options) words.insert(words.end(), {"--option", option});
    constexpr std::chrono::seconds kMost{20};
    const base::ChildOutcome child = base::run_child(base::executable_file(), words, kMost, &run.interrupted);
    if (child.cancelled)
        throw Error(Code::cancelled, "cancelled while it was measured what a process on " + device + " takes");
    if (child.exit_code != 0) throw base::JsonError("of a device that is gone");
    return child.seconds;
}

// True: something was missing.
bool add_processes(Json& known, const DeviceChoice& choice, const Run& run) {
    bool missing = false;
    for (size_t i = 0; i < known.size(); ++i) {
        if (known[i].contains("process")) continue;
        missing = true;
        const std::string device = known[i]["device"].get<std::string>();
        if (choice.verbose) err("measuring what a process on {} takes\n", device);
        known[i]["process"] = process_seconds(choice, device, run);
    }
    return missing;
}

}  // namespace

std::string work_of(const StoredModelChoice& choice) { return how_of("whole upscale " + choice.dtype, find_model(choice)); }

std::string why_of(const std::vector<WholeTime>& times) {
    std::string text = times.front().device + " ends the whole command first, ";
    for (const WholeTime& one : times)
        text += (&one == &times.front() ? "in " : ", " + one.device + " in ") + fixed(one.seconds(), 2).text + " s";
    return text + ", without its files";
}

Json json_of(const std::vector<WholeTime>& times) {
    Json all = Json::array();
    for (const WholeTime& one : times)
        all.push_back({{"device", one.device},
                       {"seconds", one.seconds()},
                       {"process_seconds", one.process},
                       {"begin_seconds", one.begin},
                       {"work_seconds", one.work}});
    return all;
}

bool names_no_device(const DeviceChoice& choice) {
    return (choice.device.empty() || choice.device == "auto") && !base::environment("BACKPLANE_DEVICE");
}

Soonest::Soonest(DeviceChoice choice, ContextOptions options, std::string work)
    : choice_(std::move(choice)), options_(std::move(options)), work_(std::move(work)) {
    options_.state_folder = registry::state_folder(options_);
}

std::string Soonest::key() const { return key_of(choice_, options_, work_); }

std::vector<WholeTime> Soonest::times(double pixels, const Run& run) const {
    const base::KeyedStore store = registry::whole_store(options_.state_folder);
    if (store.empty()) return {};
    const std::string own = key();
    std::optional<base::StoredEntry> entry = store.find(own);
    if (!entry || entry->expired || entry->fields.count(kTimes) == 0) return {};
    std::vector<WholeTime> all;
    try {
        Json known = Json::parse(entry->fields.at(kTimes));
        if (add_processes(known, choice_, run)) {
            entry->fields[kTimes] = known.dump();
            static_cast<void>(store.remember(own, *entry));
        }
        for (const Json& one : known) {
            CostCurve work;
            for (const Json& point : one["work"]) work.points.push_back({point[0].get<double>(), point[1].get<double>()});
            if (!work.valid()) return {};
            all.push_back({one["device"].get<std::string>(), one["cpu"].get<bool>(), one["process"].get<double>(),
                           one["begin"].get<double>(), work.seconds(pixels)});
        }
    } catch (const base::JsonError&) {
        return {};  // as good as not there
    }
    std::ranges::stable_sort(all, {}, &WholeTime::seconds);
    return all;
}

std::string Soonest::measure(const std::vector<Device>& devices, const Network& network, const Run& run) const {
    Json all = Json::array();
    try {
        for (auto first = devices.begin(); first != devices.end(); ++first)
            all.push_back(known_of(std::vector<Device>(first, devices.end()), network, run));
    } catch (const Error& error) {
        return error.what();
    }
    const std::string own = key();
    base::StoredEntry entry;
    entry.until = base::unix_seconds() + kKept;
    entry.fields = {
        {registry::kOutcomeField, "measured"},
        {registry::kReasonField, "whole commands with one network, on " + std::to_string(all.size()) + " devices"},
        {kKey, own},
        {kTimes, all.dump()}};
    return registry::whole_store(options_.state_folder).remember(own, std::move(entry));
}

OpenedSoonest open_soonest(const DeviceChoice& choice, const ContextOptions& options, std::vector<WholeTime>& times) {
    OpenedSoonest opened;
    if (!times.empty()) {
        DeviceChoice named = choice;
        named.device = times.front().device;
        ContextOptions own = options;
        own.device_filter = named.device;
        own.device_filter_name = "what whole commands take";
        try {
            opened.context = std::make_unique<const Context>(own);
            opened.devices = open_with_fallback(*opened.context, named);
            return opened;
        } catch (const Error& error) {
            if (error.code() != Code::not_found) throw;
            times.clear();
        }
    }
    opened.context = std::make_unique<const Context>(options);
    return opened;
}

}  // namespace backplane::cli
