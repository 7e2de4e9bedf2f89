// Judging and ranking: from what was inspected to a verdict, by rules alone.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_features.hpp"
#include "base/dynamic_library.hpp"
#include "discovery/inspect.hpp"

namespace backplane::discovery {

struct Judgement {
    ReasonCode code = ReasonCode::none;  // none: may be loaded
    std::string reason;                  // one sentence
    std::string remedy;
    uint64_t lookups = 0;  // of libraries in folders; never more than kMostLookups
};
inline constexpr uint64_t kMostLookups = 16384;

// The libraries of a machine that was written down (discovery/machine.hpp).
struct RecordedLibraries {
    std::map<std::string, std::string> versions;  // by the name that programs load each by; "": its file's name tells none
    bool all = true;                              // what is not among them is not there; false: nobody knows
    std::filesystem::path brought;  // the folder that is brought to that machine: what lies in it is there as well
};

// Which libraries a system has, each looked for once. For one thread at a time.
class Libraries {
public:
    Libraries() = default;  // this system
    explicit Libraries(RecordedLibraries recorded) : recorded_(std::move(recorded)) {}
    [[nodiscard]] base::Presence find(const std::string& name, std::span<const std::filesystem::path> run_paths);
    // Of the files that could be it the latest version that a name tells; empty where one of them tells none.
    [[nodiscard]] std::string newest_version(const std::string& name,
                                             std::span<const std::filesystem::path> run_paths) const;

private:
    base::LibraryPlaces places_;
    std::map<std::string, base::Presence> known_;  // of files without folders of their own, as nearly all are
    std::optional<RecordedLibraries> recorded_;
};

// What the name of a library's file says beyond the name that programs load it by: "580.159.04" of libcuda.so.580.159.04, to which libcuda.so.1
// leads. Empty: nothing.
std::string version_in_name(const std::filesystem::path& file, const std::string& soname);

// The CPU features that modules may use. The processor is asked when a module names the first one, which most do not: a virtual machine
// traps each question. For one thread at a time.
class UsableFeatures {
public:
    explicit UsableFeatures(std::string_view mask) : mask_(mask) {}
    explicit UsableFeatures(base::CpuFeatures these) : features_(std::move(these)) {}
    [[nodiscard]] bool contains(const std::string& feature) const;

private:
    std::string mask_;
    mutable std::optional<base::CpuFeatures> features_;
};

struct Host {
    UsableFeatures cpu;
    Binary binary;
    bool sanitizer = false;
    bool is_another = false;  // a machine that was written down: what is said of it is not said of this program
    std::shared_ptr<Libraries> libraries = std::make_shared<Libraries>();  // as they were when it was asked for
};

// How the names of module files and of programs end there.
std::string_view library_ending_of(const Host& host) noexcept;
std::string_view program_ending_of(const Host& host) noexcept;

// The machine this runs on, without the CPU features in `mask`.
Host this_host(std::string_view mask);

// May this module be loaded here? The first thing that is wrong, in order of what is easiest to put right last.
Judgement judge(const Inspection& module, const Host& host);

// Libraries that a module loads without, and then finds no device: those that are not there, "libcuda.so.1, libvulkan.so.1".
std::string missing_drivers(const Descriptor& module, Libraries& libraries,
                            std::span<const std::filesystem::path> run_paths);

// Which of two good modules of one backend is to be tried first: the one that requires the stronger instruction set, then by priority,
// version and path. `left` before `right`: negative.
int compare(const Inspection& left, const Inspection& right);

}  // namespace backplane::discovery
