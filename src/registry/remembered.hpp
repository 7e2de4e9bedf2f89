// All that is remembered in a state folder: trials of modules, ops that drivers get wrong, the fastest device of a graph, what work costs on devices,
// processes that ended inside a module.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/keyed_store.hpp"

namespace backplane::registry {

// Ops that a device was checked for: one entry for all that it computes rightly, one for each that it gets wrong. `about` is the module.
base::KeyedStore op_store(const std::filesystem::path& state_folder);

// Which device was the fastest for a graph.
base::KeyedStore tuned_store(const std::filesystem::path& state_folder);

// What work costs on a device; how long networks took there beside what that says. `about` is the module.
base::KeyedStore cost_store(const std::filesystem::path& state_folder);
base::KeyedStore time_store(const std::filesystem::path& state_folder);

// What whole commands with a network take on the devices of this machine (src/cli/soonest.hpp).
base::KeyedStore whole_store(const std::filesystem::path& state_folder);

// Names of fields that both have, so that any entry can be told: the id of the device, the outcome in a word, the sentence.
inline constexpr const char* kDeviceField = "device";
inline constexpr const char* kOutcomeField = "outcome";
inline constexpr const char* kReasonField = "reason";

// One thing that is remembered, for lists.
struct Remembered {
    std::string kind;             // "trial", "op", "tuned", "costs", "times", "whole", "incident"
    std::string file;             // the module; empty: it is not of one file
    std::string device;           // id; empty: it is not of one device
    std::string outcome;          // "good", "crashed", "wrong", "right", "fastest"
    std::string reason;           // a sentence; may be empty
    int64_t when = 0, until = 0;  // seconds since 1970; 0: until something changes
    int attempts = 1;             // of a trial
    bool by_hand = false;         // `backplane modules trust`
    bool expired = false;         // its end has come: it counts for nothing
};

// `folder_records`: base::place_of_folder_records(), where other registries remember trials; empty: none.
std::vector<Remembered> all_remembered(const std::filesystem::path& state_folder,
                                       const std::filesystem::path& folder_records = {});
size_t forget_all_remembered(const std::filesystem::path& state_folder,
                             const std::filesystem::path& folder_records = {});  // how many things went
// What is remembered of one module file, under whatever options and drivers; links are followed. How many things went.
size_t forget_remembered(const std::filesystem::path& state_folder, const std::filesystem::path& file,
                         const std::filesystem::path& folder_records = {});

// "remembered since 2026-11-22 05:10 UTC until 2026-12-22 05:10 UTC; `backplane modules forget FILE` has it forgotten": the end of a
// sentence in a report. The command names the state folder where that is not the user's own. Until 0: no end is told.
std::string remembered_text(int64_t when, int64_t until, const std::filesystem::path& file,
                            const std::filesystem::path& state_folder);

}  // namespace backplane::registry
