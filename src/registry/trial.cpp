#include "registry/trial.hpp"

#include <array>
#include <span>
#include <sstream>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/process.hpp"
#include "base/user_folder.hpp"
#include "base/wall_clock.hpp"
#include "discovery/sources.hpp"
#include "registry/remembered.hpp"

namespace backplane::registry {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kDay = 86400;
constexpr int64_t kQuarantine = 30 * kDay;  // a driver may have been repaired in a way that nobody declared
constexpr int64_t kHung = kDay / 24;        // a time-out says little: the machine may have been busy; next time it gets more

int64_t in_future(int64_t seconds) {
    return seconds +
           std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What the child said, line by line: "step NAME", then "good" or "failed CODE TEXT", "changed WHAT", then "end".
struct Record {
    std::string step = "start", failure, changed;
    ReasonCode code = ReasonCode::none;  // of the failure
    bool good = false, complete = false;
};

Record parse(const std::string& text) {
    Record record;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, 5, "step ") == 0) record.step = line.substr(5, 32);
        if (line == "good") record.good = true;
        if (line.compare(0, 7, "failed ") == 0) {
            const size_t start = std::min(line.find(' ', 7), line.size() - 1) + 1;
            record.code = reason_code_of(line.substr(7, start - 8)).value_or(ReasonCode::open_failed);
            record.failure = line.substr(start, 1100);
        }
        if (line.compare(0, 8, "changed ") == 0) record.changed = line.substr(8, 512);
        if (line == "end") record.complete = true;
    }
    return record;
}

std::string last_words(const std::string& output) {
    std::string text;
    for (const char c : output) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    text.erase(text.find_last_not_of(' ') + 1);
    if (text.empty()) return {};
    return "; its last output: \"" + (text.size() > 200 ? "..." + text.substr(text.size() - 200) : text) + '"';
}

RememberedTrial judge(const base::ChildOutcome& child, double limit) {
    RememberedTrial t;
    const Record record = parse(child.record);
    const std::string where = " during '" + record.step + "'";
    t.until = in_future(kQuarantine);
    if (child.timed_out) {
        t.trial = Trial::hung;
        std::ostringstream seconds;
        seconds << limit;
        t.reason = "did not come back within " + seconds.str() + " s" + where;
        t.until = in_future(kHung);
    } else if (child.signal != 0) {
        t.trial = Trial::crashed;
        t.reason = "crashed with " + base::name_of_signal(child.signal) + where;
    } else if (record.complete && record.good && child.exit_code <= 0) {
        t.trial = Trial::good;
        t.until = 0;
        if (!record.changed.empty()) t.reason = "it changes " + record.changed + " of the process";
        return t;
    } else if (record.complete && !record.failure.empty()) {
        t.trial = Trial::failed;
        t.code = record.code;
        t.reason = record.failure;
        t.until = in_future(kDay / 24);
        return t;
    } else if (child.exit_code >= 0) {
        t.trial = Trial::exited;
        t.reason = "ended the process with exit code " + std::to_string(child.exit_code) + where;
    } else {
        t.trial = Trial::garbage;
        t.reason = "left no complete record" + where;
    }
    t.reason += last_words(child.output);
    return t;
}

}  // namespace

namespace {

// The first of these folders that has a probe which may be trusted.
fs::path probe_in(std::span<const fs::path> places) {
    // By the product's own prefix, as its modules are: another product's may be of another version.
    const std::string name = std::string(discovery::module_prefix()) + "probe" + std::string(base::program_ending());
    for (const fs::path& place : places) {
        const base::FileStatus status = base::status_of(place / name);
        if (status.kind != base::FileStatus::Kind::regular || !status.trusted()) continue;
        // The program itself may be a link; its folder, too, is one that only its owner writes to.
        fs::path real = base::real_path(place / name);
        if (!real.empty() && discovery::distrust_of_folder(real.parent_path()).code == ReasonCode::none) return real;
    }
    return {};
}

}  // namespace

