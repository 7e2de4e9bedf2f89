#include "runtime/fitted_core.hpp"

#include <algorithm>
#include <utility>

#include "backplane/fit.hpp"
#include "base/byte_count.hpp"
#include "plan/residency.hpp"
#include "runtime/room.hpp"
#include "runtime/spread/policy.hpp"

namespace backplane::runtime {

namespace {

uint64_t taken_by(const plan::Plan& plan) {
    return plan.bytes_on(0) - (std::max(plan.frames, 1U) - 1) * plan.frame_bytes(0);
}

bool is_whole_on_first(const std::vector<PlannedPart>& parts) {
    return parts.size() == 1 && parts.front().devices.front() == 0;
}

}  // namespace

std::vector<StageRuns> runs_of(const SessionCore& core) {
    const plan::Plan& plan = core.plan();
    std::vector<StageRuns> all;
    for (uint32_t s = 0; s < plan.stages.size(); ++s)
        for (uint32_t p = 0; p < plan.ports.size(); ++p)
            if (const uint64_t runs = core.executor().runs(s, p); runs > 0)
                all.push_back({plan.ports[p], plan.stages[s].nodes, plan.stages[s].ops, runs});
    return all;
}

FittedCore::FittedCore(std::vector<Device> devices, const Graph& graph, const Weights& weights, const FittedOptions& options)
    : devices_(std::move(devices)), graph_(graph), weights_(weights), options_(options) {
    make();
    options_.compile.cancel = nullptr;  // it was for making this
}

CoreOptions FittedCore::core_options() const {
    CoreOptions how;
    how.compile = options_.compile;
    how.frames = options_.frames;
    how.elsewhere = options_.elsewhere;
    how.plans_kept = options_.plans_kept;
    how.bring = options_.bring;
    return how;
}

void FittedCore::build(const std::vector<PlannedPart>& parts, const CoreOptions& options) {
    core_ = std::make_unique<SessionCore>(devices_, graph_, weights_, parts, options);
    if (!options.admit) takes_ = taken_by(core_->plan());  // else it was asked for that
    core_->take(states_);
    states_.clear();
}

// Empty: nothing says that weights are to be streamed, or all of them have room.
std::vector<PlannedPart> FittedCore::planned_by_hand() const {
    const Device& device = devices_.front();
    if (options_.weight_budget == kAllWeights) return {};
    if (options_.weight_budget != 0) return parts_for_weights(device, graph_, options_.weight_budget, options_.compile);
    uint64_t budget = options_.budget;
    if (budget == 0 && options_.streaming == Streaming::always) {
        FitOptions how;
        how.compile = options_.compile;
        how.streaming = Streaming::always;
        const std::vector<Fit> ways = fits({device}, graph_, how);
        const Fit* way = best_fit(ways, Streaming::always);
        if (way == nullptr)
            throw Error(Code::no_device_memory, "cannot stream the graph's weights: " + what_would_fit(ways));
        budget = way->budget;
    }
    if (budget == 0) return {};
    return streamed_parts(device, graph_, budget, options_.compile).parts;
}

// What is streamed to a device that computes in host memory comes out of the same memory: only somebody's limit is a reason.
bool FittedCore::streaming_helps() const { return streaming_helps_on(*plan::Port::of(devices_.front())); }

bool FittedCore::streaming_helps_on(const plan::Port& port) const {
    return !port.in_host_memory() || port.budget() != 0 || options_.budget != 0 || options_.weight_budget != 0;
}

std::vector<PlannedPart> FittedCore::whole(std::vector<std::string>& notes) const {
    if (options_.as_it_is) return {{{0}, {}}};
    if (!options_.parts.empty()) return options_.parts;
    return spread_parts(devices_, graph_, *WeightsAccess::state_of(weights_), options_.check_ops, notes);
}

void FittedCore::make() {
    CoreOptions how = core_options();
    const bool bounded = options_.budget != 0;
    std::vector<PlannedPart> parts = planned_by_hand();
    const bool streamed = !parts.empty();
    if (!options_.note.empty()) notes_.push_back(options_.note);
    if (!streamed) parts = whole(notes_);
    if (streamed || bounded) how.frames = 1;
    streams_ = options_.streaming != Streaming::never && !options_.compile.plan_only &&
               (streamed || (is_whole_on_first(parts) && !graph_.with_role(Role::weight).empty()));
    if (streams_) how.memory_moves = how.elsewhere = false;
    how.admit = [&](const plan::Plan& plan) {
        takes_ = taken_by(plan);
        if (bounded && takes_ > options_.budget)
            throw Error(Code::no_device_memory, "cannot run the graph in " + std::to_string(options_.budget) + " bytes of " +
                                                    plan.ports[0] + ": it takes " + std::to_string(takes_) +
                                                    "; give it that many");
        if (!streams_ || streamed || options_.weight_budget != 0 || !streaming_helps()) return;
        const uint64_t room = room_on(devices_.front());
        if (room != 0 && takes_ > room)
            throw Error(Code::no_device_memory, "the graph takes " + base::byte_count(takes_) + " of " + plan.ports[0] +
                                                    ", " + base::byte_count(room) + " are free");
    };
    try {
        build(parts, how);
    } catch (const Error& error) {
        if (error.code() != Code::no_device_memory || !streams_) throw;
        plan_anew(error);
    }
}

void FittedCore::leave() {
    if (!core_) return;
    states_ = core_->states();
    for (StageRuns& ran : runs_of(*core_)) ran_.push_back(std::move(ran));
    for (std::string& note : core_->executor().notes()) notes_.push_back(std::move(note));
    core_.reset();
}

// With less than the plan before, until one is made and has its memory.
void FittedCore::plan_anew(const Error& error) {
    const std::string first = error.what();
    std::string why = first;
    leave();
    try {
        if (!made_with_less(first, why)) give_up(why);
    } catch (...) {
        // One that can be tried again: there may be memory another time.
        if (!core_) {
            CoreOptions how = core_options();
            how.bring = how.memory_moves = false;
            build({{{0}, {}}}, how);
        }
        throw;
    }
}

// Bytes that the next plan may take.
uint64_t FittedCore::less() const {
    const uint64_t room = room_on(devices_.front()), most = takes_ - takes_ / 4;
    return room != 0 ? std::min(most, room) : most;
}

// A budget may fall below what is held while no allocation is wanted: the driver then moves memory of ours out of the device, and runs wait for it. Where
// not a byte is left at two looks in a row, that is no passing thing. What no plan with less is there for stays as it is.
void FittedCore::heed_budget() {
    constexpr std::chrono::milliseconds kBetweenLooks(250);
    if (!streams_ || replans_ == kMostReplans || !streaming_helps_on(*core().ports().front())) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < kBetweenLooks) return;
    looked_ = now;
    const bool before = std::exchange(nothing_left_, is_used_up(devices_.front()));
    if (!before || !nothing_left_) return;
    nothing_left_ = false;
    try {
        static_cast<void>(streamed_parts(devices_.front(), graph_, less(), options_.compile));
    } catch (const Error& error) {
        if (error.code() != Code::no_device_memory) throw;
        return;
    }
    plan_anew(
        Error(Code::no_device_memory, "nothing is left of what " + devices_.front().info().id + " gives this process"));
    plan::Port& port = *plan::Port::of(devices_.front());
    port.residency().give(UINT64_MAX);  // what no allocation asks for would stay
    port.sweep();
}

