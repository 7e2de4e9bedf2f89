// Executor: bringing values to where they are needed.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "plan/executor.hpp"
#include "plan/flight.hpp"

namespace backplane::plan {

namespace {

// Host memory up to this size is copied into memory that the device shares with the host; above it is used where it lies, which is a call of
// the module or two for each run. A device that takes loans has its own size, and is asked only where the memory is not that of the run before.
// Bytes.
constexpr uint64_t kCopiedUpTo = uint64_t{64} << 10;

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    return !a.empty() && !b.empty() && std::less<>()(a.data(), b.data() + b.size()) &&
           std::less<>()(b.data(), a.data() + a.size());
}

// Whether a program may write there while the other memory of the submit is in use: one program may have both an input and an output there, or
// two outputs, of which one would be undone by the other's copy.
bool stands_alone(const Flight& flight, const Wanted& one) {
    return std::ranges::none_of(flight.given, [&](const Given& given) { return overlap(given.host, one.host); }) &&
           std::ranges::none_of(flight.wanted,
                                [&](const Wanted& other) { return &other != &one && overlap(other.host, one.host); });
}

}  // namespace

std::unique_ptr<Bound> Executor::bind(uint32_t stage, uint32_t port) {
    auto made = std::make_unique<Bound>();
    made->program = build_(stage, port);
    std::vector<const SlotUse*> uses;  // by tensor
    for (const SlotUse& use : plan_.stages[stage].uses) {
        if (use.tensor >= uses.size()) uses.resize(std::max<size_t>(use.tensor + size_t{1}, 2 * uses.size()));
        uses[use.tensor] = &use;
    }
    const auto& slots = made->program->facts().slots;
    made->slots.reserve(slots.size());
    made->uses.reserve(slots.size());
    for (uint32_t i = 0; i < slots.size(); ++i) {
        if (slots[i].tensor >= uses.size() || uses[slots[i].tensor] == nullptr)
            throw Error(Code::internal, "the module of " + ports_[port]->name() + " wants temporary " +
                                            std::to_string(slots[i].tensor) + " bound: report this to its author");
        const SlotUse& use = *uses[slots[i].tensor];
        const Value& value = plan_.values[use.value];
        Bound::Slot slot;
        slot.value = use.value;
        slot.kind = value.kind;
        slot.written = use.written;
        slot.alignment = std::max<uint64_t>(slots[i].alignment, 1);
        slot.bytes = value.kind == Kind::weight || value.kind == Kind::state ? slots[i].bytes : value.bytes;
        if (value.kind == Kind::weight) {
            slot.image = image_(use.value, stage, made->program, i);
            slot.streamed = use.streamed;
            if (use.streamed) {
                if (slot.bytes == 0) slot.bytes = value.bytes;
                made->streamed.push_back(i);
                slot.at = std::exchange(made->place_bytes, made->place_bytes + Ring::in_place(slot.bytes));
            }
        } else {
            made->changing.push_back(i);
        }
        made->uses.push_back({slots[i].tensor, nullptr, 0, slot.bytes, use.written});
        made->slots.push_back(std::move(slot));
    }
    return made;
}

Bound& Executor::bound(uint32_t stage, uint32_t port) {
    std::unique_ptr<Bound>& there = bound_[stage][port];
    if (!there) there = bind(stage, port);
    if (there->ready) return *there;
    const uint64_t copied = ports_[port]->residency().copied();
    for (size_t i = 0; i < there->slots.size(); ++i) {
        Bound::Slot& slot = there->slots[i];
        if (slot.kind != Kind::weight || slot.streamed) continue;
        slot.weight = ports_[port]->residency().acquire(slot.image.interest, slot.image.make);
        there->uses[i].bytes = slot.weight.get();
    }
    if (std::exchange(there->gave, false)) came_again_ += ports_[port]->residency().copied() - copied;
    there->ready = true;
    return *there;
}

Ring& Executor::ring_on(uint32_t port) {
    std::unique_ptr<Ring>& ring = rings_[port];
    if (!ring) ring = std::make_unique<Ring>(*ports_[port], plan_.ring, plan_.place_bytes(port), holder_ + ": ring");
    return *ring;
}

// The place that has the stage's streamed weights, copied there unless they are there already.
Bytes Executor::fetch(Bound& bound, uint32_t stage, uint32_t port) {
    Ring& ring = ring_on(port);
    Bytes place = ring.holding(stage);
    if (!place) {
        if (bound.place_bytes > ring.bytes_each())
            throw Error(Code::internal,
                        "the weights of stage " + plan_.stages[stage].name + " are larger than its plan says");
        place = ring.next(stage);
        try {
            copy_streamed(bound, port, *place);
        } catch (...) {
            ring.forget();
            throw;
        }
    }
    for (const uint32_t i : bound.streamed) {
        bound.uses[i].bytes = place.get();
        bound.uses[i].offset = bound.slots[i].at;
    }
    return place;
}