fs::path find_probe_program() {
    std::vector<fs::path> places;
    for (const fs::path& file : {base::own_file(), base::executable_file()}) {
        if (file.empty()) continue;  // else the current directory would be searched
        for (fs::path& place : discovery::places_around(file)) places.push_back(std::move(place));
        places.push_back(file.parent_path().parent_path() / "libexec" / "backplane");
    }
    if (const fs::path installed = discovery::installed_folder(); !installed.empty()) places.push_back(installed);
    return probe_in(places);
}

fs::path state_folder(const ContextOptions& options) {
    if (!options.state_folder.empty()) return options.state_folder;
    if (options.use_environment)
        if (const auto given = base::environment("BACKPLANE_STATE_DIR")) return *given;
    const fs::path cache = base::user_cache_folder();
    return cache.empty() ? fs::path() : cache / "backplane" / "verdicts";
}

Trials::Trials(const ContextOptions& options, const std::map<std::string, std::string>& module_options)
    : policy_(options.probe), limit_(options.probe_limit), program_(options.probe_program), store_(state_folder(options)) {
    if (program_.empty()) program_ = find_probe_program();
    if (options.use_environment) {
        const std::string policy = base::environment("BACKPLANE_PROBE").value_or("");
        if (policy == "always") policy_ = ProbePolicy::always;
        if (policy == "first") policy_ = ProbePolicy::first;
        if (policy == "never") policy_ = ProbePolicy::never;
    }
    for (const auto& [name, value] : module_options) {
        arguments_.push_back(name + "=" + value);
        options_text_ += name + "=" + value + "\n";
    }
}

// A program that links this library from an install tree has no probe around it; the tree has one beside its modules.
fs::path Trials::program_for(const discovery::Inspection& module) const {
    const std::array beside{module.path.parent_path()};
    return program_.empty() ? probe_in(beside) : program_;
}

RememberedTrial Trials::try_in_child(const discovery::Inspection& module, int attempt) const {
    const auto limit = limit_ * attempt;
    std::vector<std::string> arguments{module.path.string(),
                                       std::to_string(std::chrono::ceil<std::chrono::seconds>(limit).count())};
    arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
    const base::ChildOutcome child = base::run_child(program_for(module), arguments, limit);
    RememberedTrial t;
    if (child.started) {
        t = judge(child, std::chrono::duration<double>(limit).count());
    } else {
        t.reason = child.problem;
    }
    t.file = module.path.string();
    t.when = base::unix_seconds();
    t.attempts = attempt;
    return t;
}

Trials::Answer Trials::ask(const discovery::Inspection& module) const {
    if (policy_ == ProbePolicy::never || !module.wants_trial()) return {};
    if (program_for(module).empty())
        return {ReasonCode::none,
                {},
                {},
                module.path.filename().string() + " was not tried in a child process: there is no " +
                    std::string(discovery::module_prefix()) + "probe beside this library or the module"};
    const std::string key = key_of(module);
    std::optional<RememberedTrial> known = store_.find(key);
    if (known && known->by_hand && known->trial == Trial::good) return {};
    std::string problem;  // of remembering
    const int attempt = known && known->trial == Trial::hung ? std::min(known->attempts + 1, 6) : 1;
    if (!known || known->expired || policy_ == ProbePolicy::always) {
        known = try_in_child(module, attempt);
        if (known->trial == Trial::not_tried)
            return {ReasonCode::none,
                    {},
                    {},
                    module.path.filename().string() + " was not tried in a child process: " + known->reason};
        problem = store_.remember(key, *known);
    }
    std::string note;
    if (!problem.empty())
        note = "trials of modules cannot be remembered and are made at each start: " + problem +
               "; name a folder that can be written to with BACKPLANE_STATE_DIR";
    if (known->trial == Trial::good) return {ReasonCode::none, known->reason, {}, note};
    const std::string remembered =
        problem.empty() ? remembered_text(known->when, known->until, module.path, store_.folder()) : std::string();
    if (known->trial == Trial::failed) return {known->code, known->reason, remembered, note};
    const std::string remedy = "update its driver or the module" + (remembered.empty() ? "" : "; " + remembered);
    const ReasonCode code = known->trial == Trial::hung ? ReasonCode::timed_out : ReasonCode::quarantined;
    return {code, known->reason + " when it was tried in a child process", remedy, note};
}

}  // namespace backplane::registry
