// "bp.sums" (backplane/sums.h) of a backend whose Api adds up over devices.
#pragma once

#include <string>

#include "backplane/sdk.hpp"
#include "backplane/sums.h"
#include "common/gpu/program.hpp"

namespace backplane::gpu {

// What one device has of a sum.
template <typename A>
struct SumPart {
    typename A::Device* device = nullptr;
    Range<typename A::Block> from, to;
    std::vector<Until<typename A::Timeline>> waits;
    typename A::Queue* queue = nullptr;
    typename A::Timeline* timeline = nullptr;
    uint64_t value = 0;
    std::string lost;  // in the driver's words, that the device is and signals nothing: sum() says so
};

// Of an Api that does: prepare_sums() returns bytes from which on it pays, `how` is the option kSumsOption; sum() hands it to the driver, and each part
// signals its value. broke() says of a value that is reached whether the sum was ended before it was made, once; broken_words() why the last one was.
template <typename A>
concept kHasSums = requires(std::span<typename A::Device* const> devices, std::span<SumPart<A>> parts,
                            const std::string& how, uint32_t dtype, uint64_t elements, typename A::Timeline& timeline,
                            typename A::Device& device) {
    { A::kSumsOption } -> std::convertible_to<const char*>;
    { A::prepare_sums(devices, how) } -> std::same_as<uint64_t>;
    {A::sum(parts, dtype, elements)};
    { A::broke(timeline, elements) } -> std::same_as<bool>;
    { A::broken_words(device) } -> std::same_as<std::string>;
};

template <typename A>
class SumsTable {
public:
    static const void* get() { return &kTable; }

private:
    using Device = gpu::Device<A>;
    struct One {
        Device* device = nullptr;
        Ticket<A> ticket;
        SumPart<A> part;
    };

    static bp_code prepare(bp_device* const* devices, uint32_t count, uint64_t* least_bytes, bp_error* error) {
        return sdk::guard(error, [&] {
            std::vector<typename A::Device*> all;
            for (uint32_t i = 0; i < count; ++i) {
                auto& device = *reinterpret_cast<Device*>(devices[i]);
                device.check_lost();
                all.push_back(device.api.get());
            }
            if (all.size() < 2) throw sdk::Failure(BP_INVALID, "sums: two devices at least are wanted");
            const auto& host = reinterpret_cast<Device*>(devices[0])->host;
            *least_bytes = A::prepare_sums(all, host.option(A::kSumsOption));
        });
    }

    static One admitted(const bp_sum_part& p, uint64_t bytes) {
        if (p.device == nullptr || p.from == nullptr || p.to == nullptr || p.signal.fence == nullptr)
            throw sdk::Failure(BP_INVALID, "sums: each part has a device, two buffers and a point to signal");
        One one;
        one.device = reinterpret_cast<Device*>(p.device);
        const auto range = [&](bp_buffer* handle, uint64_t offset) {
            const auto& buffer = *buffer_of<A>(handle);
            if (buffer.device != one.device) throw sdk::Failure(BP_INVALID, "sums: a buffer is another device's");
            if (offset > buffer.size || bytes > buffer.size - offset)
                throw sdk::Failure(BP_INVALID, "sums: " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                                   " lie outside the buffer of " + std::to_string(buffer.size));
            return buffer.range(offset, bytes);
        };
        one.part.from = range(p.from, p.from_offset);
        one.part.to = range(p.to, p.to_offset);
        one.ticket = one.device->admit(p.queue, one.device->physical.queues, p.wait, p.signal, p.peer_wait);
        one.part.device = one.device->api.get();
        one.part.waits = Device::waits_of(one.ticket);
        return one;
    }

    // All queues are held while the work is handed over.
    static void hand_over(std::vector<One>& all, std::vector<SumPart<A>>& parts, uint32_t dtype, uint64_t elements) {
        if (parts.size() == all.size()) return A::sum(parts, dtype, elements);
        One& one = all[parts.size()];
        one.part.value = one.ticket.queue->submit([&](auto& queue, auto& timeline, uint64_t value) {
            one.part.queue = &queue, one.part.timeline = &timeline, one.part.value = value;
            parts.push_back(one.part);
            hand_over(all, parts, dtype, elements);
        });
    }

    static bp_code sum(const bp_span* parts, uint32_t dtype, uint64_t elements, bp_error* error) {
        return sdk::guard(error, [&] {
            if (dtype != BP_F32 && dtype != BP_F16)
                throw sdk::Failure(BP_UNSUPPORTED, "sums are of f32 and f16; copy and add the others");
            const uint64_t bytes = elements * (dtype == BP_F32 ? 4 : 2);
            std::vector<One> all;
            for (uint32_t i = 0; i < parts->count; ++i)
                all.push_back(admitted(sdk::read(BP_AT(bp_sum_part, parts, i)), bytes));
            std::vector<SumPart<A>> handed;
            hand_over(all, handed, dtype, elements);
            // The sum is in the queues of all by now: of a lost one the host hears when it asks that device.
            for (size_t i = 0; i < all.size(); ++i) {
                const Ticket<A>& ticket = all[i].ticket;
                all[i].device->complete(ticket, all[i].part.value);
                ticket.fence->expect(*ticket.queue, ticket.value, all[i].part.value,
                                     [timeline = handed[i].timeline, value = all[i].part.value] {
                                         return A::broke(*timeline, value) ? BP_UNSUPPORTED : BP_OK;
                                     });
                if (!handed[i].lost.empty()) all[i].device->lose(handed[i].lost);
            }
        });
    }

    static constexpr bp_sums kTable = {BP_SIZE(bp_sums, sum), 0, prepare, sum};
};

}  // namespace backplane::gpu
