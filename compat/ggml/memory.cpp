#include <chrono>
#include <cstdlib>
#include <sstream>

#include "base/cpu_features.hpp"
#include "base/environment.hpp"
#include "base/fnv1a.hpp"
#include "base/user_folder.hpp"
#include "chooser.hpp"
#include "platform/files.hpp"

namespace backplane::compat {

namespace {

constexpr uint64_t kMostBytes = 1 << 20;

std::string identity(const base::FileStatus& s) {
    return std::to_string(s.volume) + '/' + std::to_string(s.number) + '/' + std::to_string(s.size) + '/' +
           std::to_string(s.modified_ns);
}

std::string processor() {
    if (std::string text = ggml::processor_text(); !text.empty()) return text;
    std::string features;
    for (const std::string& f : base::detect_cpu_features()) features += f + ' ';
    return features;
}

// Everything but the modules that a verdict depends on.
std::string header_of(const std::filesystem::path& folder, const std::filesystem::path& base) {
    return "backplane-ggml 2 " + std::to_string(base::fnv1a(folder.string())) + ' ' + identity(base::status_of(base)) + ' ' +
           std::to_string(base::fnv1a(processor()));
}

int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

uint64_t drivers_now() {
    std::string text;
    for (const char* variable : base::kDeviceVariables) text += base::environment(variable).value_or("") + '|';
    text += base::environment("LD_LIBRARY_PATH").value_or("") + '|';
    for (const char* place : {"/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/etc/OpenCL/vendors", "/etc/ld.so.cache",
                              "/dev/dri", "/dev/nvidia0", "/dev/kfd"})
        text += identity(base::status_of(place)) + '|';
    return base::fnv1a(text) | 1;
}

// Lines: the header, then "SIZE NUMBER MODIFIED SCORE UNTIL DRIVERS NAME<tab>REASON".
Memory::Memory(const std::filesystem::path& state, const std::filesystem::path& folder, const std::filesystem::path& base)
    : header_(header_of(folder, base)) {
    if (state.empty()) return;
    file_ = state / (std::to_string(base::fnv1a(header_)) + ".txt");
    const std::optional<std::string> text = base::read_own_file(file_, kMostBytes);
    if (!text) return;  // nothing is remembered yet
    std::istringstream lines(*text);
    std::string line;
    if (!std::getline(lines, line) || line != header_) return;
    while (std::getline(lines, line)) {
        std::istringstream fields(line);
        Known k;
        std::string name;
        if (!(fields >> k.size >> k.number >> k.modified_ns >> k.score >> k.until >> k.drivers) || fields.get() != ' ' ||
            !std::getline(fields, name, '\t'))
            continue;
        std::getline(fields, k.reason);
        known_[name] = k;
    }
}

const Known* Memory::find(const std::string& name, const base::FileStatus& status) const {
    const auto found = known_.find(name);
    if (found == known_.end()) return nullptr;
    const Known& k = found->second;
    const bool same = k.size == status.size && k.number == status.number && k.modified_ns == status.modified_ns;
    return same && (k.until == 0 || k.until > now()) && (k.drivers == 0 || k.drivers == drivers_now()) ? &k : nullptr;
}

void Memory::remember(const std::string& name, Known known) {
    if (known.until != 0) known.until += now();
    for (char& c : known.reason)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    if (name.find_first_of("\t\n") != std::string::npos) return;
    known_[name] = std::move(known);
    changed_ = true;
}

void Memory::save() {
    if (!changed_ || file_.empty()) return;
    std::ostringstream text;
    text << header_ << '\n';
    for (const auto& [name, k] : known_)
        text << k.size << ' ' << k.number << ' ' << k.modified_ns << ' ' << k.score << ' ' << k.until << ' ' << k.drivers
             << ' ' << name << '\t' << k.reason << '\n';
    base::write_whole_file(file_, text.str());
    changed_ = false;
}

}  // namespace backplane::compat
