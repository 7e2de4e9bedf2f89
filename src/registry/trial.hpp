// First contact: a module that is not known to be good is tried in a child process before it comes into this one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "base/kept_open.hpp"
#include "discovery/inspect.hpp"
#include "registry/verdict_store.hpp"

namespace backplane::registry {

// A driver with more devices than that shows with these whether it works.
inline constexpr uint32_t kMostDevicesTried = 8;

// Not for several threads at a time: the lock of its context is around all of it.
class Trials {
public:
    Trials(const ContextOptions& options, const std::map<std::string, std::string>& module_options);

    // Tries those of which nothing is remembered, side by side, within what is left of the budget; ask() then knows. Throws Error(cancelled).
    void prepare(std::span<const discovery::Inspection* const> modules);

    // May this module be loaded here? No code: yes, and the reason is what to know of it. Consults what is remembered, tries it in a child when
    // nothing is, remembers. One that wants a trial and cannot have one now is not loaded now. Throws Error(cancelled).
    struct Answer {
        ReasonCode code = ReasonCode::none;
        std::string reason, remedy;
        std::vector<std::string> notes;   // for the report: that nothing can be remembered, what it does to its process
        std::vector<DeviceFault> faults;  // devices of it that are not to be chosen
        std::vector<DevicePlace> left;    // of which nothing is known yet: ask() about them before they are opened
        bool put_back = false;            // it changes what a host wants as it was: base::KeepProcessState
        bool keep_mapped = false;         // never to be unmapped, whatever it says of itself
        base::SharedKeptOpen kept_open;   // what its trial just left open, to be let go of once a device of it is open here
    };
    [[nodiscard]] Answer ask(const discovery::Inspection& module);

    // One of the devices that a trial left, which is wanted now: tried, and remembered with the others. What is wrong with it; no reason: nothing.
    struct Late {
        DeviceFault fault;
        bool put_back = false, keep_mapped = false;  // as above
        std::string note;                            // for the report
    };
    [[nodiscard]] Late ask(const discovery::Inspection& module, const DevicePlace& device);

    // A new search: the budget is whole again.
    void begin() noexcept {
        spent_ = {};
        fresh_.clear();
        module_keys_.clear();
    }

    // What is remembered of its trial, and that it is trusted, does not count.
    void forget(const discovery::Inspection& module);

    // A hash of all that the module is and reads: its file, options, libraries, drivers. Asked for once in a search.
    [[nodiscard]] const std::string& module_key(const discovery::Inspection& module);

private:
    [[nodiscard]] std::filesystem::path program_for(const discovery::Inspection& module) const;  // empty: there is none
    // And the program that tries it: what another one found out, this one may see differently.
    [[nodiscard]] std::string key_of(const discovery::Inspection& module);
    [[nodiscard]] std::optional<RememberedTrial> find(const std::string& key, const std::string& module_key) const;
    using Clock = std::chrono::steady_clock;
    struct Wanted {
        const discovery::Inspection* module;
        std::string key;
        int attempt;
        RememberedTrial outcome;
        std::string problem;             // of remembering it
        base::SharedKeptOpen kept_open;  // by the child
        std::optional<uint32_t> only;    // the place of a device
    };
    [[nodiscard]] bool is_wanted(const discovery::Inspection& module) const;
    void try_side_by_side(std::vector<Wanted>& wanted);
    [[nodiscard]] RememberedTrial try_in_child(Wanted& wanted, Clock::time_point deadline) const;
    [[nodiscard]] std::vector<std::string> arguments_for(const Wanted& wanted, std::chrono::milliseconds limit,
                                                         const std::vector<DeviceFault>& skipped) const;
    [[nodiscard]] Answer not_tried(const discovery::Inspection& module, const std::string& why) const;

    ProbePolicy policy_;
    std::chrono::milliseconds limit_, budget_, spent_{};
    const std::atomic<uint32_t>* cancel_;
    mutable std::optional<std::filesystem::path> program_;  // looked for when the first is to be tried
    std::vector<std::string> arguments_;                    // options for the module
    std::string options_text_;
    VerdictStore store_;
    std::map<std::string, Wanted> fresh_;  // of prepare(), until asked for
    std::map<std::filesystem::path, std::string> module_keys_;
};

// Is that the device at `place` of its module's list?
bool is_it(const DevicePlace& known, const DeviceInfo& device, size_t place) noexcept;

// The program that tries modules: `backplane-probe` beside this library's modules; empty when there is none that may be trusted.
std::filesystem::path find_probe_program();
// The first of these folders that has one; `ending`: of programs there, ".exe".
std::filesystem::path probe_in(std::span<const std::filesystem::path> places, std::string_view ending);

// Where verdicts are remembered: what the application says, BACKPLANE_STATE_DIR, else `backplane/verdicts` in the user's cache folder.
std::filesystem::path state_folder(const ContextOptions& options);

}  // namespace backplane::registry
