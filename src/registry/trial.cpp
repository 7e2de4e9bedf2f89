#include "registry/trial.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <locale>
#include <span>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/process.hpp"
#include "base/user_folder.hpp"
#include "base/wall_clock.hpp"
#include "discovery/sources.hpp"
#include "discovery/trial_key.hpp"
#include "registry/remembered.hpp"
#include "registry/trial_record.hpp"

namespace backplane::registry {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kMostAttempts = 6;
constexpr size_t kMostAtATime = 8;

// "2.5", in seconds.
std::optional<milliseconds> seconds_of(const char* variable) {
    const std::optional<std::string> given = base::environment(variable);
    if (!given) return std::nullopt;
    std::istringstream text(*given);
    text.imbue(std::locale::classic());
    double seconds = 0;
    constexpr double kDay = 86400;
    if (!(text >> seconds) || !text.eof() || !(seconds > 0 && seconds <= kDay)) return std::nullopt;
    return std::chrono::ceil<milliseconds>(std::chrono::duration<double>(seconds));
}

std::string in_seconds(milliseconds time) {
    std::ostringstream text;
    text << std::chrono::duration<double>(time).count() << " s";
    return text.str();
}

[[noreturn]] void cancelled() {
    throw Error(Code::cancelled, "the search for devices was cancelled while a module was tried");
}

RememberedTrial untried(std::string why) {
    RememberedTrial t;
    t.trial = Trial::not_tried;
    t.reason = std::move(why);
    return t;
}

}  // namespace

fs::path probe_in(std::span<const fs::path> places, std::string_view ending) {
    // By the product's own prefix, as its modules are: another product's may be of another version.
    const std::string name = std::string(discovery::module_prefix()) + "probe" + std::string(ending);
    for (const fs::path& place : places) {
        const base::FileStatus status = base::status_of(place / name);
        if (status.kind != base::FileStatus::Kind::regular || !status.trusted()) continue;
        // The program itself may be a link; its folder, too, is one that only its owner writes to.
        fs::path real = base::real_path(place / name);
        if (!real.empty() && discovery::distrust_of_folder(real.parent_path()).code == ReasonCode::none) return real;
    }
    return {};
}

fs::path find_probe_program() {
    std::vector<fs::path> places;
    for (const fs::path& file : {base::own_file(), base::executable_file()}) {
        if (file.empty()) continue;  // else the current directory would be searched
        for (fs::path& place : discovery::places_around(file)) places.push_back(std::move(place));
        places.push_back(file.parent_path().parent_path() / "libexec" / "backplane");
    }
    for (fs::path& installed : discovery::installed_folders()) places.push_back(std::move(installed));
    return probe_in(places, base::program_ending());
}

bool is_it(const DevicePlace& known, const DeviceInfo& device, size_t place) noexcept {
    if (!known.identity.empty() || !device.identity.empty()) return known.identity == device.identity;
    return known.place == place && known.name == device.name;
}

fs::path state_folder(const ContextOptions& options) {
    if (!options.state_folder.empty()) return options.state_folder;
    if (options.use_environment)
        if (const auto given = base::environment("BACKPLANE_STATE_DIR")) return *given;
    const fs::path cache = base::user_cache_folder();
    return cache.empty() ? fs::path() : cache / "backplane" / "verdicts";
}

Trials::Trials(const ContextOptions& options, const std::map<std::string, std::string>& module_options)
    : policy_(options.probe),
      limit_(options.probe_limit),
      budget_(options.probe_budget),
      cancel_(options.cancel),
      store_(state_folder(options)) {
    if (!options.probe_program.empty()) program_ = options.probe_program;
    if (options.use_environment) {
        const std::string policy = base::environment("BACKPLANE_PROBE").value_or("");
        if (policy == "always") policy_ = ProbePolicy::always;
        if (policy == "first") policy_ = ProbePolicy::first;
        if (policy == "never") policy_ = ProbePolicy::never;
        limit_ = seconds_of("BACKPLANE_PROBE_LIMIT").value_or(limit_);
        budget_ = seconds_of("BACKPLANE_PROBE_BUDGET").value_or(budget_);
    }
    budget_ = std::max(budget_, limit_);
    for (const auto& [name, value] : module_options) {
        arguments_.push_back(name + "=" + value);
        options_text_ += name + "=" + value + "\n";
    }
}

// A program that links this library from an install tree has no probe around it; the tree has one beside its modules. Looked for by key_of(),
// before there are several threads.
fs::path Trials::program_for(const discovery::Inspection& module) const {
    if (!program_) program_ = find_probe_program();
    const std::array beside{module.path.parent_path()};
    return program_->empty() ? probe_in(beside, base::program_ending()) : *program_;
}

// A module without a file of its own is in this process already, by the application's own naming.
bool Trials::is_wanted(const discovery::Inspection& module) const {
    return policy_ != ProbePolicy::never && module.wants_trial() && module.status.kind == base::FileStatus::Kind::regular;
}

