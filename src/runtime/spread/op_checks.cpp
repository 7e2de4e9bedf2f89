#include "runtime/spread/op_checks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "backplane/verify.hpp"
#include "base/file.hpp"
#include "base/wall_clock.hpp"
#include "registry/device_state.hpp"
#include "registry/remembered.hpp"

namespace backplane::runtime {

namespace {

constexpr int64_t kWrongFor = int64_t{30} * 86400;  // a driver may have been repaired in a way that nobody declared
constexpr const char* kRight = "right";
constexpr const char* kCases = "1";  // goes up when the cases that are run change

// Changes whenever the device might compute otherwise.
std::string key_of(const Device& device) {
    const DeviceInfo& d = device.info();
    std::string text =
        std::string(kCases) + '|' + d.backend + '|' + d.name + '|' + d.driver + '|' + d.module_version + '|' + d.features;
    for (const uint64_t part : d.fingerprint) text += '|' + std::to_string(part);
    for (const std::string& identity : d.identities) text += '|' + identity;
    const base::FileStatus file = base::status_of(d.module);
    for (const uint64_t part : {file.volume, file.number, file.size}) text += '|' + std::to_string(part);
    return text + '|' + std::to_string(file.modified_ns) + '|' + std::to_string(file.changed_ns);
}

OpFault check(const Device& device, Op op) {
    constexpr size_t kParts = 3;
    VerifyOptions options;
    options.op = op;
    const std::vector<std::string> names = verify_names(options);
    const size_t third = (names.size() + kParts - 1) / kParts;
    for (size_t part = 0; part < kParts; ++part)
        for (size_t i = part * third; i < std::min(names.size(), (part + 1) * third); ++i) {
            const VerifyResult result = verify_one(device, names[i]);
            if (result.status == VerifyResult::failed)
                return {result.ran ? OpFault::wrong : OpFault::would_not_run, result.name + ": " + result.text, {}};
            if (result.status == VerifyResult::passed) break;
        }
    return {};
}

// What is remembered of one device. Nothing of what failed for want of something: memory, a disk, a compiler that will be there next time.
class Memory {
public:
    explicit Memory(const Device& device)
        : device_(device), key_(key_of(device)), store_(registry::op_store(DeviceAccess::state(device)->state_folder)) {
        if (auto entry = store_.find(key_)) right_ = std::move(*entry);
    }
    [[nodiscard]] std::optional<OpFault> find(Op op) const {
        if (right_.fields.contains(name_of(op))) return OpFault{};
        const std::optional<base::StoredEntry> entry = store_.find(key_of_wrong(op));
        if (!entry || entry->expired) return std::nullopt;
        const auto reason = entry->fields.find(registry::kReasonField);
        if (reason == entry->fields.end()) return std::nullopt;
        return OpFault{OpFault::wrong, reason->second, told(entry->when, entry->until)};
    }
    void learn(Op op, OpFault& fault) {
        if (fault.kind == OpFault::none) {
            right_.fields[name_of(op)] = kRight;
            learnt_ = true;
        }
        if (fault.kind != OpFault::wrong) return;
        base::StoredEntry entry = about();
        entry.until = base::unix_seconds() + kWrongFor;
        entry.fields[registry::kOutcomeField] = "wrong";
        entry.fields[registry::kReasonField] = fault.text;
        const int64_t until = entry.until;
        if (store_.remember(key_of_wrong(op), std::move(entry)).empty())
            fault.remembered = told(base::unix_seconds(), until);
    }
    void save() {
        if (!learnt_) return;
        base::StoredEntry entry = about();
        std::string names;
        for (const auto& [name, value] : right_.fields) {
            if (value != kRight) continue;
            entry.fields[name] = kRight;
            names += (names.empty() ? "" : ", ") + name;
        }
        entry.fields[registry::kOutcomeField] = "computes";
        entry.fields[registry::kReasonField] = names;
        static_cast<void>(store_.remember(key_, std::move(entry)));
    }

private:
    [[nodiscard]] std::string key_of_wrong(Op op) const { return key_ + "|wrong|" + name_of(op); }
    [[nodiscard]] base::StoredEntry about() const {
        base::StoredEntry entry;
        entry.about = device_.info().module.string();
        entry.fields[registry::kDeviceField] = device_.info().id;
        return entry;
    }
    [[nodiscard]] std::string told(int64_t when, int64_t until) const {
        return registry::remembered_text(when, until, device_.info().module, DeviceAccess::state(device_)->state_folder);
    }

    const Device& device_;
    std::string key_;
    base::KeyedStore store_;
    base::StoredEntry right_;
    bool learnt_ = false;
};

}  // namespace

std::map<Op, OpFault> faulty_ops(const Device& device, const std::set<Op>& ops) {
    std::map<Op, OpFault> faulty;
    if (!DeviceAccess::state(device)->drives_a_driver) return faulty;
    Memory memory(device);
    for (const Op op : ops) {
        std::optional<OpFault> fault = memory.find(op);
        if (!fault) {
            fault = check(device, op);
            memory.learn(op, *fault);
        }
        if (fault->kind != OpFault::none) faulty.emplace(op, std::move(*fault));
    }
    memory.save();
    return faulty;
}

}  // namespace backplane::runtime
