#include "plan/sums.hpp"

#include <algorithm>

#include "backplane/sums.h"
#include "base/errors.hpp"
#include "base/floating_point.hpp"

namespace backplane::plan {

const bp_sums* Summing::table_of(const Port& port) {
    const auto* table = static_cast<const bp_sums*>(port.state_.extension(BP_SUMS));
    return table != nullptr && BP_HAS(table, prepare) && BP_HAS(table, sum) ? table : nullptr;
}

std::optional<uint64_t> Summing::from_bytes(std::span<const std::shared_ptr<Port>> ports, std::string& why) {
    for (size_t i = 1; i < ports.size(); ++i)
        if (!ports[i]->reaches(*ports[0])) return std::nullopt;
    const bp_sums* table = table_of(*ports[0]);
    if (table == nullptr || ports.size() < 2) return std::nullopt;
    std::vector<bp_device*> devices;
    for (const auto& port : ports) devices.push_back(port->state_.handle);
    base::ErrorRoom room;
    uint64_t least = 0;
    const base::KeepFloatingPoint keep;
    const bp_code code = table->prepare(devices.data(), static_cast<uint32_t>(devices.size()), &least, room.get());
    if (code == BP_OK) return least;
    if (code != BP_NOT_FOUND) why = room.text();
    return std::nullopt;
}

std::vector<Point> Summing::sum(std::span<const Part> parts, uint32_t dtype, uint64_t bytes) {
    constexpr uint32_t kQueue = 0;  // which computes
    std::vector<Port*> ports;
    for (const Part& part : parts) {
        if (part.port->lost()) part.port->state_.expect_there("cannot add up on " + part.port->name());
        ports.push_back(part.port);
    }
    std::sort(ports.begin(), ports.end());  // so that two that take several lanes do not wait for each other
    std::vector<std::unique_lock<std::mutex>> held;
    for (Port* port : ports) held.emplace_back(port->lanes_[kQueue].mutex);
    std::vector<Port::Needs> needs;
    std::vector<Point> points;
    for (const Part& part : parts) {
        const Port::Touch uses[] = {{part.from, false}, {part.to, true}};
        needs.push_back(part.port->needs_of(kQueue, uses, nullptr));
        points.push_back({kQueue, part.port->lanes_[kQueue].next + 1});
    }
    std::vector<bp_sum_part> all;
    for (size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        const Port::Order order = needs[i].order({part.port->lanes_[kQueue].fence, points[i].value});
        all.push_back({BP_SIZE(bp_sum_part, signal), kQueue, part.port->state_.handle, part.from->buffer, part.from_offset,
                       part.to->buffer, part.to_offset, order.wait, order.peer_wait, order.signal});
    }
    const bp_span span{all.data(), static_cast<uint32_t>(all.size()), sizeof(bp_sum_part)};
    base::ErrorRoom room;
    {
        const base::KeepFloatingPoint keep;
        const uint64_t elements = bytes / (dtype == BP_F32 ? 4 : 2);
        base::check(table_of(*parts[0].port)->sum(&span, dtype, elements, room.get()), "cannot add up", room);
    }
    for (size_t i = 0; i < parts.size(); ++i) {
        const Port::Touch uses[] = {{parts[i].from, false}, {parts[i].to, true}};
        parts[i].port->lanes_[kQueue].next = points[i].value;
        Port::note_uses(kQueue, uses, points[i], false);
        parts[i].port->peer_ += crossing(bytes, parts.size());
    }
    return points;
}

}  // namespace backplane::plan
