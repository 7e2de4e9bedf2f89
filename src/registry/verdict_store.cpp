#include "registry/verdict_store.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/fnv1a.hpp"
#include "base/user_folder.hpp"

namespace backplane::registry {

namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr uint64_t kMostBytes = 16384;
constexpr std::array kNames{"good", "failed", "crashed", "hung", "exited", "garbage", "not-tried"};

int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Two sums of 64 bits, each from a start of its own.
std::string hash_of(const std::string& text) {
    return base::hexadecimal(base::fnv1a(text)) + base::hexadecimal(base::fnv1a(text, 0x84222325cbf29ce4));
}

std::optional<RememberedTrial> read(const std::filesystem::path& path) {
    const std::optional<std::string> text = base::read_own_file(path, kMostBytes);
    if (!text) return std::nullopt;
    try {
        const Json json = Json::parse(*text);
        if (json.at("format") != kFormat) return std::nullopt;
        RememberedTrial t;
        const auto name = json.at("trial").get<std::string>();
        for (size_t i = 0; i < kNames.size(); ++i)
            if (name == kNames[i]) t.trial = static_cast<Trial>(i);
        t.code = reason_code_of(json.at("code").get<std::string>()).value_or(ReasonCode::open_failed);
        t.reason = json.at("reason").get<std::string>();
        t.file = json.at("file").get<std::string>();
        t.when = json.at("when").get<int64_t>();
        t.until = json.at("until").get<int64_t>();
        t.attempts = json.at("attempts").get<int>();
        t.by_hand = json.at("by_hand").get<bool>();
        // A clock that was set back must not keep a verdict for ever.
        if (t.trial == Trial::not_tried || t.when > now() + 86400) return std::nullopt;
        t.expired = t.until != 0 && t.until < now();
        return t;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace

const char* name_of(Trial trial) noexcept { return kNames.at(static_cast<size_t>(trial)); }

std::optional<ReasonCode> reason_code_of(std::string_view name) {
    for (int i = 0; i <= static_cast<int>(ReasonCode::unloaded); ++i)
        if (name == backplane::name_of(static_cast<ReasonCode>(i))) return static_cast<ReasonCode>(i);
    return std::nullopt;
}

std::filesystem::path VerdictStore::path_of(const std::string& key) const { return folder_ / (key + ".json"); }

std::optional<RememberedTrial> VerdictStore::find(const std::string& key) const {
    return folder_.empty() ? std::nullopt : read(path_of(key));
}

void VerdictStore::remember(const std::string& key, const RememberedTrial& t) const {
    if (folder_.empty()) return;
    const Json json{{"format", kFormat},
                    {"trial", name_of(t.trial)},
                    {"code", backplane::name_of(t.code)},
                    {"reason", t.reason},
                    {"file", t.file},
                    {"when", now()},
                    {"until", t.until},
                    {"attempts", t.attempts},
                    {"by_hand", t.by_hand}};
    base::write_whole_file(path_of(key), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool VerdictStore::forget(const std::string& key) const {
    std::error_code failed;
    return !folder_.empty() && std::filesystem::remove(path_of(key), failed);
}

std::vector<RememberedTrial> VerdictStore::all() const {
    std::vector<RememberedTrial> found;
    std::string problem;
    if (!folder_.empty())
        for (const std::filesystem::path& name : base::names_in(folder_, problem))
            if (name.extension() == ".json")
                if (auto trial = read(folder_ / name)) found.push_back(std::move(*trial));
    return found;
}

size_t VerdictStore::forget_all() const {
    size_t count = 0;
    std::string problem;
    std::error_code failed;
    if (!folder_.empty())
        for (const std::filesystem::path& name : base::names_in(folder_, problem))
            if (name.extension() == ".json" && std::filesystem::remove(folder_ / name, failed)) ++count;
    return count;
}

std::string VerdictStore::key_of(const discovery::Inspection& m, const std::string& options) {
    std::string text = "1|" + m.path.string();
    auto add = [&text](const std::string& part) { text += '|' + part; };
    auto add_file = [&](const base::FileStatus& s) {
        add(std::to_string(s.volume) + '/' + std::to_string(s.number) + '/' + std::to_string(s.size) + '/' +
            std::to_string(s.modified_ns));
    };
    add_file(m.status);
    add(m.binary.build_id);
    add(std::to_string(BP_ABI));
    add(options);
    if (m.descriptor) {
        add(m.descriptor->json);
        for (const std::string& file : m.descriptor->watch_files) {
            // Files of /proc state no size: their content counts, as far as it is small.
            const base::FileStatus s = base::status_of(file);
            add_file(s);
            std::string content(256, '\0');
            try {
                if (s.kind == base::FileStatus::Kind::regular)
                    content.resize(base::File(file).read_at(0, std::as_writable_bytes(std::span(content))));
                add(content);
            } catch (const Error&) {
                add("unreadable");
            }
        }
        for (const std::string& variable : m.descriptor->watch_env) add(base::environment(variable.c_str()).value_or(""));
    }
    return hash_of(text);
}

}  // namespace backplane::registry