void Executor::copy_streamed(Bound& bound, uint32_t port, Storage& place) {
    Port& device = *ports_[port];
    if (!bound.gathered && !bound.apart) gather(bound, port, place);
    if (bound.gathered) {
        if (bound.gathered->buffer != nullptr)
            device.copy(*bound.gathered, 0, place, 0, bound.place_bytes);
        else
            device.upload({bound.gathered->host, bound.place_bytes}, place);
        return;
    }
    for (const uint32_t i : bound.streamed) {
        const Bound::Slot& slot = bound.slots[i];
        device.upload(slot.image.host(place, slot.at, {}), place, slot.at, false, bound.place_bytes);
    }
}

// Once, where the device has memory of its own: a copy costs some microseconds, and a stage has dozens of weights.
void Executor::gather(Bound& bound, uint32_t port, Storage& room) {
    bound.apart = true;
    if (ports_[port]->in_host_memory()) return;
    Bytes made;
    try {
        made = ports_[port]->allocate_pinned(bound.place_bytes, holder_ + ": streamed weights");
    } catch (const Error& error) {
        if (error.code() != Code::no_device_memory) throw;
        return;
    }
    for (const uint32_t i : bound.streamed) {
        const Bound::Slot& slot = bound.slots[i];
        static_cast<void>(slot.image.host(room, slot.at, {made->host + slot.at, static_cast<size_t>(slot.bytes)}));
    }
    bound.gathered = std::move(made);
}

// What the next submit begins with is copied under what this one ends with. Each stage that runs has been bound by now.
void Executor::fetch_ahead() {
    for (const auto& [port, ring] : rings_) {
        if (!ring || ports_[port]->queue_up(ring->bytes_each()) == 0) continue;
        size_t ahead = 0;
        try {
            for (uint32_t s = 0; s < plan_.stages.size() && ahead < ring->places(); ++s) {
                Bound* made = bound_[s][port].get();
                if (port_now(s) != port || !plan_.stages[s].streams() || made == nullptr) continue;
                ++ahead;
                static_cast<void>(fetch(*made, s, port));
            }
        } catch (const Error&) {
            ring->forget();  // this submit is as it is, the next one meets what was wrong
        }
    }
}

void Executor::forget_fetched() {
    for (const auto& [port, ring] : rings_)
        if (ring) ring->forget();
}

// The block that the plan gives a value. What has it now goes, unless a stage is still to read it: work after a lost device comes in another
// order than the plan's.
Storage* Executor::block_for(Flight& flight, uint32_t value, Where where) {
    const Plan::Blocks& blocks = blocks_[where.port];
    const uint32_t which = blocks.of[value];
    if (which == Plan::kNoBlock) return nullptr;
    Block& block = flight.frame->blocks[where.port][which];
    if (block.bytes && block.value != value) {
        Place& theirs = flight.frame->places[block.value];
        if (last_reads_[block.value] >= where.stage && has_place(theirs, ports_)) return nullptr;
        if (block.bytes->host != nullptr) {
            // The host, and other devices by way of it, read there without leaving points.
            ports_[where.port]->wait_unused(*block.bytes);
            for (const Flight::End& end : flight.ends)
                if (theirs.on_host && end.port != where.port && !ports_[end.port]->lost()) ports_[end.port]->wait(end.point);
        }
        theirs.on_host = false;
        for (Place::Here& here : theirs.on) here.valid = false;
    }
    if (!block.bytes) block.bytes = allocate(value, where.port, blocks.bytes[which]);
    block.value = value;
    return block.bytes.get();
}

Bytes Executor::allocate(uint32_t value, uint32_t port, uint64_t bytes) {
    Bytes made = ports_[port]->allocate_shared(bytes, holder_);
    if (!made) made = ports_[port]->allocate(bytes, holder_ + ": " + name_of(plan_.values[value].kind) + "s");
    return made;
}

Storage& Executor::own(Flight& flight, uint32_t value, Where where) {
    Place::Here& here = flight.frame->places[value].on[where.port];
    here.foreign.reset();
    here.offset = 0;
    here.at = block_for(flight, value, where);
    if (here.at != nullptr) return *here.at;
    if (here.own.use_count() != 1)  // none yet, or the last one was handed out as a result
        here.own = allocate(value, where.port, plan_.values[value].bytes);
    here.at = here.own.get();
    return *here.own;
}

// Memory of the caller's or of the host's where it lies; null: it is to be copied. Has it named by the place.
Storage* Executor::in_place(Flight& flight, uint32_t value, uint32_t port, std::span<const std::byte> memory) {
    Port& device = *ports_[port];
    Place::Here& here = flight.frame->places[value].on[port];
    if (!device.takes_loans()) {
        if (memory.size() > kCopiedUpTo) here.foreign = device.in_place(memory);
        return here.foreign.get();
    }
    if (!device.borrows(memory)) return nullptr;
    if (!here.lent || here.lent->host != memory.data() || here.lent->bytes != memory.size()) {
        here.lent.reset();
        here.lent = device.in_place(memory);
    }
    return here.lent.get();
}

