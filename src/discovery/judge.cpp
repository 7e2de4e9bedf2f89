#include "discovery/judge.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "backplane/note.h"
#include "base/file.hpp"

namespace backplane::discovery {

namespace {

Judgement no(ReasonCode code, std::string reason, std::string remedy = {}) {
    return {code, std::move(reason), std::move(remedy), 0};
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

Judgement judge_access(const Inspection& m) {
    if (m.status.kind != base::FileStatus::Kind::regular) return {};
    if (m.status.others_may_write)
        return no(ReasonCode::writable_by_others, "everybody on this machine may write to the file",
                  base::how_to_protect(m.path));
    if (m.status.foreign_owner)
        return no(ReasonCode::wrong_owner, "the file belongs to " + m.status.owner + ", neither to you nor to the system",
                  "take it over (chown), if you trust it");
    return {};
}

std::string remedy_for(ReasonCode code) {
    switch (code) {
        case ReasonCode::truncated: return "copy or install the file again";
        case ReasonCode::abi_mismatch: return "install the module's build for this version of the library";
        case ReasonCode::bad_descriptor: return "ask the module's author for a correct build";
        case ReasonCode::too_large:
            return "no module is like that: remove the file, or ask whoever made it for a correct build";
        default: return {};
    }
}

Judgement judge_machine(const Inspection& m, const Host& host) {
    const Binary& b = m.binary;
    // Of a machine that the compiler does not name here, the system tells when it loads.
    if (b.format == host.binary.format && host.binary.machine == 0) return {};
    if (b.format == Format::none || (b.format == host.binary.format && b.machine == host.binary.machine &&
                                     b.bits == host.binary.bits && b.little_endian == host.binary.little_endian))
        return {};
    return no(ReasonCode::wrong_architecture,
              "built for " + name_of_machine(b) + (host.is_another ? ", the machine is " : ", this program for ") +
                  name_of_machine(host.binary),
              "install the module's build for " + name_of_machine(host.binary));
}

Judgement judge_cpu(const Descriptor& d, const Host& host) {
    std::vector<std::string> missing;
    for (const std::string& feature : d.cpu)
        if (!host.cpu.contains(feature)) missing.push_back(feature);
    if (missing.empty()) return {};
    return no(ReasonCode::cpu_feature_missing, "needs CPU features that are not usable here: " + join(missing));
}

// "1.10.0" is above "1.9"; what is not a number counts as 0.
int compare_versions(std::string_view left, std::string_view right) {
    while (!left.empty() || !right.empty()) {
        auto next = [](std::string_view& text) {
            const size_t end = std::min(text.find('.'), text.size());
            uint32_t number = 0;
            std::from_chars(text.data(), text.data() + end, number);
            text.remove_prefix(std::min(end + 1, text.size()));
            return number;
        };
        const uint32_t a = next(left);
        const uint32_t b = next(right);
        if (a != b) return a > b ? -1 : 1;
    }
    return 0;
}

bool same_name(std::string_view a, std::string_view b) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// By the rules of the system that the name is of: those of Windows look away from capitals, and its API sets are no files.
std::map<std::string, std::string>::const_iterator find_recorded(const RecordedLibraries& libraries,
                                                                 const std::string& name) {
    const auto exact = libraries.versions.find(name);
    constexpr std::string_view kDll = ".dll";
    if (exact != libraries.versions.end() || name.size() < kDll.size() ||
        !same_name(std::string_view(name).substr(name.size() - kDll.size()), kDll))
        return exact;
    return std::find_if(libraries.versions.begin(), libraries.versions.end(),
                        [&](const auto& known) { return same_name(known.first, name); });
}

base::Presence presence(const RecordedLibraries& libraries, const std::string& name,
                        std::span<const std::filesystem::path> run_paths) {
    std::error_code failed;
    for (const std::filesystem::path& folder : run_paths) {
        const std::filesystem::path from = folder.lexically_normal().lexically_relative(libraries.brought);
        if (libraries.brought.empty() || from.empty() || *from.begin() == "..") continue;
        if (std::filesystem::exists(folder / name, failed)) return base::Presence::present;
    }
    if (base::is_api_set(name) || find_recorded(libraries, name) != libraries.versions.end()) return base::Presence::present;
    return libraries.all ? base::Presence::absent : base::Presence::unknown;
}

Judgement judge_versions(const Inspection& m, const Libraries& libraries, uint64_t& lookups) {
    for (const Need& need : m.descriptor->needs) {
        if (need.least.empty() || need.priority != "required") continue;
        lookups += m.binary.run_paths.size() + 1;
        if (lookups > kMostLookups) return {};
        const std::string version = libraries.newest_version(need.soname, m.binary.run_paths);
        if (version.empty() || compare_versions(version, need.least) <= 0) continue;
        return no(ReasonCode::library_too_old,
                  "needs " + need.soname + " of version " + need.least + " or later, this system has " + version,
                  "update the driver or the package that brings " + need.soname + ", to " + need.least + " or later");
    }
    return {};
}

Judgement judge_libraries(const Inspection& m, Libraries& libraries) {
    std::vector<std::string> names;
    auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const std::string& name : m.binary.needed) add(name);
    for (const Need& need : m.descriptor->needs)
        if (need.priority == "required") add(need.soname);
    std::vector<std::string> missing;
    uint64_t lookups = 0;
    for (const std::string& name : names) {
        lookups += m.binary.run_paths.size() + 1;
        if (lookups > kMostLookups) {
            Judgement j = no(ReasonCode::too_large,
                             "it needs " + std::to_string(names.size()) + " libraries from " +
                                 std::to_string(m.binary.run_paths.size()) + " folders: finding them takes more than " +
                                 std::to_string(kMostLookups) + " look-ups",
                             remedy_for(ReasonCode::too_large));
            j.lookups = kMostLookups;
            return j;
        }
        if (libraries.find(name, m.binary.run_paths) == base::Presence::absent) missing.push_back(name);
    }
    Judgement judgement;
    // A folder that only the loader can tell may hold them.
    if (!missing.empty() && !m.binary.more_run_paths)
        judgement = no(ReasonCode::library_missing, "needs libraries that this system does not have: " + join(missing),
                       "install the package that brings " + missing.front());
    if (judgement.code == ReasonCode::none) judgement = judge_versions(m, libraries, lookups);
    judgement.lookups = std::min(lookups, kMostLookups);
    return judgement;
}

// The strongest instruction set first; what is not here ranks below what is.
constexpr std::array<std::string_view, 18> kStrength{
    "amx_fp16", "amx_int8", "avx512_fp16", "avx512_bf16", "avx512_vnni", "avx512bw", "avx512f", "avx_vnni", "avx2",
    "avx",      "sse4_2",   "sve2",        "sve",         "i8mm",        "bf16",     "asimddp", "asimdhp",  "atomics"};

// 0: the strongest; kStrength.size(): none of them.
size_t strength(const Descriptor& d, size_t after) {
    for (size_t i = after; i < kStrength.size(); ++i)
        if (std::find(d.cpu.begin(), d.cpu.end(), kStrength[i]) != d.cpu.end()) return i;
    return kStrength.size();
}

}  // namespace

std::string version_in_name(const std::filesystem::path& file, const std::string& soname) {
    const size_t so = soname.find(".so.");
    const std::u8string text = base::real_path(file).filename().u8string();
    const std::string name(text.begin(), text.end());
    if (so == std::string::npos || name == soname || name.compare(0, so + 4, soname, 0, so + 4) != 0) return {};
    const std::string version = name.substr(so + 4);
    const bool is_one =
        version.find('.') != std::string::npos && version.find_first_not_of("0123456789.") == std::string::npos;
    return is_one ? version : std::string();
}

base::Presence Libraries::find(const std::string& name, std::span<const std::filesystem::path> run_paths) {
    if (recorded_) return presence(*recorded_, name, run_paths);
    if (!run_paths.empty()) return places_.find(name, run_paths);
    const auto found = known_.find(name);
    return found != known_.end() ? found->second : known_.emplace(name, places_.find(name, run_paths)).first->second;
}

std::string Libraries::newest_version(const std::string& name, std::span<const std::filesystem::path> run_paths) const {
    if (recorded_) {
        const auto found = find_recorded(*recorded_, name);
        return found == recorded_->versions.end() ? std::string() : found->second;
    }
    std::string newest;
    for (const std::filesystem::path& file : places_.of(name, run_paths)) {
        const std::string version = version_in_name(file, name);
        if (version.empty()) return {};
        if (compare_versions(version, newest) < 0) newest = version;
    }
    return newest;
}

bool UsableFeatures::contains(const std::string& feature) const {
    if (!features_) {
        static const base::CpuFeatures kAll = base::detect_cpu_features();
        features_ = base::without(kAll, mask_);
    }
    return features_->contains(feature);
}

std::string_view library_ending_of(const Host& host) noexcept {
    if (host.binary.format == host_format()) return base::library_ending();
    return host.binary.format == Format::pe ? ".dll" : host.binary.format == Format::macho ? ".dylib" : ".so";
}

std::string_view program_ending_of(const Host& host) noexcept { return host.binary.format == Format::pe ? ".exe" : ""; }

Host this_host(std::string_view mask) {
    return {.cpu = UsableFeatures(mask), .binary = host_binary(), .sanitizer = BACKPLANE_HOST_SANITIZER};
}

std::string missing_drivers(const Descriptor& module, Libraries& libraries,
                            std::span<const std::filesystem::path> run_paths) {
    std::string missing;
    for (const Need& need : module.needs)
        if (need.priority != "required" && libraries.find(need.soname, run_paths) == base::Presence::absent)
            missing += (missing.empty() ? "" : ", ") + need.soname;
    return missing;
}

Judgement judge(const Inspection& m, const Host& host) {
    if (Judgement access = judge_access(m); access.code != ReasonCode::none) return access;
    if (Judgement machine = judge_machine(m, host); machine.code != ReasonCode::none) return machine;
    if (m.problem != ReasonCode::none) return no(m.problem, m.text, remedy_for(m.problem));
    if (!m.descriptor)
        return no(
            ReasonCode::not_a_module, "a shared library without a descriptor: not a module",
            "for a module of another make, put a sidecar beside it (" + m.path.filename().string() + ".backplane.json)");
    const Descriptor& d = *m.descriptor;
    if (d.interface_name != kOwnInterface)
        return no(ReasonCode::not_a_module, "a module of " + d.interface_name + ": backends that know it use it");
    if ((d.flags & BP_NOTE_SANITIZER) != 0 && !host.sanitizer)
        return no(ReasonCode::sanitizer_mismatch, "built with a sanitizer, which this program is not");
    if (m.binary.executable_stack)
        return no(ReasonCode::executable_stack,
                  "loading it would make the stacks of this process executable (PT_GNU_STACK asks for it, or is missing)",
                  "link it with -z noexecstack (assembly sources want a .note.GNU-stack section), or `patchelf "
                  "--clear-execstack` the file");
    if (Judgement cpu = judge_cpu(d, host); cpu.code != ReasonCode::none) return cpu;
    return judge_libraries(m, *host.libraries);
}

int compare(const Inspection& left, const Inspection& right) {
    const Descriptor& a = *left.descriptor;
    const Descriptor& b = *right.descriptor;
    for (size_t after = 0; after < kStrength.size();) {
        const size_t x = strength(a, after);
        const size_t y = strength(b, after);
        if (x != y) return x < y ? -1 : 1;
        after = x + 1;
    }
    if (a.priority != b.priority) return a.priority > b.priority ? -1 : 1;
    if (const int version = compare_versions(a.version, b.version); version != 0) return version;
    return left.path.compare(right.path);
}

}  // namespace backplane::discovery
