#include "backplane/context.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "backplane/note.h"
#include "base/environment.hpp"
#include "base/keep_process_state.hpp"
#include "discovery/discover.hpp"
#include "registry/choice_text.hpp"
#include "registry/device_state.hpp"
#include "registry/filter.hpp"
#include "registry/given_options.hpp"
#include "registry/history.hpp"
#include "registry/module.hpp"
#include "registry/trial.hpp"

extern "C" const bp_static_module backplane_linked_in_modules[];

namespace backplane {

namespace {

using discovery::Rated;
using registry::Filter;
using registry::HostServices;
using registry::label_of;
using registry::LoadFailure;
using registry::Module;

bool same_file(const discovery::Inspection& a, const discovery::Inspection& b) {
    return a.path == b.path && a.status.volume == b.status.volume && a.status.number == b.status.number &&
           a.status.modified_ns == b.status.modified_ns && a.status.size == b.status.size && a.binary == b.binary;
}

LogLevel level_from(const std::string& name) {
    if (name == "debug") return LogLevel::debug;
    if (name == "warning") return LogLevel::warning;
    if (name == "error") return LogLevel::error;
    return LogLevel::info;
}

std::string counted(uint32_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

struct Context::Impl {
    struct Found {
        Rated rated;
        bool decided = false;  // loaded, or it is said why not
    };
    struct Loaded {
        std::string backend;
        std::shared_ptr<Module> module;
        size_t place = 0;  // among those found
        registry::Trials::Answer trial;
        bool has_devices = false;  // it has listed some
    };
    struct Listed {
        DeviceInfo info;
        uint64_t id = 0;
        std::shared_ptr<Module> module;
        bool ends_process = false;                  // or hangs it
        std::optional<registry::DevicePlace> left;  // by the module's trial: to be tried before it is opened
    };

    ContextOptions options;
    Filter filter;              // the application's, or the environment's
    std::string filter_source;  // for sentences: "BACKPLANE_DEVICE"
    std::string cpu_mask;
    std::shared_ptr<const HostServices> services;
    std::unique_ptr<registry::Trials> trials;
    std::unique_ptr<const registry::History> history;
    mutable registry::GivenOptions given;

    mutable std::mutex mutex;  // of everything below
    std::vector<Source> sources;
    std::vector<Found> found;
    std::vector<Loaded> loaded;  // in the order of those found
    mutable std::vector<std::weak_ptr<Device::State>> open_devices;
    mutable std::vector<std::string> problems;  // what went wrong since the last scan

    explicit Impl(ContextOptions wanted) : options(std::move(wanted)) {
        auto variable = [&](const char* name) {
            return options.use_environment ? base::environment(name).value_or("") : std::string();
        };
        options.state_folder = registry::state_folder(options);  // once: it asks for folders that may be far away
        filter_source = options.device_filter.empty() ? "BACKPLANE_DEVICE" : options.device_filter_name;
        filter = Filter(options.device_filter.empty() ? variable("BACKPLANE_DEVICE") : options.device_filter);
        cpu_mask = options.cpu_mask.empty() ? variable("BACKPLANE_CPU_MASK") : options.cpu_mask;
        given = registry::GivenOptions(options.options, cpu_mask, options.strict_options,
                                       options.strict_options && !options.cpu_mask.empty());
        auto host = std::make_shared<HostServices>();
        host->parallel = options.parallel;
        host->options = options.options;
        if (!cpu_mask.empty()) host->options["host.cpu-mask"] = cpu_mask;
        host->log = options.log;
        host->least = level_from(variable("BACKPLANE_LOG"));
        host->cache = registry::open_cache(options, *host);
        services = std::move(host);
        trials = std::make_unique<registry::Trials>(options, services->options);
        history = std::make_unique<const registry::History>(options, [this](const std::string& note) { remember(note); });
    }

    // Searches and judges anew; nothing is loaded by that.
    void scan() {
        discovery::Discovery discovery = discovery::discover(options, backplane_linked_in_modules, cpu_mask);
        trials->begin();
        sources = std::move(discovery.sources);
        found.clear();
        history->read_marks();
        for (Rated& rated : discovery.rated) {
            if (rated.candidate.code == ReasonCode::none) history->prepare(rated.inspection, *trials);
            found.push_back({std::move(rated)});
        }
        problems = std::move(discovery.notes);
        std::vector<const Descriptor*> modules;
        bool complete = true;  // of a module that only the system's loader finds nothing is known yet
        for (const Found& f : found)
            if (f.rated.candidate.descriptor)
                modules.push_back(&*f.rated.candidate.descriptor);
            else if (f.rated.candidate.code == ReasonCode::none)
                complete = false;
        given.judge(modules, complete);
    }

    // Decides on what was found and waits: all of it, or the backends that a filter names, and loads the best of each.
    void load(const Filter& used) { load(used.named_backends(waiting_and_loaded())); }
    void load_all() { load(std::nullopt); }
    void load(const std::optional<std::vector<std::string>>& backends, const std::vector<Loaded>& before = {}) {
        auto waits = [&](size_t i) {
            const Candidate& c = found[i].rated.candidate;
            const bool named =
                !backends || (c.code == ReasonCode::none &&
                              std::find(backends->begin(), backends->end(), c.descriptor->backend) != backends->end());
            return !found[i].decided && named;
        };
        try_first_of_each(waits, before);
        for (size_t i = 0; i < found.size(); ++i) {
            if (!waits(i)) continue;
            decide(i, before);
            found[i].decided = true;
            found[i].rated.by_name = {};
        }
    }

    // Trials of the first of each backend at once: what one costs in time, the others cost with it.
    template <class Waits>
    void try_first_of_each(const Waits& waits, const std::vector<Loaded>& before) {
        std::vector<const discovery::Inspection*> first;
        std::vector<std::string_view> backends;
        for (size_t i = 0; i < found.size(); ++i) {
            const Candidate& c = found[i].rated.candidate;
            if (!waits(i) || c.code != ReasonCode::none || loaded_of(c.descriptor->backend) != nullptr) continue;
            if (filter.excludes_backend(c.descriptor->backend)) continue;
            if (std::find(backends.begin(), backends.end(), c.descriptor->backend) != backends.end()) continue;
            if (history->keeps_out(found[i].rated.inspection, *trials))
                continue;  // the next of its backend is the first then
            backends.emplace_back(c.descriptor->backend);
            const bool linked_in = found[i].rated.linked_in != nullptr;
            if (!linked_in && !loaded_before(found[i].rated, before)) first.push_back(&found[i].rated.inspection);
        }
        trials->prepare(first);
    }

    static const Loaded* loaded_before(const Rated& rated, const std::vector<Loaded>& before) {
        for (const Loaded& old : before)
            if (old.backend == rated.candidate.descriptor->backend && same_file(old.module->inspection(), rated.inspection))
                return &old;
        return nullptr;
    }

    void decide(size_t place, const std::vector<Loaded>& before) {
        Rated& rated = found[place].rated;
        Candidate& c = rated.candidate;
        if (c.code != ReasonCode::none) {
            // judged
        } else if (filter.excludes_backend(c.descriptor->backend)) {
            c.code = ReasonCode::excluded_by_filter;
            c.reason = filter_source + " '" + filter.text() + "' excludes its backend";
        } else if (const Loaded* winner = loaded_of(c.descriptor->backend)) {
            c.verdict = Verdict::outranked;
            c.code = ReasonCode::outranked;
            c.reason = label_of(found[winner->place].rated.candidate) + " goes before it";
        } else {
            take(place, before);
        }
        services->say(c.verdict == Verdict::failed ? LogLevel::warning : LogLevel::debug,
                      label_of(c) + ": " + name_of(c.verdict) + (c.reason.empty() ? "" : ": " + c.reason));
    }

    [[nodiscard]] const Loaded* loaded_of(std::string_view backend) const {
        const auto it = std::find_if(loaded.begin(), loaded.end(), [&](const Loaded& l) { return l.backend == backend; });
        return it == loaded.end() ? nullptr : &*it;
    }

    // The backends of all that is or could be loaded.
    [[nodiscard]] std::vector<std::string> waiting_and_loaded() const {
        std::vector<std::string> backends;
        for (const Loaded& l : loaded) backends.push_back(l.backend);
        for (const Found& f : found)
            if (!f.decided && f.rated.candidate.code == ReasonCode::none)
                backends.push_back(f.rated.candidate.descriptor->backend);
        return backends;
    }

    // Loads a candidate, or finds it loaded from an earlier scan. A failure becomes its verdict.
    void take(size_t place, const std::vector<Loaded>& before) {
        Rated& rated = found[place].rated;
        Candidate& c = rated.candidate;
        try {
            std::shared_ptr<Module> module;
            registry::Trials::Answer trial;
            std::optional<base::KeepProcessState> keep;
            if (const Loaded* old = loaded_before(rated, before)) {
                module = old->module;
                trial = old->trial;
            } else {
                if (rated.linked_in == nullptr) trial = pass_trial(rated.inspection, c);
                if (trial.put_back) keep.emplace();
                if (trial.keep_mapped) rated.inspection.descriptor->flags &= ~uint32_t{BP_NOTE_UNLOADABLE};
                module = std::make_shared<Module>(rated, services, nullptr, history->mark(rated.inspection));
            }
            const auto after = std::find_if(loaded.begin(), loaded.end(), [&](const Loaded& l) { return l.place > place; });
            loaded.insert(after, {c.descriptor->backend, std::move(module), place, std::move(trial)});
            c.verdict = Verdict::loaded;
        } catch (const LoadFailure& failure) {
            fail(c, failure);
            if (failure.code == ReasonCode::open_failed) given.refused(failure.text);
        } catch (const Error& error) {
            if (error.code() == Code::cancelled) throw;  // by the application, not by the module
            fail(c, {ReasonCode::load_failed, error.what()});
        } catch (const std::exception& error) {
            fail(c, {ReasonCode::load_failed, error.what()});
        }
    }

    static void fail(Candidate& c, const LoadFailure& failure) {
        c.verdict = Verdict::failed;
        c.code = failure.code;
        c.reason = failure.text;
        if (!failure.remedy.empty()) c.remedy = failure.remedy;
    }

    // A module that has no devices, or was good and no longer answers. Its open devices stay; the next best of its backend takes its place,
    // and rescan() asks it again.
    void give_up(const std::shared_ptr<Module>& module, const LoadFailure& failure) {
        const auto it = std::find_if(loaded.begin(), loaded.end(), [&](const Loaded& l) { return l.module == module; });
        const std::string backend = it->backend;
        if (it->has_devices) remember(backend + ": " + failure.text);
        fail(found[it->place].rated.candidate, failure);
        services->say(LogLevel::warning, label_of(found[it->place].rated.candidate) + ": failed: " + failure.text);
        loaded.erase(it);
        for (Found& f : found) {
            Candidate& c = f.rated.candidate;
            if (c.code != ReasonCode::outranked || c.descriptor->backend != backend) continue;
            c.code = ReasonCode::none;
            c.reason.clear();
            f.decided = false;
        }
        load(std::vector<std::string>{backend});
    }

    // Throws LoadFailure for a module that its trial in a child process keeps out.
    registry::Trials::Answer pass_trial(const discovery::Inspection& module, Candidate& c) {
        using registry::History;
        history->before_trial(module, *trials);
        registry::Trials::Answer answer = trials->ask(module);
        history->after_trial(module, *trials,
                             answer.code == ReasonCode::none        ? History::Outcome::good
                             : answer.code == ReasonCode::not_tried ? History::Outcome::not_tried
                                                                    : History::Outcome::bad);
        for (const std::string& note : answer.notes) remember(note);
        if (answer.code == ReasonCode::none) {
            c.reason = answer.reason;
            return answer;
        }
        c.remedy = answer.remedy;
        throw LoadFailure{answer.code, answer.reason};
    }

    void remember(const std::string& problem) const {
        if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
    }

    // All devices as the modules see them now. A module that cannot say costs itself, no other.
    [[nodiscard]] std::vector<Listed> list() {
        std::vector<Listed> all;
        for (Loaded& l : loaded) {
            try {
                list(l, all);
            } catch (const LoadFailure& failure) {
                give_up(l.module, failure);
                return list();  // it is one less, or another
            }
        }
        return all;
    }

    void list(Loaded& l, std::vector<Listed>& all) const {
        std::string remark;
        std::optional<base::KeepProcessState> keep;
        if (l.trial.put_back) keep.emplace();
        const std::vector<registry::ListedDevice> devices = l.module->list(remark);
        keep.reset();
        if (devices.empty() && !l.has_devices) throw LoadFailure{ReasonCode::no_devices, registry::without_devices(remark)};
        l.has_devices = true;
        if (!remark.empty()) remember(l.backend + ": " + remark);
        const Descriptor& d = *l.module->inspection().descriptor;
        for (size_t i = 0; i < devices.size(); ++i) {
            Listed listed{devices[i].info, devices[i].id, l.module};
            listed.info.id = l.backend + ":" + std::to_string(i);
            listed.info.backend = l.backend;
            listed.info.module_version = d.version;
            listed.info.module_priority = d.priority;
            listed.info.module = l.module->inspection().path;
            const auto is_it = [&](const registry::DevicePlace& known) { return registry::is_it(known, listed.info, i); };
            const auto left = std::find_if(l.trial.left.begin(), l.trial.left.end(), is_it);
            if (left != l.trial.left.end()) listed.left = *left;
            const auto fault = std::find_if(l.trial.faults.begin(), l.trial.faults.end(), is_it);
            if (fault != l.trial.faults.end()) {
                listed.info.fault = fault->reason;
                listed.ends_process = fault->ends_process;
                remember(listed.info.id + " (" + listed.info.name + "): " + fault->reason + "; it is not chosen by itself");
            }
            all.push_back(std::move(listed));
        }
    }

    static std::vector<DeviceInfo> preferred(const std::vector<Listed>& all) {
        std::vector<DeviceInfo> devices;
        for (const Listed& l : all) devices.push_back(l.info);
        registry::sort_by_preference(devices);
        registry::mark_same_chips(devices);
        return devices;
    }

    Device open(const Listed& listed) {
        for (const auto& state : open_states())
            if (state->module == listed.module && state->id == listed.id && !state->lost())
                return DeviceAccess::handle(state);
        if (listed.ends_process)
            throw Error(Code::unsupported, "cannot open " + listed.info.id + ": it " + listed.info.fault +
                                               "; update its driver or the module; `backplane modules forget " +
                                               listed.info.module.string() + "` has it tried again");
        auto state = std::make_shared<Device::State>();
        state->info = listed.info;
        state->id = listed.id;
        state->api = &listed.module->api();
        state->module = listed.module;
        state->drives_a_driver = listed.module->inspection().descriptor->probe_in_child;
        state->state_folder = options.state_folder;
        if (const auto fresh = options.options.find("host.fresh-memory"); fresh != options.options.end())
            state->no_numbers = fresh->second == "nan";
        Loaded* loaded_from = nullptr;
        for (Loaded& l : loaded)
            if (l.module == listed.module) loaded_from = &l;
        std::optional<base::KeepProcessState> keep;
        if (loaded_from != nullptr && loaded_from->trial.put_back) keep.emplace();
        state->handle = listed.module->open_device(listed.id);
        if (loaded_from != nullptr) loaded_from->trial.kept_open.reset();
        open_devices.push_back(state);
        return DeviceAccess::handle(state);
    }

    // A device that its module's trial left, before it is opened. False: something is wrong with it, which list() says from now on.
    bool is_sound(const Listed& listed) {
        const auto of =
            std::find_if(loaded.begin(), loaded.end(), [&](const Loaded& l) { return l.module == listed.module; });
        if (!listed.left || of == loaded.end()) return true;
        registry::Trials::Late late = trials->ask(listed.module->inspection(), *listed.left);
        if (!late.note.empty()) remember(late.note);
        of->trial.put_back |= late.put_back;
        if (late.keep_mapped) listed.module->keep_mapped();
        std::erase(of->trial.left, *listed.left);
        if (late.fault.reason.empty()) return true;
        of->trial.faults.push_back(std::move(late.fault));
        return false;
    }

    // Those, too, of which nobody has asked for anything yet.
    void try_all() {
        for (const Listed& listed : list()) static_cast<void>(is_sound(listed));
    }

    // The best device that the filter matches and that opens, without those that failed before: id and why.
    std::optional<Device> open_first(const Filter& used, std::map<std::string, std::string>& failed) {
        const std::vector<Listed> all = list();
        for (const DeviceInfo& d : used.select(preferred(all))) {
            if (failed.count(d.id) != 0) continue;
            const auto listed = std::find_if(all.begin(), all.end(), [&](const Listed& l) { return l.info.id == d.id; });
            if (!is_sound(*listed)) return open_first(used, failed);  // others may go before it now
            try {
                return open(*listed);
            } catch (const Error& error) {
                failed[d.id] = error.what();
                given.refused(d.id + ": " + error.what());
                remember(d.id + ": " + error.what());
            }
        }
        return std::nullopt;
    }

    // Without loading what waits: nothing of it could come before this device among the CPUs.
    [[nodiscard]] bool is_best_cpu(const DeviceInfo& device) const {
        return device.kind == DeviceKind::cpu && device.warning.empty() &&
               std::all_of(found.begin(), found.end(), [&](const Found& f) {
                   const Candidate& c = f.rated.candidate;
                   return f.decided || c.code != ReasonCode::none || c.descriptor->priority < device.module_priority;
               });
    }

    // Loads what waits, the most preferred backend first, until nothing of the rest could give a better CPU than the filter leaves: no driver
    // of a GPU is asked for what stands behind another device. All devices of what is loaded then.
    std::vector<Listed> load_best_cpu(const Filter& used) {
        for (;;) {
            std::vector<Listed> all = list();
            const std::vector<DeviceInfo> devices = preferred(all);
            const auto best = std::find_if(devices.begin(), devices.end(), [&](const DeviceInfo& d) {
                return d.kind == DeviceKind::cpu && !used.excludes(d);
            });
            if (best != devices.end() && is_best_cpu(*best)) return all;
            const Found* next = nullptr;
            for (const Found& f : found) {
                const Candidate& c = f.rated.candidate;
                if (f.decided || c.code != ReasonCode::none) continue;
                if (next == nullptr || c.descriptor->priority > next->rated.candidate.descriptor->priority) next = &f;
            }
            if (next == nullptr) return all;
            load(std::vector<std::string>{next->rated.candidate.descriptor->backend});
        }
    }

    [[nodiscard]] std::vector<std::shared_ptr<Device::State>> open_states() const {
        std::erase_if(open_devices, [](const auto& open) { return open.expired(); });
        std::vector<std::shared_ptr<Device::State>> states;
        for (const auto& open : open_devices)
            if (auto state = open.lock()) states.push_back(std::move(state));
        return states;
    }

    // Devices that their module no longer lists are gone for whoever still holds them.
    void lose_unlisted() {
        const std::vector<Listed> all = list();
        for (const auto& state : open_states()) {
            const bool ours =
                std::any_of(loaded.begin(), loaded.end(), [&](const Loaded& l) { return l.module == state->module; });
            const bool there = std::any_of(all.begin(), all.end(),
                                           [&](const Listed& l) { return l.module == state->module && l.id == state->id; });
            if (ours && !there) state->lose(state->info.id + " (" + state->info.name + ") is gone since the last scan");
        }
    }

    void unload(std::string_view backend) {
        const auto module =
            std::find_if(loaded.begin(), loaded.end(), [&](const Loaded& l) { return l.backend == backend; });
        const std::string what = "cannot unload '" + std::string(backend) + "'";
        if (module == loaded.end()) {
            std::string there;
            for (const Loaded& l : loaded) there += (there.empty() ? "" : ", ") + l.backend;
            throw Error(Code::not_found,
                        what + ": no such module is loaded; there are: " + (there.empty() ? "none" : there));
        }
        std::string users;
        for (const auto& state : open_states()) {
            if (state->module != module->module) continue;
            users += (users.empty() ? "" : ", ") + state->info.id + " is open with " + counted(state->buffers, "buffer") +
                     " and " + counted(state->programs, "program");
        }
        if (!users.empty()) throw Error(Code::busy, what + ": " + users + "; release them first");
        Candidate& c = found[module->place].rated.candidate;
        c.verdict = Verdict::rejected;
        c.code = ReasonCode::unloaded;
        c.reason = "unloaded by the application";
        c.remedy = "rescan() loads it again";
        loaded.erase(module);
    }

    // What there is by now, without what goes on.
    [[nodiscard]] Report found_so_far() {
        Report report;
        report.sources = sources;
        report.devices = preferred(list());  // first: a module that cannot say becomes a failed candidate
        for (const Found& f : found) report.candidates.push_back(f.rated.candidate);
        const std::vector<DeviceInfo> selected = filter.select(report.devices);
        if (!selected.empty()) report.chosen = selected.front().id;
        report.why = registry::why_chosen(filter, filter_source, options, report);
        return report;
    }
};

Context::Context(ContextOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
    impl_->scan();
    impl_->load(impl_->filter);
}
Context::~Context() = default;

std::vector<DeviceInfo> Context::devices() const {
    const std::lock_guard lock(impl_->mutex);
    impl_->load_all();
    impl_->try_all();
    return Impl::preferred(impl_->list());
}

Device Context::choose(std::string_view text) const {
    std::map<std::string, std::string> failed;
    {
        const std::lock_guard lock(impl_->mutex);
        const bool given = !text.empty() && text != "auto";
        const Filter used = given ? Filter(text) : impl_->filter;
        impl_->load(used);
        if (std::optional<Device> device = impl_->open_first(used, failed)) return *device;
        impl_->load_all();  // of what the filter names, nothing would open
        if (std::optional<Device> device = impl_->open_first(used, failed)) return *device;
        if (failed.empty())
            throw Error(
                Code::not_found,
                "cannot choose a device: " +
                    registry::why_chosen(used, given && text != impl_->filter.text() ? "the filter" : impl_->filter_source,
                                         impl_->options, impl_->found_so_far()));
    }
    std::string failures;
    for (const auto& [id, why] : failed) failures += (failures.empty() ? "" : "; ") + id + ": " + why;
    throw Error(Code::not_found, "cannot open a device: " + failures);
}

std::vector<Device> Context::choose_with_fallback(std::string_view text) const {
    std::vector<Device> devices{choose(text)};
    const std::lock_guard lock(impl_->mutex);
    const Filter used = !text.empty() && text != "auto" ? Filter(text) : impl_->filter;
    const std::vector<Impl::Listed> all = impl_->load_best_cpu(used);
    for (const DeviceInfo& d : Impl::preferred(all)) {
        if (d.kind != DeviceKind::cpu || used.excludes(d)) continue;
        if (d.id == devices.front().info().id) break;  // it is the best CPU itself
        const auto listed = std::find_if(all.begin(), all.end(), [&](const Impl::Listed& l) { return l.info.id == d.id; });
        if (!impl_->is_sound(*listed)) continue;
        try {
            devices.push_back(impl_->open(*listed));
            break;
        } catch (const Error& error) {
            impl_->remember(d.id + ": " + error.what());
        }
    }
    return devices;
}

std::vector<OptionProblem> Context::option_problems() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->given.problems();
}

std::filesystem::path Context::state_folder() const { return registry::state_folder(impl_->options); }

std::string Context::why() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->found_so_far().why;
}

Report Context::report() const {
    const std::lock_guard lock(impl_->mutex);
    impl_->load_all();
    impl_->try_all();
    Report report = impl_->found_so_far();
    report.notes = impl_->problems;
    for (const OptionProblem& problem : impl_->given.problems()) report.notes.push_back(problem.text);
    if (impl_->services->cache)
        if (std::string problem = impl_->services->cache->problem(); !problem.empty()) report.notes.push_back(problem);
    return report;
}

void Context::rescan() {
    const std::lock_guard lock(impl_->mutex);
    const std::vector<Impl::Loaded> before = std::exchange(impl_->loaded, {});
    impl_->scan();
    impl_->load(std::nullopt, before);
    impl_->lose_unlisted();
}

void Context::unload(std::string_view backend) {
    const std::lock_guard lock(impl_->mutex);
    impl_->unload(backend);
}

}  // namespace backplane
