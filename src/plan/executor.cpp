#include "plan/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/byte_count.hpp"
#include "plan/flight.hpp"

namespace backplane::plan {

namespace {

constexpr uint64_t kMostKept = uint64_t{1}
                               << 20;  // bytes of state that are copied to the host after each run, see states.cpp
constexpr size_t kMostAhead = 2;       // submits under way that have one frame after the other

// A frame as the next submit takes it: with its memory, and nothing in it.
void forget(Frame& frame) {
    for (Place& place : frame.places) {
        place.on_host = false;
        place.host = {};
        for (Place::Here& here : place.on) {
            here.valid = false;
            here.foreign.reset();
        }
    }
}

}  // namespace

Executor::Executor(Plan plan, std::vector<std::shared_ptr<Port>> ports, Build build, ImageOf image, std::string holder)
    : plan_(std::move(plan)),
      ports_(std::move(ports)),
      build_(std::move(build)),
      image_(std::move(image)),
      holder_(std::move(holder)),
      runs_(plan_.stages.size() * ports_.size()),
      excluded_(plan_.stages.size()),
      pools_(ports_.size()) {
    bound_.resize(plan_.stages.size());
    for (auto& stage : bound_) stage.resize(ports_.size());
    std::set<uint32_t> first;
    for (const Stage& stage : plan_.stages) first.insert(stage.ports.front());
    several_ = first.size() > 1;
    for (uint32_t s = 0; s + 1 < plan_.stages.size(); ++s)
        if (plan_.stages[s].ports.front() != plan_.stages[s + 1].ports.front()) tail_ = s + 1;
    for (uint32_t p = 0; p < ports_.size(); ++p) blocks_.push_back(plan_.blocks(p));
    last_reads_ = plan_.last_reads();
    for (const Stage& stage : plan_.stages) {
        std::vector<SlotUse>& writes = writes_.emplace_back();
        std::ranges::copy_if(stage.uses, std::back_inserter(writes), &SlotUse::written);
    }
    uint64_t state = 0;
    for (const Value& value : plan_.values)
        if (value.kind == Kind::state) state += value.bytes;
    keeps_state_ = several_ && state <= kMostKept;
    overlaps_ = !plan_.has_state();
    if (!plan_.stages.empty()) home_ = plan_.stages.front().ports.front();
    hands_on_ = overlaps_ && !several_ && std::ranges::any_of(plan_.stages, &Stage::streams) && ports_[home_]->keeps_order();
    group_ = plan_.groups();
    for (uint32_t p = 0; p < ports_.size(); ++p)
        givers_.push_back(ports_[p]->on_pressure([this, p](uint64_t) { return give(p); }));
}

Executor::~Executor() {
    givers_.clear();
    settle();
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

uint64_t Executor::runs(uint32_t stage, uint32_t port) const { return runs_[stage * ports_.size() + port]; }

void Executor::prepare(bool elsewhere) {
    const Working working(*this);
    for (uint32_t s = 0; s < plan_.stages.size();) {
        const uint32_t port = port_now(s);
        try {
            const Bound& made = bound(s, port);
            if (!made.streamed.empty()) static_cast<void>(ring_on(port));
            if (!pools_[port]) pools_[port] = ports_[port]->workspace();
            static_cast<void>(ports_[port]->workspace_of(*pools_[port], made.program->facts().workspace_bytes));
            ++s;
        } catch (const Error& error) {
            if (!moves(error.code()) || (error.code() == Code::no_device_memory && !elsewhere)) throw;
            Flight none;
            hand_over(none, s, port, error);
        }
    }
}

// ---- frames ----

Frame& Executor::free_frame(std::shared_ptr<Flight>& flight) {
    for (;;) {
        std::shared_ptr<Flight> oldest;
        {
            const std::lock_guard lock(mutex_);
            for (const auto& frame : frames_)
                if (frame->take()) return *frame;
            if (!flying_.empty()) oldest = flying_.front();
            const bool room = frames_.size() < std::max(plan_.frames, 1U);
            if (room && (!oldest || !done(*oldest))) return new_frame();
        }
        if (Frame* const frame = handed_on()) return *frame;
        if (oldest == nullptr || oldest == flight) throw Error(Code::internal, "an executor has no frame left");
        complete(*oldest);
    }
}

Frame& Executor::new_frame() {
    Frame& made = *frames_.emplace_back(std::make_unique<Frame>());
    made.places.resize(plan_.values.size());
    for (Place& place : made.places) place.on.resize(ports_.size());
    for (const Plan::Blocks& blocks : blocks_) made.blocks.emplace_back(blocks.bytes.size());
    static_cast<void>(made.take());
    return made;
}

// That of the submit before, all of whose work the device has and keeps in order; null: there is none such.
Frame* Executor::handed_on() {
    if (!hands_on_ || ports_[home_]->lost()) return nullptr;
    const Working working(*this);  // nobody does it anew
    const std::lock_guard lock(mutex_);
    if (flying_.empty() || flying_.size() >= kMostAhead) return nullptr;
    Flight& before = *flying_.back();
    if (before.frame == nullptr || !before.later.empty()) return nullptr;
    Frame& frame = *std::exchange(before.frame, nullptr);
    forget(frame);
    return &frame;
}

// For a submit that is done anew and whose own went on to another.
Frame& Executor::any_frame() {
    const std::lock_guard lock(mutex_);
    for (const auto& frame : frames_)
        if (frame->take()) return *frame;
    return new_frame();
}

Event Executor::submit(std::span<const Given> given, std::span<const Wanted> wanted, const std::atomic<uint32_t>* cancel) {
    auto flight = std::make_shared<Flight>();
    flight->prepare(this, given, wanted, cancel, false);
    flight->frame = &free_frame(flight);
    {
        const std::lock_guard lock(mutex_);
        flying_.push_back(flight);
        if (several_) {
            queue_.push_back(flight);
            if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
        }
    }
    if (several_) {
        changed_.notify_all();
    } else {
        start(*flight);
        // What is known when the work is handed over is thrown there and then, and nothing is under way.
        if (flight->error && flight->ends.empty()) {
            complete(*flight);
            std::rethrow_exception(flight->error);
        }
        if (flight->ends.empty()) complete(*flight);  // the device has done it in the call
    }
    return Event(std::move(flight));
}

void Executor::run(std::span<const Given> given, std::span<const Wanted> wanted, const std::atomic<uint32_t>* cancel) {
    if (several_) settle();  // runs of the thread come first
    std::shared_ptr<Flight> flight = last_run_;
    if (!flight) flight = last_run_ = std::make_shared<Flight>();
    flight->prepare(this, given, wanted, cancel, true);
    if (last_frame_ == nullptr || !last_frame_->take()) last_frame_ = &free_frame(flight);
    flight->frame = last_frame_;
    start(*flight);
    complete(*flight);
    if (flight->error) std::rethrow_exception(flight->error);
}

void Executor::start(Flight& flight) {
    changed_state_.store(false, std::memory_order_relaxed);
    try {
        const Working working(*this);
        for (uint32_t p = 0; p < ports_.size(); ++p) ports_[p]->touch(*givers_[p]);
        try {
            execute(flight);
        } catch (...) {
            forget_fetched();
            throw;
        }
    } catch (...) {
        flight.error = std::current_exception();
    }
    if (flight.now) {  // the caller's alone
        flight.submitted = true;
        return;
    }
    {
        const std::lock_guard lock(flight.mutex);
        flight.submitted = true;
    }
    flight.submitted_changed.notify_all();
}

void Executor::serve() {
    for (;;) {
        std::shared_ptr<Flight> next;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
            if (queue_.empty()) return;
            next = queue_.front();
        }
        start(*next);
        if (!overlaps_) complete(*next);
        {
            const std::lock_guard lock(mutex_);
            queue_.pop_front();
        }
        changed_.notify_all();
    }
}

void Executor::settle() {
    for (;;) {
        std::shared_ptr<Flight> next;
        {
            const std::lock_guard lock(mutex_);
            if (flying_.empty()) return;
            next = flying_.front();
        }
        complete(*next);
    }
}

// ---- the end of a submit ----

bool Executor::done(Flight& flight) {
    if (flight.finished) return true;
    const std::unique_lock lock(flight.mutex, std::try_to_lock);
    if (!lock || !flight.submitted) return false;
    return std::all_of(flight.ends.begin(), flight.ends.end(),
                       [&](const Flight::End& end) { return ports_[end.port]->reached(end.point); });
}

void Executor::complete(Flight& flight) {
    std::unique_lock lock(flight.mutex, std::defer_lock);
    if (!flight.now) {
        lock.lock();
        flight.submitted_changed.wait(lock, [&] { return flight.submitted; });
    }
    if (flight.finished) return;
    for (;;) {
        std::exception_ptr lost, apart;
        Flight::End where;
        // Each end is asked, whatever the others say: no work may touch the caller's memory any more.
        for (const Flight::End& end : flight.ends) {
            try {
                ports_[end.port]->wait(end.point);
            } catch (const Error& error) {
                const bool goes_on = moves(error.code()), summed = flight.summed && error.code() == Code::unsupported;
                if (goes_on && !lost) lost = std::current_exception(), where = end;
                if (summed && !apart) apart = std::current_exception();
                if (!goes_on && !summed && !flight.error) flight.error = std::current_exception();
            }
        }
        flight.ends.clear();
        if ((!lost && !apart) || flight.error) break;
        try {
            const Working working(*this);
            if (flight.frame == nullptr) flight.frame = &any_frame();
            try {
                std::rethrow_exception(lost ? lost : apart);
            } catch (const Error& error) {
                flight.ran.clear();
                flight.summed = false;
                forget_made(flight);
                if (lost) {
                    hand_over(flight, where.stage, where.port, error);
                } else {
                    sum_apart(error);
                }
            }
            execute(flight);
        } catch (...) {
            flight.error = std::current_exception();
        }
    }
    if (flight.error) {
        const Working working(*this);
        forget_fetched();
    }
    if (!flight.error)
        for (const Flight::Later& copy : flight.later)
            std::memcpy(copy.to.data(), copy.from->host + copy.offset, copy.to.size());
    if (!flight.error && keeps_state_) {
        try {
            const Working working(*this);
            keep_states();
        } catch (...) {
            flight.error = std::current_exception();
        }
    }
    release(flight);
    flight.finished.store(true, std::memory_order_release);
}

void Executor::release(Flight& flight) {
    for (Given& given : flight.given) given.device.bytes.reset();
    for (Wanted& wanted : flight.wanted) wanted.device.bytes.reset();
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!flight.now) lock.lock();
    flight.later.clear();
    if (flight.frame != nullptr) {
        forget(*flight.frame);
        std::exchange(flight.frame, nullptr)->give_back();
    }
    if (flight.now) return;  // it is none of those that fly
    if (!flying_.empty() && flying_.front().get() == &flight) {
        flying_.pop_front();
    } else {
        std::erase_if(flying_, [&](const auto& f) { return f.get() == &flight; });
    }
}

