// Executor: another device goes on.
#include <algorithm>
#include <mutex>

#include "plan/executor.hpp"
#include "plan/flight.hpp"

namespace backplane::plan {

namespace {

// Lets go of what a frame holds on a port; says whether that was anything.
bool empty(Frame& frame, uint32_t port) {
    bool held = false;
    for (Place& place : frame.places) {
        held |= place.on[port].own != nullptr;
        place.on[port] = {};
    }
    for (Block& block : frame.blocks[port]) {
        held |= block.bytes != nullptr;
        block = {};
    }
    return held;
}

}  // namespace

void Executor::note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

// Throws the error again when nobody can.
void Executor::hand_over(Flight& flight, uint32_t stage, uint32_t port, const Error& error) {
    const bool memory = error.code() == Code::no_device_memory;
    if (memory) {
        excluded_[stage].insert(port);
        if (const auto ring = rings_.find(port); ring != rings_.end() && ring->second) ring->second->settle();
        bound_[stage][port].reset();
    }
    for (uint32_t p = 0; p < ports_.size(); ++p) {
        if (!ports_[p]->lost()) continue;
        drop(p);
        if (flight.frame == nullptr) continue;
        for (Place& place : flight.frame->places) place.on[p].valid = false;
        forget_made(flight);
    }
    const uint32_t next = port_now(stage);
    if (ports_[next]->lost() || excluded_[stage].contains(next)) {
        if (memory) excluded_[stage].erase(port);  // it may have memory again another time
        throw Error(error.code(), std::string(error.what()) + "; there is no other device to go on with");
    }
    // Memory that ran short before the stage ran has changed no state.
    if (!memory) restore_states(flight, error);
    note(std::string(error.what()) + ": what remained was done by " + ports_[next]->name());
}

// What came from device to device, and what was made of that, may not be what it should be.
void Executor::forget_made(Flight& flight) {
    if (flight.peer == 0) return;
    for (const Stage& stage : plan_.stages)
        for (const SlotUse& use : stage.uses) {
            if (!use.written) continue;
            Place& place = flight.frame->places[use.value];
            place.on_host = false;
            for (Place::Here& here : place.on) here.valid = false;
        }
    // What was given may have come so, too; the host has it still.
    for (Place& place : flight.frame->places)
        for (Place::Here& here : place.on) here.valid = here.valid && (!place.on_host || here.foreign);
}

// Nothing of the port is used any more.
void Executor::drop(uint32_t port) {
    for (auto& stage : bound_) stage[port].reset();
    rings_.erase(port);
    pools_[port].reset();
    const std::lock_guard lock(mutex_);
    static_cast<void>(empty_frames(port));
}

// With mutex_ held.
bool Executor::empty_frames(uint32_t port) {
    bool held = false;
    for (const auto& frame : frames_) {
        if (!frame->take()) continue;
        held |= empty(*frame, port);
        frame->give_back();
    }
    return held;
}

bool Executor::give(uint32_t port) {
    if (worker_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return false;
    const std::unique_lock working(work_, std::try_to_lock);
    return working && empty_port(port);
}

bool Executor::empty_port(uint32_t port) {
    bool gave = false;
    for (auto& stage : bound_) {
        if (!stage[port]) continue;
        for (Bound::Slot& slot : stage[port]->slots) {
            gave |= slot.weight != nullptr;
            stage[port]->gave |= slot.weight != nullptr;
            slot.weight.reset();
        }
        stage[port]->ready = false;
    }
    gave |= rings_.erase(port) > 0;
    const std::lock_guard lock(mutex_);
    gave |= empty_frames(port);
    return gave;
}

void Executor::let_go() {
    settle();
    const Working working(*this);
    for (uint32_t p = 0; p < ports_.size(); ++p) {
        static_cast<void>(empty_port(p));
        for (auto& stage : bound_) {
            if (!stage[p]) continue;
            stage[p]->gave = false;  // not for others' work
            stage[p]->gathered.reset();
            stage[p]->apart = false;
            for (const Bound::Slot& slot : stage[p]->slots)
                if (slot.kind == Kind::weight && !slot.streamed) ports_[p]->residency().evict(slot.image.interest);
        }
        pools_[p].reset();
        ports_[p]->sweep();
    }
}

}  // namespace backplane::plan
