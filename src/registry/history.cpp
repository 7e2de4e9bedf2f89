#include "registry/history.hpp"

#include "base/hash.hpp"
#include "base/wall_clock.hpp"
#include "registry/load_failure.hpp"

namespace backplane::registry {

namespace {

bool has_history(const discovery::Inspection& module) { return !module.path.empty() && module.wants_trial(); }

// Which build of the module; and, after it, which driver and options.
std::string build_key(const discovery::Inspection& module) {
    const base::FileStatus& s = module.status;
    return base::hexadecimal(base::hash_of(std::to_string(s.volume) + "/" + std::to_string(s.number) + "/" +
                                           std::to_string(s.size) + "/" + std::to_string(s.modified_ns) + "/" +
                                           module.binary.build_id));
}
std::string full_key(const discovery::Inspection& module, Trials& trials) {
    return build_key(module) + "|" + base::hexadecimal(base::hash_of(trials.module_key(module)));
}

LoadFailure kept_out(const discovery::Inspection& module, const Incident& incident) {
    return {ReasonCode::quarantined,
            "it is kept out until " + base::utc_text(incident.kept_until) + ": " + incident.text() +
                ", and a trial in a child process does not show why",
            "update its driver or the module; `backplane modules forget " + module.path.string() + "` has it used again"};
}

}  // namespace

History::History(const ContextOptions& options, Note note)
    : state_folder_(registry::state_folder(options)),
      note_faults_(options.note_faults),
      log_(options.log),
      note_(std::move(note)),
      incidents_(state_folder_) {}

std::optional<Incident> History::incident_of(const discovery::Inspection& module) const {
    if (!has_history(module)) return std::nullopt;
    std::optional<Incident> incident = incidents_.find(module.path);
    if (!incident || incident->key.starts_with(build_key(module))) return incident;
    incidents_.forget(module.path);
    return std::nullopt;
}

void History::prepare(const discovery::Inspection& module, Trials& trials) const {
    const std::optional<Incident> incident = incident_of(module);
    if (incident && incident->to_try) trials.forget(module);
}

bool History::keeps_out(const discovery::Inspection& module, Trials& trials) const {
    const std::optional<Incident> incident = incident_of(module);
    return incident && incident->kept_out(base::unix_seconds()) && incident->key == full_key(module, trials);
}

void History::before_trial(const discovery::Inspection& module, Trials& trials) const {
    const std::optional<Incident> incident = incident_of(module);
    if (!incident || !incident->kept_out(base::unix_seconds())) return;
    if (incident->key == full_key(module, trials)) throw kept_out(module, *incident);
    incidents_.forget(module.path);  // the driver is another one now
}

void History::after_trial(const discovery::Inspection& module, Trials& trials, Outcome outcome) const {
    std::optional<Incident> incident = incident_of(module);
    if (!incident || !incident->to_try || outcome == Outcome::not_tried) return;
    const std::string name = module.path.filename().string();
    const std::string again = name + ": " + incident->text() + "; it was tried again in a child process";
    const std::string key = full_key(module, trials);
    if (outcome == Outcome::bad) {
        incidents_.tried(*incident, key);
        note_(again);
        return;
    }
    incidents_.settle(*incident, key, base::unix_seconds());
    if (incident->kept_until != 0) throw kept_out(module, *incident);
    note_(again + ", which it passed, and is used");
}

std::unique_ptr<Mark> History::mark(const discovery::Inspection& module) const {
    if (!has_history(module)) return nullptr;
    std::string problem;
    std::unique_ptr<Mark> mark = Mark::make(state_folder_, build_key(module), module.path.string(), note_faults_, problem);
    if (!mark && !problem.empty() && log_)
        log_(LogLevel::debug, module.path.filename().string() + " is used without a mark: " + problem);
    return mark;
}

}  // namespace backplane::registry
