// First contact: a module that is not known to be good is tried in a child process before it comes into this one.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "backplane/context.hpp"
#include "discovery/inspect.hpp"
#include "registry/verdict_store.hpp"

namespace backplane::registry {

class Trials {
public:
    Trials(const ContextOptions& options, const std::map<std::string, std::string>& module_options);

    // May this module be loaded here? No code: yes, and the reason is what to know of it. Consults what is remembered, tries it in a child when nothing is, remembers.
    struct Answer {
        ReasonCode code = ReasonCode::none;
        std::string reason, remedy;
        std::string note;  // for the report: it was not tried, and why
    };
    [[nodiscard]] Answer ask(const discovery::Inspection& module) const;

    [[nodiscard]] const VerdictStore& store() const noexcept { return store_; }
    [[nodiscard]] std::string key_of(const discovery::Inspection& module) const {
        return VerdictStore::key_of(module, options_text_);
    }

private:
    [[nodiscard]] std::filesystem::path program_for(const discovery::Inspection& module) const;  // empty: there is none
    [[nodiscard]] RememberedTrial try_in_child(const discovery::Inspection& module, int attempt) const;

    ProbePolicy policy_;
    std::chrono::milliseconds limit_;
    std::filesystem::path program_;
    std::vector<std::string> arguments_;  // options for the module
    std::string options_text_;
    VerdictStore store_;
};

// The program that tries modules: `backplane-probe` beside this library's modules; empty when there is none that may be trusted.
std::filesystem::path find_probe_program();

// Where verdicts are remembered: what the application says, BACKPLANE_STATE_DIR, else `backplane/verdicts` in the user's cache folder.
std::filesystem::path state_folder(const ContextOptions& options);

}  // namespace backplane::registry