const std::string& Trials::module_key(const discovery::Inspection& module) {
    const auto [place, is_new] = module_keys_.try_emplace(module.path);
    if (is_new) place->second = discovery::trial_key(module, options_text_);
    return place->second;
}

std::string Trials::key_of(const discovery::Inspection& module) {
    return discovery::trial_key_with(module_key(module), program_for(module));
}

// What a person trusts is trusted whichever program would try it.
std::optional<RememberedTrial> Trials::find(const std::string& key, const std::string& module_key) const {
    std::optional<RememberedTrial> known = store_.find(module_key);
    return known && known->by_hand ? known : store_.find(key);
}

void Trials::forget(const discovery::Inspection& module) {
    store_.forget(module_key(module));
    store_.forget(key_of(module));
}

void Trials::prepare(std::span<const discovery::Inspection* const> modules) {
    std::vector<Wanted> wanted;
    for (const discovery::Inspection* module : modules) {
        if (!is_wanted(*module)) continue;
        std::string key = key_of(*module);
        if (fresh_.count(key) != 0) continue;
        const std::optional<RememberedTrial> known = find(key, module_key(*module));
        const bool trusted = known && known->by_hand && known->trial == Trial::good;
        if (trusted || (known && !known->expired && policy_ != ProbePolicy::always)) {
            fresh_[key] = {nullptr, key, known->attempts, *known, {}, {}, {}};
            continue;
        }
        const int attempt = known && known->trial == Trial::hung ? std::min(known->attempts + 1, kMostAttempts) : 1;
        wanted.push_back({module, std::move(key), attempt, {}, {}, {}, {}});
    }
    if (wanted.empty()) return;
    try_side_by_side(wanted);
    for (Wanted& w : wanted) {
        w.outcome.file = w.module->path.string();
        w.outcome.when = base::unix_seconds();
        w.outcome.attempts = w.attempt;
        if (w.outcome.trial != Trial::not_tried) w.problem = store_.remember(w.key, w.outcome);
        fresh_[w.key] = w;
    }
}

// Children wait for drivers and disks more than they compute.
void Trials::try_side_by_side(std::vector<Wanted>& wanted) {
    const Clock::time_point start = Clock::now();
    const Clock::time_point deadline = start + budget_ - std::min(spent_, budget_);
    std::atomic<size_t> next{0};
    std::atomic<bool> was_cancelled{false};
    auto work = [&] {
        for (size_t i = 0; (i = next++) < wanted.size() && !was_cancelled;) {
            try {
                wanted[i].outcome = try_in_child(wanted[i], deadline);
            } catch (const Error&) {
                was_cancelled = true;
            } catch (const std::exception& error) {
                wanted[i].outcome = untried(error.what());
            }
        }
    };
    const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 2, kMostAtATime);
    std::vector<std::thread> helpers;
    try {
        while (helpers.size() + 1 < std::min(most, wanted.size())) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // no thread to be had: fewer at a time
    }
    work();
    for (std::thread& helper : helpers) helper.join();
    spent_ += std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    if (was_cancelled) cancelled();
}

std::vector<std::string> Trials::arguments_for(const Wanted& wanted, milliseconds limit,
                                               const std::vector<DeviceFault>& skipped) const {
    std::vector<std::string> arguments{wanted.module->path.string(),
                                       std::to_string(std::chrono::ceil<std::chrono::seconds>(limit).count())};
    if (wanted.only) arguments.push_back("--only=" + std::to_string(*wanted.only));
    for (const DeviceFault& fault : skipped) arguments.push_back("--skip=" + std::to_string(fault.place));
    arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
    return arguments;
}

// Where a device ends the child, the module is tried once more without that device, so that one bad device costs no other.
RememberedTrial Trials::try_in_child(Wanted& wanted, Clock::time_point deadline) const {
    const fs::path program = program_for(*wanted.module);
    if (program.empty())
        return untried("there is no " + std::string(discovery::module_prefix()) +
                       "probe that may be trusted beside this library or the module");
    std::vector<DeviceFault> skipped;
    std::optional<RememberedTrial> first;
    bool again = false;
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
        const milliseconds limit = std::min(limit_ * wanted.attempt, left);
        const std::string used_up = "the time for trials, " + in_seconds(budget_) + ", was used up";
        if (limit.count() <= 0) return first.value_or(untried(used_up));
        base::ChildOutcome child =
            base::run_supervised(program, arguments_for(wanted, limit, skipped), limit, left, cancel_);
        if (child.cancelled) cancelled();
        if (!child.started) return untried(child.problem);
        const TrialRecord record(child.record);
        if (child.cut_short) {
            if (again)
                return untried("the process that tried it was ended from outside, twice, during '" + record.step + "'");
            again = true;
            continue;
        }
        // Others had left it too little, or it was busy to the end: that it did not come back in time says nothing.
        if (child.timed_out && (left < limit_ * 9 / 10 || child.silent < limit_ / 2))
            return first.value_or(untried(used_up));
        RememberedTrial outcome = judge_trial(child, record, limit);
        if (outcome.trial == Trial::good) {
            outcome.faults.insert(outcome.faults.begin(), skipped.begin(), skipped.end());
            wanted.kept_open = std::move(child.kept_open);
            if (first) outcome.until = outcome.until == 0 ? first->until : std::min(outcome.until, first->until);
            return outcome;
        }
        if (!first) first = outcome;
        const std::optional<DeviceFault> fault = fault_of_device(child, record);
        if (!fault) return outcome;
        skipped.push_back(*fault);
        if (skipped.size() >= std::min(record.devices, kMostDevicesTried)) return *first;
    }
}

