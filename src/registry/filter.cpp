#include "registry/filter.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <tuple>

#include "base/glob.hpp"

namespace backplane::registry {

namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool is_kind(std::string_view term) {
    constexpr std::array kKinds{DeviceKind::unknown,  DeviceKind::cpu,         DeviceKind::integrated,
                                DeviceKind::discrete, DeviceKind::virtual_gpu, DeviceKind::accelerator,
                                DeviceKind::software};
    return std::any_of(kKinds.begin(), kKinds.end(), [&](DeviceKind kind) { return term == name_of(kind); });
}

bool matches(const std::string& term, const DeviceInfo& device) {
    // What failed its trial is there for who means this very device.
    const bool sound = device.fault.empty();
    // Who says "cpu" means one, whatever a backend of that name lists.
    if (is_kind(term)) return sound && term == name_of(device.kind);
    if (term == "auto") return sound && device.kind != DeviceKind::software;
    if (term.compare(0, 5, "name=") == 0) return base::glob(term.substr(5), lower(device.name));
    // A backend over another registry lists devices by the names that one gives them: "ggml:vulkan0".
    const std::string by_name = device.backend + ":" + device.name;
    return term == lower(device.id) || term == lower(by_name) ||
           (sound && (term == lower(device.backend) || term == name_of(device.kind))) ||
           std::any_of(device.identities.begin(), device.identities.end(),
                       [&](const std::string& i) { return term == lower(i); });
}

int rank(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::discrete: return 0;
        case DeviceKind::virtual_gpu: return 1;
        case DeviceKind::integrated: return 2;
        case DeviceKind::accelerator: return 3;
        case DeviceKind::cpu: return 4;
        case DeviceKind::unknown: return 5;
        case DeviceKind::software: return 6;
    }
    return 5;
}

}  // namespace

Filter::Filter(std::string_view text) : text_(text) {
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        std::string term = lower(text.substr(at, end - at));
        at = end + 1;
        term.erase(0, term.find_first_not_of(" \t"));
        term.erase(term.find_last_not_of(" \t") + 1);
        if (term.empty()) continue;
        if (term[0] == '!')
            unwanted_.push_back(term.substr(1));
        else
            wanted_.push_back(std::move(term));
    }
}

std::vector<DeviceInfo> Filter::select(const std::vector<DeviceInfo>& devices) const {
    std::vector<DeviceInfo> selected;
    std::set<std::string> taken;
    const std::vector<std::string> all = wanted_.empty() ? std::vector<std::string>{"auto"} : wanted_;
    for (const std::string& term : all) {
        for (const bool own : {true, false}) {
            for (const DeviceInfo& device : devices) {
                if ((term == lower(device.backend)) != own || excludes(device) || !matches(term, device)) continue;
                if (taken.insert(device.id).second) selected.push_back(device);
            }
        }
    }
    return selected;
}

std::optional<std::vector<std::string>> Filter::named_backends(const std::vector<std::string>& all) const {
    if (wanted_.empty()) return std::nullopt;
    std::vector<std::string> named;
    for (const std::string& term : wanted_) {
        const std::string name = term.substr(0, term.find(':'));
        const auto found = std::find_if(all.begin(), all.end(), [&](const std::string& b) { return lower(b) == name; });
        if (found == all.end()) return std::nullopt;
        named.push_back(*found);
    }
    return named;
}

bool Filter::excludes(const DeviceInfo& device) const {
    DeviceInfo sound = device;  // an exclusion means all of a backend or kind
    sound.fault.clear();
    return std::any_of(unwanted_.begin(), unwanted_.end(), [&](const std::string& t) { return matches(t, sound); });
}

bool Filter::excludes_backend(std::string_view backend) const {
    return std::find(unwanted_.begin(), unwanted_.end(), backend) != unwanted_.end();
}

void sort_by_preference(std::vector<DeviceInfo>& devices) {
    auto key = [](const DeviceInfo& d) {
        return std::tuple(d.kind == DeviceKind::software, !d.fault.empty(), !d.warning.empty(), rank(d.kind),
                          -d.module_priority);
    };
    std::stable_sort(devices.begin(), devices.end(),
                     [&](const DeviceInfo& a, const DeviceInfo& b) { return key(a) < key(b); });
}

void mark_same_chips(std::vector<DeviceInfo>& devices) {
    auto address = [](const DeviceInfo& d) {
        return !d.identities.empty() && d.identities.front().compare(0, 4, "pci:") == 0 ? d.identities.front()
                                                                                        : std::string();
    };
    auto same = [&](const DeviceInfo& a, const DeviceInfo& b) {
        const std::string x = address(a);
        const std::string y = address(b);
        if (!x.empty() && !y.empty()) return x == y;
        return std::any_of(a.identities.begin(), a.identities.end(), [&](const std::string& i) {
            return std::find(b.identities.begin(), b.identities.end(), i) != b.identities.end();
        });
    };
    std::set<std::pair<std::string, std::string>> taken;  // one device of a backend for one chip
    for (size_t i = 0; i < devices.size(); ++i) {
        for (size_t k = 0; k < i; ++k) {
            const DeviceInfo& first = devices[k];
            if (!first.same_chip_as.empty() || first.backend == devices[i].backend || !same(first, devices[i]) ||
                !taken.insert({first.id, devices[i].backend}).second)
                continue;
            devices[i].same_chip_as = first.id;
            break;
        }
    }
}

}  // namespace backplane::registry
