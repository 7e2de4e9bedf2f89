#include "backplane/tune.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/fnv1a.hpp"
#include "base/user_folder.hpp"

namespace backplane {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kFormat = 1;
constexpr uint64_t kMostBytes = 65536;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

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

fs::path file_of(const Context& context, const std::string& key) {
    const fs::path folder = context.state_folder();
    if (folder.empty()) return {};
    return folder / "tuned" / (std::to_string(base::fnv1a(key)) + ".json");
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
        result.first_ms = ms_since(start);
        std::vector<double> times;
        const Clock::time_point timed = Clock::now();
        while (times.empty() || (static_cast<int>(times.size()) < options.runs && ms_since(timed) < options.seconds * 1e3)) {
            const Clock::time_point one = Clock::now();
            bench.run(options.cancel);
            times.push_back(ms_since(one));
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
    const std::string key = key_of(devices, graph);
    if (const fs::path file = file_of(context, key); !file.empty())
        base::write_whole_file(file, Json{{"format", kFormat},
                                          {"key", key},
                                          {"device", results.front().device},
                                          {"milliseconds", results.front().milliseconds}}
                                             .dump(1, ' ', false, Json::error_handler_t::replace) +
                                         "\n");
    return results;
}

std::string tuned_device(const Context& context, const Graph& graph) {
    const std::vector<DeviceInfo> devices = context.devices();
    const std::string key = key_of(devices, graph);
    const fs::path file = file_of(context, key);
    const std::optional<std::string> text = file.empty() ? std::nullopt : base::read_own_file(file, kMostBytes);
    if (!text) return {};
    try {
        const Json json = Json::parse(*text);
        if (json.at("format") != kFormat || json.at("key") != key) return {};
        auto id = json.at("device").get<std::string>();
        const bool here = std::any_of(devices.begin(), devices.end(), [&](const DeviceInfo& d) { return d.id == id; });
        return here ? id : std::string();
    } catch (const std::exception&) {
        return {};
    }
}

}  // namespace backplane
