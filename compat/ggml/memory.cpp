#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <system_error>

#include "base/cpu_features.hpp"
#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "chooser.hpp"
#include "discovery/trial_key.hpp"
#include "watched.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 4096;

std::string processor() {
    if (std::string text = ggml::processor_as_loaded(); !text.empty()) return text;
    if (std::string text = ggml::processor_text(); !text.empty()) return text;
    std::string features;
    for (const std::string& f : base::detect_cpu_features()) features += f + ' ';
    return features;
}

// Which file it is.
std::string file_of(const fs::path& path) {
    const base::FileStatus s = base::status_of(path);
    std::string text;
    for (const uint64_t part : {s.volume, s.number, s.size, uint64_t{s.mode}}) text += std::to_string(part) + '/';
    return text + std::to_string(s.modified_ns) + '/' + std::to_string(s.changed_ns) + '/' + s.owner + '|';
}

// Everything but the modules that a verdict depends on; of the probe, because what another found out this one may see differently.
std::string header_of(const fs::path& folder, const Search& search) {
    const std::string text = folder.string() + '|' + file_of(search.base) + processor() + '|' + file_of(search.probe);
    return base::hexadecimal(base::hash_of(text));
}

int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string day_and_time(int64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    std::array<char, 32> text{};
    if (gmtime_r(&time, &parts) == nullptr || std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts) == 0)
        return std::to_string(seconds);
    return text.data();
}

// Libraries beside it. What a module loads by itself, and what those that it names need in turn, mostly is there.
std::string beside(const fs::path& file) {
    std::string text;
    std::vector<fs::path> folders{file.parent_path()};
    std::error_code failed;
    if (fs::path real = fs::canonical(file, failed).parent_path(); real != folders.front())
        folders.push_back(std::move(real));
    std::string problem;
    for (const fs::path& folder : folders)
        for (const fs::path& name : base::names_in(folder, problem, kMostNames))
            if (name.string().find(".so") != std::string::npos && name != file.filename())
                text += name.string() + '/' + file_of(folder / name);
    return text;
}

}  // namespace

uint64_t surroundings(const fs::path& file, const Known& known) {
    std::string text;
    const bool usable = known.reason.empty() && known.devices;
    if (usable) {
        for (std::string_view rest = known.uses; !rest.empty();) {
            const size_t end = std::min(rest.find('\t'), rest.size());
            text += file_of(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        for (const char* variable : {"LD_LIBRARY_PATH", "LD_PRELOAD"})
            text += base::environment(variable).value_or("") + '|';
        text += file_of("/etc/ld.so.cache");
    } else {
        text += beside(file);
    }
    if (!usable || known.drives) {
        // Stock modules do not say what they read: all that drivers of this interface may read counts.
        discovery::Inspection look = usable ? discovery::Inspection{} : discovery::inspect(file);
        look.descriptor.emplace();
        look.descriptor->watch_files.assign(kWatchedFiles.begin(), kWatchedFiles.end());
        look.descriptor->watch_env.assign(kWatchedVariables.begin(), kWatchedVariables.end());
        text += discovery::trial_key(look, {});
    }
    uint64_t start = 0;
    const base::Hash hash = base::hash_of(text);
    std::memcpy(&start, hash.data(), sizeof start);
    return start | 1;
}

Memory::Memory(const Search& search, const fs::path& folder) {
    const std::string header = header_of(folder, search);
    if (!search.state.empty()) {
        file_ = search.state / (header + base::kEndingOfFolderRecords);
        if (std::optional<base::FolderRecord> known = base::FolderRecord::read(file_); known && known->header == header)
            record_ = *std::move(known);
    }
    record_.header = header;
    record_.folder = folder;
}

const Known* Memory::find(const std::string& name, const ggml::FileFacts& facts) const {
    const auto found = record_.files.find(name);
    if (found == record_.files.end()) return nullptr;
    const Known& k = found->second;
    const bool same = k.size == facts.size && k.volume == facts.volume && k.number == facts.number &&
                      k.modified_ns == facts.modified_ns && k.changed_ns == facts.changed_ns;
    const int64_t time = now();
    const bool counts = k.until == 0 || (k.since <= time && time < k.until);  // a clock that was set back says nothing
    const bool usable = k.reason.empty() && k.devices;
    return same && counts && (usable || holds(k, record_.folder / name)) ? &k : nullptr;
}

bool Memory::holds(const Known& known, const fs::path& file) {
    return known.around == 0 || known.around == surroundings(file, known);
}

void Memory::remember(const std::string& name, Known known) {
    known.since = now();
    if (known.until != 0) known.until += known.since;
    record_.files[name] = std::move(known);
    changed_ = true;
}

std::string Memory::save() {
    if (!changed_ || file_.empty()) return {};
    changed_ = false;
    return record_.write(file_);
}

std::string Memory::where(const Known& known) const {
    return " (remembered since " + day_and_time(known.since) +
           (known.until != 0 ? ", until " + day_and_time(known.until) : std::string()) + "; remove " + file_.string() +
           " to have it tried again)";
}

}  // namespace backplane::compat
