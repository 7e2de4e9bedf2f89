// Executor: what is done for one submit.
#include <algorithm>
#include <cstring>

#include "plan/executor.hpp"
#include "plan/flight.hpp"

namespace backplane::plan {

void Executor::place_given(Flight& flight) {
    for (const Given& given : flight.given) {
        Place& place = flight.frame->places[given.value];
        if (!given.device.bytes) {
            place.host = given.host;
            place.on_host = true;
            continue;
        }
        bool here = false;
        for (size_t p = 0; p < ports_.size(); ++p) {
            if (ports_[p] != given.device.bytes->port) continue;
            Place::Here& there = place.on[p];
            there.at = given.device.bytes.get();
            there.offset = given.device.offset;
            there.foreign = given.device.bytes;
            there.valid = here = true;
        }
        if (here) continue;
        place.kept.resize(plan_.values[given.value].bytes);
        given.device.bytes->port->download(*given.device.bytes, given.device.offset, place.kept, true);
        flight.moved += place.kept.size();
        place.host = place.kept;
        place.on_host = true;
    }
}

// Backwards from what is wanted: a stage runs when a value it makes is needed and is nowhere, or when it changes a state.
void Executor::to_run(Flight& flight) const {
    flight.runs.assign(plan_.stages.size(), 0);
    flight.needed.assign(plan_.values.size(), 0);
    for (const Wanted& wanted : flight.wanted) flight.needed[wanted.value] = 1;
    for (const Plan::Carried& carried : plan_.carried) flight.needed[carried.value] = 1;
    for (size_t s = plan_.stages.size(); s-- > 0;) {
        bool run = false;
        for (const SlotUse& use : writes_[s])
            run |= plan_.values[use.value].kind == Kind::state
                       ? flight.ran[s] == 0
                       : flight.needed[use.value] != 0 && !has_place(flight.frame->places[use.value], ports_);
        if (!run) continue;
        flight.runs[s] = 1;
        if (s == 0) break;  // nothing before it makes what it reads
        for (const SlotUse& use : plan_.stages[s].uses)
            if (!use.written) flight.needed[use.value] = 1;
    }
}

void Executor::execute(Flight& flight) {
    if (flight.ran.empty()) {
        flight.ran.assign(plan_.stages.size(), 0);
        place_given(flight);
    }
    for (bool again = true; again;) {
        again = false;
        flight.later.clear();
        flight.results.clear();
        to_run(flight);
        const std::vector<char>& runs = flight.runs;
        for (uint32_t s = 0; s < plan_.stages.size() && !again;) {
            const uint32_t end = end_of_those_beside(runs, s);
            if (runs[s] != 0 && !sum_together(flight, s, end))
                again = !(end == s + 1 ? run_stage(flight, s) : run_stages(flight, s, end));
            s = end;
        }
        if (again) continue;
        try {
            finish(flight);
        } catch (const Error& error) {
            if (!moves(error.code()) || has_lost_a_tensor(flight)) throw;
            const auto last = static_cast<uint32_t>(plan_.stages.size() - 1);
            hand_over(flight, last, port_now(last), error);
            again = true;
        }
    }
    carry(flight);
    fetch_ahead();
}

// A tensor of a device that went: given, and no stage makes it again; or wanted there.
bool Executor::has_lost_a_tensor(const Flight& flight) const {
    const bool wanted = std::any_of(flight.wanted.begin(), flight.wanted.end(),
                                    [](const Wanted& one) { return one.device.bytes && one.device.bytes->port->lost(); });
    return wanted || std::any_of(flight.given.begin(), flight.given.end(), [&](const Given& given) {
               return given.device.bytes && given.device.bytes->port->lost() &&
                      !has_place(flight.frame->places[given.value], ports_);
           });
}

struct Executor::Ready {
    uint32_t stage = 0, port = 0;
    Bound* made = nullptr;
    Bytes ring, workspace;  // held until it is handed over
    Point point;
    std::exception_ptr error;
};

bool Executor::run_stage(Flight& flight, uint32_t stage) {
    const uint32_t port = port_now(stage);
    try {
        Ready one = ready_on(flight, stage, port);
        hand_to_device(flight, one);
        ran_on(flight, one);
        return true;
    } catch (const Error& error) {
        if (!moves(error.code()) || has_lost_a_tensor(flight)) throw;
        hand_over(flight, stage, port, error);
        return false;
    }
}

// Those that run now on a port each.
uint32_t Executor::end_of_those_beside(const std::vector<char>& runs, uint32_t first) const {
    uint32_t end = first + 1;
    const auto taken = [&](uint32_t stage) {
        for (uint32_t s = first; s < stage; ++s)
            if (port_now(s) == port_now(stage)) return true;
        return false;
    };
    while (runs[first] != 0 && end < group_.size() && group_[end] == group_[first] && runs[end] != 0 && !taken(end)) ++end;
    return end;
}

// A device that answers to a flag takes no more work than it answers for, so that handing it over may take as long as the work does: the others are
// not to wait for that.
bool Executor::run_stages(Flight& flight, uint32_t first, uint32_t end) {
    std::vector<Ready> ready;
    Ready failed;
    for (uint32_t s = first; s < end && !failed.error; ++s) {
        const uint32_t port = port_now(s);
        try {
            ready.push_back(ready_on(flight, s, port));
        } catch (const Error&) {
            failed = {s, port, nullptr, {}, {}, {}, std::current_exception()};
        }
    }
    std::vector<std::function<void()>> calls;
    for (Ready& one : ready)
        calls.emplace_back([this, &flight, &one] {
            try {
                hand_to_device(flight, one);
            } catch (...) {
                one.error = std::current_exception();
            }
        });
    if (!hands_) hands_ = std::make_unique<base::Hands>();
    if (!calls.empty()) hands_->call(calls);
    for (const Ready& one : ready) {
        if (!one.error) ran_on(flight, one);
        if (one.error && (!failed.error || one.stage < failed.stage)) failed = one;
    }
    if (!failed.error) return true;
    try {
        std::rethrow_exception(failed.error);
    } catch (const Error& error) {
        if (!moves(error.code()) || has_lost_a_tensor(flight)) throw;
        hand_over(flight, failed.stage, failed.port, error);
        return false;
    }
}

// False: the stage's device has no part of its own of the sum.
bool Executor::ready_to_sum(Flight& flight, uint32_t stage, Ready& one, Summing::Part& part) {
    const uint32_t port = port_now(stage);
    Bound& made = bound(stage, port);
    one = {stage, port, &made, {}, {}, {}, {}};
    part.port = ports_[port].get();
    for (const uint32_t i : made.changing) {
        const Place::Here& here = flight.frame->places[made.slots[i].value].on[port];
        if (made.slots[i].written) {
            room(flight, made, i, {stage, port}, made.uses[i]);
            part.to = made.uses[i].bytes, part.to_offset = made.uses[i].offset;
        } else if (here.valid) {
            if (part.from != nullptr) return false;
            part.from = here.at, part.from_offset = here.offset;
        }
    }
    return part.from != nullptr && part.to != nullptr;
}

// What each of the devices has a part of, by one call of their module. Where that fails they copy and add from then on, as their programs do.
bool Executor::sum_together(Flight& flight, uint32_t first, uint32_t end) {
    const std::optional<uint32_t>& dtype = plan_.stages[first].sum;
    if (!dtype || !sums_together_ || (flight.cancel != nullptr && *flight.cancel != 0)) return false;
    std::vector<Ready> ready(end - first);
    std::vector<Summing::Part> parts(end - first);
    for (uint32_t s = first; s < end; ++s) {
        const auto reads = std::ranges::count_if(plan_.stages[s].uses, [](const SlotUse& use) { return !use.written; });
        if (plan_.stages[s].sum != dtype || reads != end - first || ports_[port_now(s)]->lost() ||
            !ready_to_sum(flight, s, ready[s - first], parts[s - first]))
            return false;
    }
    const uint64_t bytes = plan_.values[ready.front().made->slots[ready.front().made->changing.front()].value].bytes;
    try {
        const std::vector<Point> points = Summing::sum(parts, *dtype, bytes);
        for (size_t i = 0; i < ready.size(); ++i) {
            ready[i].point = points[i];
            ++runs_[ready[i].stage * ports_.size() + ready[i].port];
            ran_on(flight, ready[i]);
            flight.peer += Summing::crossing(bytes, ready.size());
        }
        return flight.summed = true;
    } catch (const Error& error) {
        sum_apart(error);
        return false;
    }
}

void Executor::sum_apart(const Error& error) {
    sums_together_ = false;
    note(std::string(error.what()) + "; sums are copied and added from here on");
}

Executor::Ready Executor::ready_on(Flight& flight, uint32_t stage, uint32_t port) {
    Port& device = *ports_[port];
    if (flight.cancel != nullptr && *flight.cancel != 0) throw Error(Code::cancelled, "the run was cancelled");
    Bound& made = bound(stage, port);
    Ready one{stage, port, &made, {}, {}, {}, {}};
    if (!made.streamed.empty()) one.ring = fetch(made, stage, port);
    for (const uint32_t i : made.changing) {
        const Bound::Slot& slot = made.slots[i];
        if (slot.kind == Kind::state) {
            state_on(made, i, port, made.uses[i]);
        } else if (slot.written) {
            room(flight, made, i, {stage, port}, made.uses[i]);
        } else {
            bring(flight, made, i, {stage, port}, made.uses[i]);
        }
    }
    if (const uint64_t wanted = made.program->facts().workspace_bytes; wanted > 0) {
        if (!pools_[port]) pools_[port] = device.workspace();
        one.workspace = device.workspace_of(*pools_[port], wanted);
    }
    return one;
}

void Executor::hand_to_device(const Flight& flight, Ready& one) {
    Port& device = *ports_[one.port];
    const bool in_the_call = flight.now && device.in_host_memory() && one.stage >= tail_;
    one.point = device.run(*one.made->program, one.made->uses, one.workspace.get(), flight.cancel, in_the_call);
    std::atomic<uint64_t>& runs = runs_[one.stage * ports_.size() + one.port];
    runs.store(runs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // of a stage by one thread at a time
}

void Executor::ran_on(Flight& flight, const Ready& one) {
    const uint32_t stage = one.stage, port = one.port;
    for (const SlotUse& use : writes_[stage]) {
        if (plan_.values[use.value].kind != Kind::state) continue;
        states_[use.value].written = true;
        changed_state_ = true;
    }
    if (one.point.value != 0) flight.ends.push_back({port, stage, one.point});
    for (const uint32_t i : one.made->changing) {
        const Bound::Slot& slot = one.made->slots[i];
        if (!slot.written) continue;
        if (slot.kind == Kind::state) continue;
        Place& written = flight.frame->places[slot.value];
        written.on_host = false;
        for (Place::Here& here : written.on) here.valid = false;
        written.on[port].valid = true;
    }
    flight.ran[stage] = 1;
}

void Executor::finish(Flight& flight) {
    for (const Wanted& wanted : flight.wanted) hand_out(flight, wanted);
}

void Executor::hand_out(Flight& flight, const Wanted& wanted) {
    Place& place = flight.frame->places[wanted.value];
    const uint64_t bytes = plan_.values[wanted.value].bytes;
    const auto last = static_cast<uint32_t>(plan_.stages.size() - 1);
    for (uint32_t p = 0; p < ports_.size(); ++p) {
        const Place::Here& here = place.on[p];
        if (!here.valid || ports_[p]->lost()) continue;
        if (!wanted.host.empty()) {
            if (here.at->host == wanted.host.data()) return;  // the device wrote it there
            if (here.at->host != nullptr) {
                flight.later.push_back({here.at, here.offset, wanted.host});
            } else {
                const Point point = ports_[p]->download(*here.at, here.offset, wanted.host);
                flight.moved += wanted.host.size();
                if (point.value != 0) flight.ends.push_back({p, last, point});
            }
        } else if (!wanted.device.bytes) {
            flight.results.emplace_back(wanted.value, Located{here.foreign ? here.foreign : here.own, here.offset});
        } else if (here.at != wanted.device.bytes.get() || here.offset != wanted.device.offset) {
            const std::shared_ptr<Port>& target = wanted.device.bytes->port;
            if (target == ports_[p]) {
                const Point point = target->copy(*here.at, here.offset, *wanted.device.bytes, wanted.device.offset, bytes);
                if (point.value != 0) flight.ends.push_back({p, last, point});
            } else if (!plan_.fabric.empty() && overlaps_ && target->reaches(*ports_[p])) {
                const Point point = target->pull(*here.at, here.offset, *wanted.device.bytes, wanted.device.offset, bytes);
                target->wait(point);
                flight.peer += bytes;
            } else {
                to_host(flight, wanted.value);
                target->upload(place.host, *wanted.device.bytes, wanted.device.offset, true);
                flight.moved += bytes;
            }
        }
        return;
    }
}

// A state that several stages share is a value like others within a run; at its end the new value takes the old one's place.
void Executor::carry(Flight& flight) {
    for (const Plan::Carried& carried : plan_.carried) {
        Place& place = flight.frame->places[carried.value];
        for (Place::Here& here : place.on) {
            if (!here.valid || here.at == here.lent.get()) continue;  // that is another place's memory
            StateHold& hold = states_[carried.state];
            hold.at = {here.foreign ? here.foreign : here.own, here.offset};
            hold.written = true;
            here.own.reset();
            break;
        }
    }
}

}  // namespace backplane::plan
