// Executor: what is kept between runs.
#include <algorithm>

#include "plan/executor.hpp"
#include "plan/flight.hpp"

namespace backplane::plan {

namespace {

Located moved_to(Port& port, const Located& from, uint64_t bytes, const std::string& holder) {
    std::vector<std::byte> by_way_of(bytes);
    from.bytes->port->download(*from.bytes, from.offset, by_way_of, true);
    Located made{port.allocate(bytes, holder), 0};
    port.upload(by_way_of, *made.bytes, 0, true);
    return made;
}

}  // namespace

void Executor::state_on(const Bound& bound, uint32_t slot, uint32_t port, Use& use) {
    const Bound::Slot& about = bound.slots[slot];
    StateHold& hold = states_[about.value];
    Port& device = *ports_[port];
    const uint64_t bytes = std::max(about.bytes, plan_.values[about.value].bytes);
    if (!hold.at.bytes) {
        hold.at = {device.allocate(bytes, holder_ + ": states"), 0};
        if (hold.has_kept) {
            device.upload(hold.kept, *hold.at.bytes, 0, true);
        } else {
            device.zero(*hold.at.bytes, 0, bytes);
        }
    }
    if (hold.at.bytes->port != ports_[port]) {
        if (hold.at.bytes->port->lost())
            throw Error(Code::device_lost,
                        "state '" + plan_.values[about.value].name + "' was lost with " + hold.at.bytes->port->name());
        hold.at = moved_to(device, hold.at, plan_.values[about.value].bytes, holder_ + ": states");
    }
    use.bytes = hold.at.bytes.get();
    use.offset = hold.at.offset;
}

// Small state of a graph over several devices outlives the loss of one of them.
void Executor::keep_states() {
    for (auto& [value, hold] : states_) {
        if (!hold.at.bytes || !hold.written) continue;
        hold.kept.resize(plan_.values[value].bytes);
        hold.at.bytes->port->download(*hold.at.bytes, hold.at.offset, hold.kept, true);
        hold.has_kept = true;
    }
}

void Executor::restore_states(Flight& flight, const Error& error) {
    bool lost = false;
    for (const auto& [value, hold] : states_)
        lost |= hold.at.bytes && hold.at.bytes->port->lost() && (hold.written || !hold.has_kept);
    for (auto& [value, hold] : states_) {
        if (!hold.at.bytes) continue;
        if (keeps_state_) {
            hold.at = {};  // made again from what is kept
        } else if (hold.at.bytes->port->lost()) {
            if (hold.written)
                throw Error(error.code(),
                            std::string(error.what()) +
                                "; the graph's state was there alone: reset_state() begins anew on the next device");
            hold.at = {};
        }
    }
    if (lost || keeps_state_) std::ranges::fill(flight.ran, 0);
}

Located Executor::state(uint32_t value) {
    settle();
    const Working working(*this);
    StateHold& hold = states_[value];
    if (!hold.at.bytes)
        for (uint32_t s = 0; s < plan_.stages.size(); ++s)
            for (const SlotUse& use : plan_.stages[s].uses) {
                if (use.value != value || hold.at.bytes) continue;
                Port& port = *ports_[port_now(s)];
                hold.at = {port.allocate(plan_.values[value].bytes, holder_ + ": states"), 0};
                port.zero(*hold.at.bytes, 0, plan_.values[value].bytes);
            }
    return hold.at;
}

Located Executor::state_if_any(uint32_t value) {
    settle();
    const Working working(*this);
    const auto found = states_.find(value);
    return found != states_.end() ? found->second.at : Located{};
}

void Executor::set_state(uint32_t value, Located bytes) {
    settle();
    const Working working(*this);
    StateHold& hold = states_[value];
    hold.at = std::move(bytes);
    hold.has_kept = false;
    hold.written = true;
    if (keeps_state_) keep_states();
}

void Executor::reset_state() {
    settle();
    const Working working(*this);
    for (auto& [value, hold] : states_) {
        hold.has_kept = hold.written = false;
        if (!hold.at.bytes) continue;
        if (hold.at.bytes->port->lost()) {
            hold.at = {};
        } else {
            hold.at.bytes->port->zero(*hold.at.bytes, hold.at.offset, plan_.values[value].bytes);
        }
    }
}

}  // namespace backplane::plan
