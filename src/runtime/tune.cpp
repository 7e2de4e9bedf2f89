#include "backplane/tune.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/elapsed.hpp"
#include "base/wall_clock.hpp"
#include "registry/remembered.hpp"

namespace backplane {

namespace {

using Clock = std::chrono::steady_clock;

// Where a device failed it may have been busy, or its driver broken for the moment: the others are compared without it for so long.
constexpr int64_t kWithoutOne = 3600;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The graph, and all devices with their drivers: another driver, or one device more, and it is to be measured again.
std::string key_of(const std::vector<DeviceInfo>& devices, const Graph& graph) {
    std::string text;
    for (const uint64_t part : graph.hash()) text += std::to_string(part) + '|';
    for (const DeviceInfo& d : devices)
        text += d.id + '|' + d.name + '|' + d.driver + '|' + d.module_version + '|' + std::to_string(d.fingerprint[0]) +
                '|' + std::to_string(d.fingerprint[1]) + ';';
    return text;
}

// Quietly nothing where nothing can be written.
void remember(const Context& context, const std::string& key, const std::vector<TuneResult>& results) {
    const bool all = std::all_of(results.begin(), results.end(), [](const TuneResult& r) { return r.failure.empty(); });
    base::StoredEntry entry;
    entry.until = all ? 0 : base::unix_seconds() + kWithoutOne;
    entry.fields = {
        {registry::kDeviceField, results.front().device},
        {registry::kOutcomeField, "fastest"},
        {registry::kReasonField, "for one network, of " + std::to_string(results.size()) + " timed" +
                                     (all ? "" : "; " + results.back().device + " failed: " + results.back().failure)}};
    static_cast<void>(registry::tuned_store(context.state_folder()).remember(key, std::move(entry)));
}

// A session with zeros to run on and room for what comes out.
class Bench {
public:
    Bench(const Device& device, const Graph& graph, const WeightSource& weights) : session_(device, graph, weights) {
        auto room = [&](Role role, std::vector<std::pair<std::string, std::vector<std::byte>>>& into) {
            for (const TensorId id : graph.with_role(role))
                into.emplace_back(graph[id].name, std::vector<std::byte>(bytes(graph[id].dtype, graph[id].shape)));
        };
        room(Role::input, inputs_);
        room(Role::output, outputs_);
    }
    void run(const std::atomic<uint32_t>* cancel) {
        std::vector<NamedBytes> in;
        std::vector<NamedRoom> out;
        for (auto& [name, bytes] : inputs_) in.push_back({name, bytes});
        for (auto& [name, bytes] : outputs_) out.push_back({name, bytes});
        session_.run(in, out, cancel);
    }

private:
    Session session_;
    std::vector<std::pair<std::string, std::vector<std::byte>>> inputs_, outputs_;
};

TuneResult time_on(const Context& context, const std::string& id, const Graph& graph, const WeightSource& weights,
                   const TuneOptions& options) {
    TuneResult result;
    result.device = id;
    try {
        const Clock::time_point start = Clock::now();
        Bench bench(context.choose(id), graph, weights);
        bench.run(options.cancel);
        result.first_ms = base::seconds_since(start) * 1e3;
        std::vector<double> times;
        const Clock::time_point timed = Clock::now();
        while (times.empty() ||
               (static_cast<int>(times.size()) < options.runs && base::seconds_since(timed) < options.seconds)) {
            const Clock::time_point one = Clock::now();
            bench.run(options.cancel);
            times.push_back(base::seconds_since(one) * 1e3);
        }
        result.milliseconds = median(std::move(times));
    } catch (const Error& error) {
        if (error.code() == Code::cancelled) throw;
        result.failure = error.what();
    }
    return result;
}

}  // namespace

std::vector<TuneResult> tune(const Context& context, const Graph& graph, const WeightSource& weights,
                             const TuneOptions& options) {
    const std::vector<DeviceInfo> devices = context.devices();
    std::vector<TuneResult> results;
    for (const DeviceInfo& d : devices) {
        if (d.kind == DeviceKind::software && !options.software) continue;
        if (options.cancel != nullptr && *options.cancel != 0)
            throw Error(Code::cancelled, "tuning was cancelled before " + d.id);
        if (options.progress) options.progress(d.id);
        results.push_back(time_on(context, d.id, graph, weights, options));
    }
    std::stable_sort(results.begin(), results.end(), [](const TuneResult& a, const TuneResult& b) {
        if (a.failure.empty() != b.failure.empty()) return a.failure.empty();
        return a.failure.empty() && a.milliseconds < b.milliseconds;
    });
    if (results.empty() || !results.front().failure.empty())
        throw Error(Code::not_found,
                    "cannot tune: no device here runs the graph" +
                        (results.empty() ? std::string() : "; " + results.front().device + ": " + results.front().failure));
    remember(context, key_of(devices, graph), results);
    return results;
}

std::string tuned_device(const Context& context, const Graph& graph) {
    const base::KeyedStore store = registry::tuned_store(context.state_folder());
    if (store.empty()) return {};  // no driver is started for what nobody tuned
    const std::vector<DeviceInfo> devices = context.devices();
    const std::optional<base::StoredEntry> entry = store.find(key_of(devices, graph));
    if (!entry || entry->expired) return {};
    const auto id = entry->fields.find(registry::kDeviceField);
    const bool here = id != entry->fields.end() &&
                      std::any_of(devices.begin(), devices.end(), [&](const DeviceInfo& d) { return d.id == id->second; });
    return here ? id->second : std::string();
}

}  // namespace backplane
