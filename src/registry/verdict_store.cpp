#include "registry/verdict_store.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/json.hpp"
#include "discovery/trial_key.hpp"

namespace backplane::registry {

namespace {

using base::Json;

constexpr std::string_view kKind = "trial";
constexpr int kFormat = 4;  // 3: devices are part of a trial; 4: it may leave some
constexpr std::array kNames{"good", "failed", "crashed", "hung", "exited", "garbage", "not-tried"};
constexpr size_t kLongestReason = 4096;
constexpr base::StoreLimits kLimits{.entries = 1024, .bytes = 16384};

DevicePlace place_in(const Json& json) {
    return {json.at("identity").text(), json.at("name").text(), json.at("place").get<unsigned>()};
}

// An entry that somebody changed by hand is as good as none: what cannot be read would be a device that is taken for sound.
std::vector<DeviceFault> faults_in(const std::string& text) {
    std::vector<DeviceFault> faults;
    if (text.empty()) return faults;
    for (const Json& f : Json::parse(text))
        faults.push_back({place_in(f), f.at("reason").text(), f.at("ends_process").get<bool>()});
    return faults;
}

std::vector<DevicePlace> places_in(const std::string& text) {
    std::vector<DevicePlace> places;
    if (text.empty()) return places;
    for (const Json& p : Json::parse(text)) places.push_back(place_in(p));
    return places;
}

Json json_of(const DevicePlace& p) { return {{"identity", p.identity}, {"name", p.name}, {"place", p.place}}; }
Json json_of(const DeviceFault& f) {
    Json json = json_of(static_cast<const DevicePlace&>(f));
    json["reason"] = f.reason;
    json["ends_process"] = f.ends_process;
    return json;
}

template <typename Device>
std::string text_of(const std::vector<Device>& devices) {
    Json all = Json::array();
    for (const Device& device : devices) all.push_back(json_of(device));
    return devices.empty() ? std::string() : all.dump(-1, base::BadText::replace);
}

std::optional<RememberedTrial> trial_in(const base::StoredEntry& entry) try {
    auto field = [&entry](const char* name) {
        const auto found = entry.fields.find(name);
        return found == entry.fields.end() ? std::string() : found->second;
    };
    RememberedTrial t;
    const auto* const trial = std::find(kNames.begin(), kNames.end(), field("trial"));
    if (trial == kNames.end()) return std::nullopt;
    t.trial = static_cast<Trial>(trial - kNames.begin());
    if (t.trial == Trial::not_tried) return std::nullopt;
    t.code = reason_code_of(field("code")).value_or(ReasonCode::open_failed);
    t.reason = field("reason");
    t.file = entry.about;
    t.when = entry.when;
    t.until = entry.until;
    t.attempts = std::clamp(std::atoi(field("attempts").c_str()), 1, 1000);
    t.by_hand = field("by_hand") == "yes";
    t.put_back = field("put_back") == "yes";
    t.left_processes = field("left_processes") == "yes";
    t.keep_mapped = field("keep_mapped") == "yes";
    t.faults = faults_in(field("faults"));
    t.left = places_in(field("left"));
    t.expired = entry.expired;
    return t;
} catch (const base::JsonError&) {
    return std::nullopt;
}

}  // namespace

const char* name_of(Trial trial) noexcept { return kNames.at(static_cast<size_t>(trial)); }

std::optional<ReasonCode> reason_code_of(std::string_view name) {
    for (int i = 0; std::string_view(backplane::name_of(static_cast<ReasonCode>(i))) != "unknown"; ++i)
        if (name == backplane::name_of(static_cast<ReasonCode>(i))) return static_cast<ReasonCode>(i);
    return std::nullopt;
}

VerdictStore::VerdictStore(std::filesystem::path folder)
    : entries_(std::move(folder), std::string(kKind), kFormat, kLimits) {}

std::optional<RememberedTrial> VerdictStore::find(const std::string& key) const {
    const std::optional<base::StoredEntry> entry = entries_.find(key);
    return entry ? trial_in(*entry) : std::nullopt;
}

std::string VerdictStore::remember(const std::string& key, const RememberedTrial& t) const {
    base::StoredEntry entry;
    entry.about = t.file;
    entry.until = t.until;
    entry.fields = {{"trial", name_of(t.trial)},
                    {"code", backplane::name_of(t.code)},
                    {"reason", t.reason.substr(0, kLongestReason)},
                    {"attempts", std::to_string(t.attempts)},
                    {"faults", text_of(t.faults)},
                    {"left", text_of(t.left)},
                    {"put_back", t.put_back ? "yes" : "no"},
                    {"left_processes", t.left_processes ? "yes" : "no"},
                    {"keep_mapped", t.keep_mapped ? "yes" : "no"},
                    {"by_hand", t.by_hand ? "yes" : "no"}};
    return entries_.remember(key, std::move(entry));
}

bool VerdictStore::forget(const std::string& key) const { return entries_.forget(key); }

std::vector<RememberedTrial> VerdictStore::all() const {
    std::vector<RememberedTrial> found;
    for (const base::StoredEntry& entry : entries_.all())
        if (auto trial = trial_in(entry)) found.push_back(std::move(*trial));
    return found;
}

size_t VerdictStore::forget_all() const { return entries_.forget_all(); }

size_t VerdictStore::forget_file(const std::filesystem::path& file) const {
    return entries_.forget_if([about = file.string()](const base::StoredEntry& entry) { return entry.about == about; });
}

std::string VerdictStore::key_of(const discovery::Inspection& module, const std::string& options) {
    return discovery::trial_key(module, options);
}

}  // namespace backplane::registry
