#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "base/cpu_features.hpp"
#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/fnv1a.hpp"
#include "chooser.hpp"
#include "discovery/inspect.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 4096;

std::string processor() {
    if (std::string text = ggml::processor_text(); !text.empty()) return text;
    std::string features;
    for (const std::string& f : base::detect_cpu_features()) features += f + ' ';
    return features;
}

// Which file it is: what another program found out, this one may see differently.
std::string file_of(const fs::path& path) {
    const ggml::FileFacts f = path.empty() ? ggml::FileFacts{} : ggml::facts_of(path);
    return std::to_string(f.volume) + '/' + std::to_string(f.number) + '/' + std::to_string(f.size) + '/' +
           std::to_string(f.modified_ns) + '/' + std::to_string(f.changed_ns);
}

// Everything but the modules that a verdict depends on.
std::string header_of(const fs::path& folder, const Search& search) {
    std::string text;
    for (const uint64_t part : {base::fnv1a(folder.string()), ggml::identity_of(search.base), base::fnv1a(processor()),
                                base::fnv1a(file_of(search.probe))})
        text += (text.empty() ? "" : " ") + std::to_string(part);
    return text;
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

}  // namespace

uint64_t surroundings(const fs::path& file) {
    std::string text;
    const auto add = [&](const fs::path& path) { text += std::to_string(ggml::identity_of(path)) + '|'; };
    for (const char* variable : base::kDeviceVariables) text += base::environment(variable).value_or("") + '|';
    const std::string search = base::environment("LD_LIBRARY_PATH").value_or("");
    text += search + '|';
    for (const char* place : {"/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/etc/OpenCL/vendors", "/etc/ld.so.cache",
                              "/dev/dri", "/dev/nvidia0", "/dev/kfd"})
        add(place);
    // Libraries that it names, wherever one of that name may be found; those that they name in turn mostly lie beside it.
    const discovery::Inspection look = discovery::inspect(file);
    const base::LibraryPlaces places;
    for (const std::string& library : look.binary.needed) {
        text += library + '|';
        for (const fs::path& place : places.of(library, look.binary.run_paths)) text += place.string(), add(place);
    }
    std::string problem;
    for (const fs::path& folder : {file.parent_path(), fs::weakly_canonical(file).parent_path()})
        for (const fs::path& name : base::names_in(folder, problem, kMostNames))
            if (name.string().find(".so") != std::string::npos && name != file.filename())
                text += name.string(), add(folder / name);
    return base::fnv1a(text) | 1;
}

Memory::Memory(const Search& search, const fs::path& folder) {
    const std::string header = header_of(folder, search);
    if (!search.state.empty()) {
        file_ = search.state / (std::to_string(base::fnv1a(header)) + base::kEndingOfFolderRecords);
        if (std::optional<base::FolderRecord> known = base::FolderRecord::read(file_); known && known->header == header)
            record_ = *std::move(known);
    }
    record_.header = header;
    record_.folder = folder;
}

const Known* Memory::find(const fs::path& file, const ggml::FileFacts& facts) const {
    const auto found = record_.files.find(file.filename().string());
    if (found == record_.files.end()) return nullptr;
    const Known& k = found->second;
    const bool same = k.size == facts.size && k.volume == facts.volume && k.number == facts.number &&
                      k.modified_ns == facts.modified_ns && k.changed_ns == facts.changed_ns;
    const int64_t time = now();
    const bool counts = k.until == 0 || (k.since <= time && time < k.until);  // a clock that was set back says nothing
    return same && counts && (k.around == 0 || k.around == surroundings(file)) ? &k : nullptr;
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
