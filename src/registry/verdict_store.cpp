#include "registry/verdict_store.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "registry/trial_key.hpp"

namespace backplane::registry {

namespace {

constexpr std::string_view kKind = "trial";
constexpr int kFormat = 2;
constexpr std::array kNames{"good", "failed", "crashed", "hung", "exited", "garbage", "not-tried"};
constexpr size_t kLongestReason = 4096;
constexpr base::StoreLimits kLimits{.entries = 1024, .bytes = 16384};

std::optional<RememberedTrial> trial_in(const base::StoredEntry& entry) {
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
    t.expired = entry.expired;
    return t;
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
    return trial_key(module, options);
}

}  // namespace backplane::registry
