#include "runtime/room.hpp"

#include <algorithm>

#include "backplane/runtime.hpp"
#include "plan/residency.hpp"

namespace backplane {

void limit_memory(const Device& device, uint64_t bytes) {
    if (!device) throw Error(Code::invalid, "cannot limit memory: no device given");
    DeviceAccess::state(device)->memory_limit = bytes;
    plan::Port::of(device)->set_budget(bytes);
}

namespace runtime {

namespace {

constexpr uint64_t kMargin = 16;  // part of what a device says that is left to the driver

}  // namespace

uint64_t room_on(const Device& device) {
    const std::shared_ptr<plan::Port> port = plan::Port::of(device);
    const Ledger there = ledger(device);
    const std::vector<Heap> heaps = device.heaps();
    const bool knows_us = !heaps.empty() && heaps.front().flags.has(HeapFlag::budget);
    uint64_t movable = port->residency().bytes();
    for (const Holder& holder : there.holders)
        if (holder.name == "workspace") movable += holder.bytes;
    const uint64_t stays = there.held - std::min(there.held, movable);
    const auto less = [](uint64_t from, uint64_t what) { return from - std::min(from, what); };
    uint64_t room = UINT64_MAX;
    if (there.available != 0) {
        const uint64_t left = there.available - there.available / kMargin;
        room = knows_us ? left + std::min(there.held, movable) : less(left, stays);
    }
    if (const uint64_t limit = port->budget(); limit != 0) room = std::min(room, less(limit, stays));
    return room == UINT64_MAX ? 0 : std::max<uint64_t>(room, 1);
}

bool is_used_up(const Device& device) {
    const std::vector<Heap> heaps = device.heaps();
    return !heaps.empty() && heaps.front().flags.has(HeapFlag::budget) && heaps.front().available <= 1;
}

bool keeps_order(const Device& device) { return plan::Port::of(device)->keeps_order(); }

}  // namespace runtime

}  // namespace backplane
