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

// Which libraries this system has, each looked for once. For one thread at a time.
class Libraries {
public:
    [[nodiscard]] base::Presence find(const std::string& name, std::span<const std::filesystem::path> run_paths);
    // The files that could be it.
    [[nodiscard]] std::vector<std::filesystem::path> files(const std::string& name,
                                                           std::span<const std::filesystem::path> run_paths) const {
        return places_.of(name, run_paths);
    }

private:
    base::LibraryPlaces places_;
    std::map<std::string, base::Presence> known_;  // of files without folders of their own, as nearly all are
};

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
    std::shared_ptr<Libraries> libraries = std::make_shared<Libraries>();  // as they were when it was asked for
};

// The machine this runs on, without the CPU features in `mask`.
Host this_host(std::string_view mask);

// May this module be loaded here? The first thing that is wrong, in order of what is easiest to put right last.
Judgement judge(const Inspection& module, const Host& host);

// Which of two good modules of one backend is to be tried first: the one that requires the stronger instruction set, then by priority,
// version and path. `left` before `right`: negative.
int compare(const Inspection& left, const Inspection& right);

}  // namespace backplane::discovery
