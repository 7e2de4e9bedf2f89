#include "runtime/spread/op_checks.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "backplane/verify.hpp"
#include "base/file.hpp"
#include "base/fnv1a.hpp"
#include "base/user_folder.hpp"
#include "registry/device_state.hpp"

namespace backplane::runtime {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kFormat = 1;  // also of the cases: goes up when they change
constexpr uint64_t kMostBytes = 65536;

// Changes whenever the device might compute otherwise.
std::string key_of(const Device& device) {
    const DeviceInfo& d = device.info();
    std::string text = d.backend + '|' + d.name + '|' + d.driver + '|' + d.module_version + '|' + d.features;
    for (const uint64_t part : d.fingerprint) text += '|' + std::to_string(part);
    for (const std::string& identity : d.identities) text += '|' + identity;
    const base::FileStatus file = base::status_of(d.module);
    text += '|' + std::to_string(file.size) + '|' + std::to_string(file.modified_ns);
    return base::hexadecimal(base::fnv1a(text)) + '|' + text;
}

// What is remembered: by op, "" for right, else what was wrong.
using Known = std::map<std::string, std::string>;

fs::path file_of(const fs::path& folder, const std::string& key) {
    return folder.empty() ? fs::path() : folder / "ops" / (key.substr(0, key.find('|')) + ".json");
}

Known read(const fs::path& file, const std::string& key) {
    const std::optional<std::string> text = file.empty() ? std::nullopt : base::read_own_file(file, kMostBytes);
    if (!text) return {};
    try {
        const Json json = Json::parse(*text);
        if (json.at("format") != kFormat || json.at("key") != key) return {};
        return json.at("ops").get<Known>();
    } catch (const std::exception&) {
        return {};
    }
}

// Three of the op's cases that the device takes, of different thirds of the table: they differ in type and shape.
std::string check(const Device& device, Op op) {
    constexpr size_t kCases = 3;
    VerifyOptions options;
    options.op = op;
    const std::vector<std::string> names = verify_names(options);
    const size_t third = (names.size() + kCases - 1) / kCases;
    for (size_t part = 0; part < kCases; ++part)
        for (size_t i = part * third; i < std::min(names.size(), (part + 1) * third); ++i) {
            const VerifyResult result = verify_one(device, names[i]);
            if (result.status == VerifyResult::failed) return result.name + ": " + result.text;
            if (result.status == VerifyResult::passed) break;
        }
    return {};
}

}  // namespace

std::map<Op, std::string> wrong_ops(const Device& device, const std::set<Op>& ops) {
    std::map<Op, std::string> wrong;
    const Device::State& state = *device.state();
    if (!state.drives_a_driver) return wrong;
    const std::string key = key_of(device);
    const fs::path file = file_of(state.state_folder, key);
    Known known = read(file, key);
    bool learnt = false;
    for (const Op op : ops) {
        const auto found = known.find(name_of(op));
        const std::string text = found != known.end() ? found->second : check(device, op);
        if (!text.empty()) wrong.emplace(op, text);
        learnt = learnt || found == known.end();
        known[name_of(op)] = text;
    }
    if (learnt && !file.empty())
        base::write_whole_file(file, Json{{"format", kFormat}, {"key", key}, {"ops", known}}.dump(
                                         1, ' ', false, Json::error_handler_t::replace) +
                                         "\n");
    return wrong;
}

}  // namespace backplane::runtime
