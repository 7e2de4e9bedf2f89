// What earlier processes met with in a module, and what that means for loading it now: once, not at every start.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backplane/context.hpp"
#include "discovery/inspect.hpp"
#include "registry/incident.hpp"
#include "registry/mark.hpp"
#include "registry/trial.hpp"

namespace backplane::registry {

// Not for several threads at a time: the lock of its context is around all of it. Modules that want no trial in a child process have no
// history, and cost nothing.
class History {
public:
    using Note = std::function<void(const std::string&)>;  // for the report
    History(const ContextOptions& options, Note note);

    // Before modules are tried: a process ended inside this one, so what is remembered of its trial does not count.
    void prepare(const discovery::Inspection& module, Trials& trials) const;
    void read_marks() const { incidents_.read_marks(); }

    // Not to be used, and so not to be tried either.
    [[nodiscard]] bool keeps_out(const discovery::Inspection& module, Trials& trials) const;

    // Before its trial. Throws LoadFailure when it is kept out.
    void before_trial(const discovery::Inspection& module, Trials& trials) const;
    // After it. Throws LoadFailure when it went well, but the incident was of a kind that keeps the module out all the same.
    enum class Outcome { good, bad, not_tried };
    void after_trial(const discovery::Inspection& module, Trials& trials, Outcome outcome) const;

    // To be given to the module when it is loaded; null: none is needed, or can be made.
    [[nodiscard]] std::unique_ptr<Mark> mark(const discovery::Inspection& module) const;

private:
    [[nodiscard]] std::optional<Incident> incident_of(const discovery::Inspection& module) const;

    std::filesystem::path state_folder_;
    bool note_faults_;
    LogSink log_;
    Note note_;
    Incidents incidents_;
};

}  // namespace backplane::registry