Trials::Answer Trials::not_tried(const discovery::Inspection& module, const std::string& why) const {
    Answer answer;
    answer.code = ReasonCode::not_tried;
    answer.reason = "it could not be tried in a child process: " + why;
    answer.remedy =
        program_for(module).empty()
            ? "install " + std::string(discovery::module_prefix()) +
                  "probe beside the module files, or load it untried with BACKPLANE_PROBE=never"
            : "start again when the system has processes, descriptors and time to spare (BACKPLANE_PROBE_BUDGET), "
              "or load it untried with BACKPLANE_PROBE=never";
    return answer;
}

Trials::Answer Trials::ask(const discovery::Inspection& module) {
    if (!is_wanted(module)) return {};
    const std::string key = key_of(module);
    const std::array<const discovery::Inspection*, 1> alone{&module};
    if (fresh_.count(key) == 0) prepare(alone);
    const Wanted tried = std::move(fresh_.extract(key).mapped());
    const RememberedTrial& known = tried.outcome;
    Answer answer;
    if (!tried.problem.empty())
        answer.notes.push_back("trials of modules cannot be remembered and are made at each start: " + tried.problem +
                               "; name a folder that can be written to with BACKPLANE_STATE_DIR");
    const std::string remembered =
        tried.problem.empty() ? remembered_text(known.when, known.until, module.path, store_.folder()) : std::string();
    answer.reason = known.reason;
    switch (known.trial) {
        case Trial::good:
            answer.faults = known.faults;
            answer.left = known.left;
            answer.put_back = known.put_back;
            answer.keep_mapped = known.keep_mapped;
            answer.kept_open = tried.kept_open;
            if (known.put_back || known.keep_mapped || known.left_processes)
                answer.notes.push_back(module.path.filename().string() + ": " + known.reason);
            return answer;
        case Trial::not_tried: return not_tried(module, known.reason);
        case Trial::failed:
            answer.code = known.code;
            answer.remedy = remembered;
            return answer;
        case Trial::hung: answer.code = ReasonCode::timed_out; break;
        default: answer.code = ReasonCode::quarantined; break;
    }
    answer.reason += " when it was tried in a child process";
    answer.remedy = "update its driver or the module" + (remembered.empty() ? "" : "; " + remembered);
    return answer;
}

Trials::Late Trials::ask(const discovery::Inspection& module, const DevicePlace& device) {
    Wanted wanted{&module, key_of(module), 1, {}, {}, {}, device.place};
    RememberedTrial tried = try_in_child(wanted, Clock::now() + budget_);
    Late late{{device, {}, false}, tried.put_back, tried.keep_mapped, {}};
    const auto ours = std::find_if(tried.faults.begin(), tried.faults.end(),
                                   [&](const DeviceFault& f) { return f.place == device.place; });
    if (tried.trial != Trial::good) {  // of the moment, or the module's: whoever tries all of it finds out
        late.fault.reason = "could not be tried in a child process: " + tried.reason;
        late.fault.ends_process = true;
        return late;
    }
    if (ours != tried.faults.end()) late.fault = *ours;
    if (tried.put_back || tried.keep_mapped || tried.left_processes)
        late.note = module.path.filename().string() + ": " + tried.reason;
    // By now another process may have tried this device, or another one of the module.
    std::optional<RememberedTrial> known = find(wanted.key, module_key(module));
    if (!known || known->trial != Trial::good || known->by_hand) return late;
    std::erase(known->left, device);
    if (!late.fault.reason.empty()) known->faults.push_back(late.fault);
    if (tried.until != 0) known->until = known->until == 0 ? tried.until : std::min(known->until, tried.until);
    known->put_back |= tried.put_back;
    known->keep_mapped |= tried.keep_mapped;
    known->left_processes |= tried.left_processes;
    if (known->reason.empty()) known->reason = tried.reason;
    static_cast<void>(store_.remember(wanted.key, *known));  // where it cannot be, the report has said so
    return late;
}

}  // namespace backplane::registry