// ---- what is asked of it ----

const Program* Executor::program(uint32_t stage) {
    const Bound* bound = bound_.at(stage).at(port_now(stage)).get();
    return bound != nullptr ? bound->program.get() : nullptr;
}

uint32_t Executor::port_now(uint32_t stage) const {
    for (const uint32_t p : plan_.stages[stage].ports)
        if (!ports_[p]->lost() && !excluded_[stage].contains(p)) return p;
    return plan_.stages[stage].ports.front();
}

std::vector<std::string> Executor::notes() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all = notes_;
    if (const uint64_t bytes = came_again_; bytes > 0)
        all.push_back("memory was short: weights of " + base::byte_count(bytes) +
                      " went for other work and were copied again when they were needed");
    return all;
}

bool Event::done() const { return !flight_ || flight_->finished || flight_->owner->done(*flight_); }

void Event::wait() const {
    if (!flight_) return;
    if (!flight_->finished) flight_->owner->complete(*flight_);
    if (flight_->error) std::rethrow_exception(flight_->error);
}

bool Event::wait_for(uint64_t nanoseconds) const {
    if (!flight_ || flight_->finished) return wait(), true;
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
    std::unique_lock lock(flight_->mutex);
    if (!flight_->submitted_changed.wait_until(lock, until, [&] { return flight_->submitted; })) return false;
    const std::vector<Flight::End> ends = flight_->ends;
    lock.unlock();
    for (const Flight::End& end : ends) {
        const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - std::chrono::steady_clock::now());
        try {
            if (!flight_->owner->ports_[end.port]->wait(end.point,
                                                        static_cast<uint64_t>(std::max<int64_t>(left.count(), 0))))
                return false;
        } catch (const Error&) {
            break;  // it has ended, and wait() says how
        }
    }
    return wait(), true;
}

Located Event::result(uint32_t value) const {
    if (!flight_) return {};
    std::unique_lock lock(flight_->mutex);
    flight_->submitted_changed.wait(lock, [&] { return flight_->submitted; });
    for (const auto& [id, at] : flight_->results)
        if (id == value) return at;
    return {};
}

uint64_t Event::bytes_moved() const { return flight_ ? flight_->moved.load() : 0; }
uint64_t Event::bytes_peer() const { return flight_ ? flight_->peer.load() : 0; }

}  // namespace backplane::plan
