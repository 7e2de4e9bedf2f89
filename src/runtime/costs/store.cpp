#include "runtime/costs/store.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/wall_clock.hpp"
#include "registry/remembered.hpp"

namespace backplane::runtime {

namespace {

constexpr const char* kStreamed = "|streamed ";  // begins the key of a network whose weights are

using base::Json;

constexpr const char* kCosts = "costs";
constexpr const char* kRuns = "runs";
constexpr size_t kMostCurves = 64, kMostPoints = 16;

// Another driver, another build of the module, other threads: it is to be measured anew.
std::string key_of(const DeviceInfo& d) {
    return d.backend + '|' + d.name + '|' + d.identity + '|' + d.driver + '|' + d.features + '|' + d.module_version + '|' +
           std::to_string(d.units) + '|' + std::to_string(d.fingerprint[0]) + '|' + std::to_string(d.fingerprint[1]);
}

Json json_of(const CostCurve& curve) {
    Json all = Json::array();
    for (const CostCurve::Point& point : curve.points) all.push_back(std::vector<double>{point.work, point.seconds});
    return all;
}
Json json_of(const std::map<std::string, CostCurve>& curves) {
    Json all = Json::object();
    for (const auto& [name, curve] : curves) all[name] = json_of(curve);
    return all;
}

CostCurve curve_of(const Json& json) {
    CostCurve curve;
    if (json.size() > kMostPoints) throw base::JsonError("too many points");
    for (const Json& point : json) curve.points.push_back({point[0].get<double>(), point[1].get<double>()});
    if (!curve.valid()) throw base::JsonError("no curve");
    return curve;
}
std::map<std::string, CostCurve> curves_of(const Json& json) {
    if (json.size() > kMostCurves) throw base::JsonError("too many curves");
    std::map<std::string, CostCurve> curves;
    for (const std::string& name : json.names()) curves[name] = curve_of(json[name]);
    return curves;
}

DeviceCosts costs_of(const Json& json) {
    DeviceCosts costs;
    costs.run = json["run"].get<double>();
    if (!std::isfinite(costs.run) || costs.run < 0) throw base::JsonError("no time");
    costs.ops = curves_of(json["ops"]);
    costs.up = curve_of(json["up"]);
    costs.down = curve_of(json["down"]);
    costs.streamed = curve_of(json["streamed"]);
    costs.from = curves_of(json["from"]);
    return costs;
}

Json json_of(const DeviceCosts& costs) {
    return {{"run", costs.run},
            {"ops", json_of(costs.ops)},
            {"up", json_of(costs.up)},
            {"down", json_of(costs.down)},
            {"streamed", json_of(costs.streamed)},
            {"from", json_of(costs.from)}};
}

base::StoredEntry entry_of(const DeviceInfo& device, const char* outcome, std::string reason) {
    base::StoredEntry entry;
    entry.about = device.module.string();
    entry.fields = {{registry::kDeviceField, device.id},
                    {registry::kOutcomeField, outcome},
                    {registry::kReasonField, std::move(reason)}};
    return entry;
}

constexpr const char* kNoUse = " is damaged, of another version or not this user's: it counts as not there";

// What is there of a key; nothing, and a line to `say`, where it cannot be used.
std::optional<base::StoredEntry> found_in(const base::KeyedStore& store, const std::string& key, const CostStore::Say& say) {
    std::optional<base::StoredEntry> entry = store.find(key);
    if (!entry && say)
        if (const std::filesystem::path file = store.unusable(key); !file.empty()) say(file.string() + kNoUse);
    if (entry && entry->expired) entry.reset();
    return entry;
}

// What was timed of a device, as it was written beside these costs: beside others the same says something else.
std::optional<std::string> timed(const std::filesystem::path& folder, const std::string& key, const std::string& costs,
                                 const CostStore::Say& say) {
    const std::optional<base::StoredEntry> entry = found_in(registry::time_store(folder), key, say);
    if (!entry) return {};
    const auto of = entry->fields.find(kCosts), runs = entry->fields.find(kRuns);
    if (of == entry->fields.end() || runs == entry->fields.end() || of->second != costs) return {};
    return runs->second;
}
void remember_timed(const std::filesystem::path& folder, const DeviceInfo& device, const std::string& of,
                    const std::string& costs, const Json& runs, std::string reason) {
    base::StoredEntry entry = entry_of(device, "timed", std::move(reason));
    entry.fields[kCosts] = costs;
    entry.fields[kRuns] = runs.dump();
    static_cast<void>(registry::time_store(folder).remember(key_of(device) + of, std::move(entry)));
}

}  // namespace

std::optional<DeviceCosts> CostStore::costs(const DeviceInfo& device) const {
    const std::optional<base::StoredEntry> entry = found_in(registry::cost_store(folder_), key_of(device), say_);
    if (!entry) return {};
    const auto found = entry->fields.find(kCosts);
    if (found == entry->fields.end()) return {};
    try {
        DeviceCosts costs = costs_of(Json::parse(found->second));
        costs.measured = entry->when;
        return costs;
    } catch (const base::JsonError&) {
        return {};
    }
}

void CostStore::remember(const DeviceInfo& device, DeviceCosts& costs) const {
    base::StoredEntry entry =
        entry_of(device, "measured", "what " + std::to_string(costs.ops.size()) + " kinds of ops and its copies cost");
    entry.fields[kCosts] = json_of(costs).dump();
    static_cast<void>(registry::cost_store(folder_).remember(key_of(device), std::move(entry)));
    costs.measured = base::unix_seconds();
}

Learnt CostStore::learnt(const DeviceInfo& device, const std::string& network, const std::string& costs) const {
    const std::optional<std::string> runs = timed(folder_, key_of(device) + network, costs, say_);
    if (!runs) return {};
    try {
        std::vector<Learnt::Size> sizes;
        for (const Json& one : Json::parse(*runs)) {
            Learnt::Size& size = sizes.emplace_back();
            size.predicted = one[0].get<double>();
            for (const Json& taken : one[1]) size.taken.push_back(taken.get<double>());
        }
        Learnt learnt(std::move(sizes));
        if (learnt.valid()) return learnt;
    } catch (const base::JsonError&) {  // NOLINT(bugprone-empty-catch): as good as not there
    }
    return {};
}

void CostStore::remember(const DeviceInfo& device, const std::string& network, const std::string& costs, const Learnt& known,
                         double predicted) const {
    Json runs = Json::array();
    for (const Learnt::Size& size : known.sizes()) {
        Json one = Json::array();
        one.push_back(size.predicted);
        one.push_back(size.taken);
        runs.push_back(std::move(one));
    }
    remember_timed(folder_, device, network, costs, runs, "one network, beside what was predicted of it");
    if (!network.starts_with(kStreamed)) learn_ratio(device, network, costs, known.ratio(predicted));
}

namespace {

constexpr const char* kOfDevice = "|device";
constexpr size_t kMostNetworks = 9, kFewestNetworks = 3;

// The newest at the end: a network's key, and its ratio.
std::vector<std::pair<std::string, double>> ratios_of(const std::filesystem::path& folder, const std::string& key,
                                                      const std::string& costs, const CostStore::Say& say) {
    std::vector<std::pair<std::string, double>> all;
    const std::optional<std::string> runs = timed(folder, key, costs, say);
    if (!runs) return all;
    try {
        for (const Json& one : Json::parse(*runs)) {
            const auto ratio = one[1].get<double>();
            if (ratio > 0 && all.size() < kMostNetworks) all.emplace_back(one[0].get<std::string>(), ratio);
        }
    } catch (const base::JsonError&) {
        all.clear();  // as good as not there
    }
    return all;
}

}  // namespace

NetworksRatio CostStore::ratio(const DeviceInfo& device, const std::string& costs) const {
    std::vector<double> all;
    for (const auto& [network, ratio] : ratios_of(folder_, key_of(device) + kOfDevice, costs, say_)) all.push_back(ratio);
    if (all.size() < kFewestNetworks) return {};
    std::sort(all.begin(), all.end());
    return {std::clamp(all[all.size() / 2], 0.5, 2.0), all.size()};
}

void CostStore::learn_ratio(const DeviceInfo& device, const std::string& network, const std::string& costs,
                            double ratio) const {
    auto all = ratios_of(folder_, key_of(device) + kOfDevice, costs, say_);
    std::erase_if(all, [&](const auto& one) { return one.first == network; });
    all.emplace_back(network, ratio);
    if (all.size() > kMostNetworks) all.erase(all.begin());
    Json runs = Json::array();
    for (const auto& [key, value] : all) {
        Json one = Json::array();
        one.push_back(key);
        one.push_back(value);
        runs.push_back(std::move(one));
    }
    remember_timed(folder_, device, kOfDevice, costs, runs, "its networks, beside what was predicted of them");
}

std::string key_of(const DeviceCosts& costs) { return base::hexadecimal(base::hash_of(json_of(costs).dump())); }

std::string network_key(const Graph& graph, bool streamed) {
    base::Hasher hasher;
    std::string text;
    const auto flush = [&] {
        hasher.add(text);
        text.clear();
    };
    for (const Node& node : graph.nodes()) {
        text += std::to_string(static_cast<uint32_t>(node.op)) + ' ';
        for (const TensorId t : node.inputs)
            if (t.valid() && graph[t].role == Role::weight)
                text += std::to_string(static_cast<uint32_t>(graph[t].dtype)) + to_string(graph[t].shape);
        flush();
    }
    return (streamed ? kStreamed : "|network ") + base::hexadecimal(hasher.result());
}

}  // namespace backplane::runtime