void Executor::to_host(Flight& flight, uint32_t value) {
    Place& place = flight.frame->places[value];
    if (place.on_host) return;
    const uint64_t bytes = plan_.values[value].bytes;
    for (uint32_t q = 0; q < ports_.size(); ++q) {
        const Place::Here& here = place.on[q];
        if (!here.valid || ports_[q]->lost()) continue;
        // What made it has to have gone well, which a copy of it does not tell; what other devices had a part in, too.
        for (const Flight::End& end : flight.ends)
            if (end.port == q || flight.peer > 0) ports_[end.port]->wait(end.point);
        if (here.at->host != nullptr) {
            ports_[q]->wait_written(*here.at);
            place.host = {here.at->host + here.offset, static_cast<size_t>(bytes)};
        } else {
            place.kept.resize(bytes);
            ports_[q]->download(*here.at, here.offset, place.kept, true);
            flight.moved += bytes;
            place.host = place.kept;
        }
        place.on_host = true;
        return;
    }
    throw Error(Code::device_lost, "value " + plan_.values[value].name + " was lost with its device");
}

// From another device to this one, ordered by points: whether it went well is asked when the flight ends.
bool Executor::pull(Flight& flight, uint32_t value, Where where) {
    Place& place = flight.frame->places[value];
    if (plan_.fabric.empty() || !overlaps_ || (place.on_host && !plan_.comes_from_peers(value))) return false;
    Port& device = *ports_[where.port];
    for (uint32_t q = 0; q < ports_.size(); ++q) {
        const Place::Here& there = place.on[q];
        if (!there.valid || ports_[q]->lost() || !device.reaches(*ports_[q])) continue;
        const uint64_t bytes = plan_.values[value].bytes;
        Storage& source = *there.at;
        const uint64_t offset = there.offset;
        Storage& to = own(flight, value, where);
        const Point point = device.pull(source, offset, to, 0, bytes);
        flight.ends.push_back({where.port, where.stage, point});
        flight.peer += bytes;
        return true;
    }
    return false;
}

void Executor::bring(Flight& flight, const Bound& bound, uint32_t slot, Where where, Use& use) {
    const uint32_t port = where.port;
    const uint32_t value = bound.slots[slot].value;
    Place& place = flight.frame->places[value];
    Place::Here& here = place.on[port];
    Port& device = *ports_[port];
    if (here.valid && here.offset % bound.slots[slot].alignment != 0) {
        const Bytes unaligned = here.foreign ? here.foreign : here.own;
        const uint64_t offset = here.offset;
        Storage& to = own(flight, value, where);
        device.copy(*unaligned, offset, to, 0, use.size);
    }
    if (!here.valid && pull(flight, value, where)) here.valid = true;
    if (!here.valid) {
        to_host(flight, value);
        if (Storage* const there = in_place(flight, value, port, place.host); there != nullptr) {
            here.at = there;
            here.offset = 0;
        } else if (Storage& to = own(flight, value, where); to.host != nullptr) {
            if (!place.host.empty()) std::memcpy(to.host, place.host.data(), place.host.size());
        } else {
            // Not behind the weights that are streamed: this work begins with it, and where the one before is still at work it is there by then.
            device.upload(place.host, to, 0, false, hands_on_ ? Port::kBesideOthers : 0);
            flight.moved += place.host.size();
        }
        here.valid = true;
    }
    use.bytes = here.at;
    use.offset = here.offset;
}

void Executor::room(Flight& flight, const Bound& bound, uint32_t slot, Where where, Use& use) {
    const uint32_t port = where.port;
    const uint32_t value = bound.slots[slot].value;
    Place::Here& here = flight.frame->places[value].on[port];
    here.foreign.reset();
    Storage* there = nullptr;
    for (const Wanted& wanted : flight.wanted) {
        if (wanted.value != value) continue;
        // What lies where the device cannot write is written elsewhere, and copied.
        if (wanted.device.bytes && wanted.device.bytes->port == ports_[port] &&
            wanted.device.offset % bound.slots[slot].alignment == 0) {
            here.foreign = wanted.device.bytes;
            here.offset = wanted.device.offset;
            there = here.foreign.get();
        } else if (stands_alone(flight, wanted)) {
            there = in_place(flight, value, port, wanted.host);
            here.offset = 0;
        }
        break;
    }
    if (there != nullptr) {
        here.at = there;
    } else {
        own(flight, value, where);
    }
    use.bytes = here.at;
    use.offset = here.offset;
}

}  // namespace backplane::plan