bool FittedCore::made_with_less(const std::string& first, std::string& why) {
    const Device& device = devices_.front();
    if (!streaming_helps()) return false;
    while (replans_ < kMostReplans) {
        ++replans_;
        const uint64_t budget = less();
        StreamedParts made;
        try {
            made = streamed_parts(device, graph_, budget, options_.compile);
        } catch (const Error& error) {
            if (error.code() != Code::no_device_memory) throw;
            why = error.what();
            return false;
        }
        CoreOptions how = core_options();
        how.frames = 1;
        how.memory_moves = how.elsewhere = false;
        try {
            build(made.parts, how);
        } catch (const Error& error) {
            if (error.code() != Code::no_device_memory) throw;
            why = error.what();
            takes_ = budget;
            continue;
        }
        notes_.push_back(first + ": the plan was made anew with " + base::byte_count(takes_) + " of " + device.info().id +
                         ", weights are copied for each run as far as they have no room");
        return true;
    }
    return false;
}

// Others go on where there are any.
void FittedCore::give_up(const std::string& why) {
    std::vector<std::string> ignored;
    const std::vector<PlannedPart> parts = whole(ignored);
    if (!options_.elsewhere || parts.front().devices.size() < 2) {
        const std::string would = what_would();
        throw Error(Code::no_device_memory, why + (would.empty() ? "" : "; the graph " + would));
    }
    streams_ = false;
    build(parts, core_options());
}

std::string FittedCore::what_would() const {
    try {
        FitOptions how;
        how.compile = options_.compile;
        return what_would_fit(fits(devices_, graph_, how));
    } catch (const Error&) {
        return {};  // what was wrong first is what is said
    }
}

template <typename Body>
void FittedCore::with_less(const Body& body) {
    for (;;) {
        try {
            return body();
        } catch (const Error& error) {
            if (error.code() != Code::no_device_memory || !streams_ || core().executor().changed_state()) throw;
            plan_anew(error);
        }
    }
}

void FittedCore::run(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel) {
    heed_budget();
    with_less([&] { core().run(inputs, outputs, cancel); });
}

std::shared_ptr<plan::Flight> FittedCore::submit(std::span<const Input> inputs, std::span<const Output> outputs,
                                                 const std::atomic<uint32_t>* cancel) {
    std::shared_ptr<plan::Flight> flight;
    heed_budget();
    with_less([&] { flight = core().submit(inputs, outputs, cancel); });
    return flight;
}

std::vector<std::string> FittedCore::notes() const {
    std::vector<std::string> all = notes_;
    const std::vector<std::string> now = core().executor().notes();
    all.insert(all.end(), now.begin(), now.end());
    return all;
}

std::vector<StageRuns> FittedCore::runs() const {
    std::vector<StageRuns> all = ran_;
    for (StageRuns& ran : runs_of(core())) all.push_back(std::move(ran));
    return all;
}

}  // namespace backplane::runtime
