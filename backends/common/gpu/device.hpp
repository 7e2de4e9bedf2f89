// An open device of an Api: queues, memory, kernels, copies.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/gpu/compile.hpp"
#include "common/gpu/kernel_store.hpp"
#include "common/gpu/lowering.hpp"
#include "common/gpu/parallel.hpp"
#include "common/gpu/staging.hpp"
#include "common/host.hpp"
#include "common/query.hpp"
#include "common/requests.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {

// A call of the host that puts work on a queue: what it waits for, and what it signals.
template <typename A>
struct Ticket {
    Queue<A>* queue = nullptr;
    std::vector<std::pair<Queue<A>*, uint64_t>> after;  // on other queues, of peers too, not reached yet
    Fence<A>* fence = nullptr;                          // null: the call returns when the work is done
    uint64_t value = 0;
};

template <typename A>
using CopySide = backend::Side<const Buffer<A>>;
template <typename A>
using CopySides = backend::Sides<const Buffer<A>>;

template <typename A>
class Device {
public:
    using Instance = typename A::Instance;
    using Physical = typename A::Physical;
    using Waits = std::vector<Until<typename A::Timeline>>;

    // All outlive it.
    Device(const backend::Host& h, const Instance& i, const Physical& p) : host(h), instance(i), physical(p), facts_(p) {
        A::choose(can_, host.option((std::string(A::kBackend) + ".kernels").c_str(), A::kKernelOptions));
        // A CPU's driver goes through all that a step could be, for each: a dispatch for each op takes a fourth to a twentieth of the time.
        const std::string chains = host.option((std::string(A::kBackend) + ".chains").c_str(), {"off", "on"});
        can_.chains = chains.empty() ? can_.chains && !can_.software : chains == "on";
        lose_after_ = host.lose_after(A::kBackend);
        api = std::make_unique<typename A::Device>(instance, physical, can_);
        memory = std::make_unique<Memory<A>>(*api, facts_);
        staging_ = std::make_unique<Staging<A>>(*api, *memory);
        kernels = std::make_unique<KernelStore<A>>(host, facts_, *api);
        for (uint32_t q = 0; q < physical.queues + physical.copy_queues; ++q)
            queues_.push_back(std::make_unique<Queue<A>>(*api, host, q, !can_.software));
        nothing_.emplace(A::begin(*api, 0));
        A::end(*nothing_);
    }
    ~Device() {
        for (const auto& queue : queues_) queue->end(lost_);
        if (!lost_) kernels->remember_those_that_ran();
    }

    const backend::Host& host;
    const Instance& instance;
    const Physical& physical;
    std::unique_ptr<typename A::Device> api;
    std::unique_ptr<Memory<A>> memory;
    std::unique_ptr<KernelStore<A>> kernels;

    [[nodiscard]] const Abilities& can() const { return can_; }
    // The same, less what does_without() has found out. [any]
    [[nodiscard]] Abilities abilities() const {
        Abilities can = can_;
        if (refused_warpgroups_) can.warpgroups = can.warpgroup_products = false;
        if (refused_parts_ || refused_) can.float_parts = 0;
        if (refused_) can.matrices = can.matrix_tiles = can.workgroup_matrices = can.attention_matrix = false;
        return can;
    }
    // A kernel could not be built. True: abilities() says now what makes plans without it, and the log why. [any]
    bool does_without(uint32_t kernel, const sdk::Failure& why) {
        if (!on_matrix_units(kernel) || why.code() == BP_DEVICE_LOST) return false;
        const bool warpgroups = on_warpgroups(kernel), parts = in_parts(kernel);
        if (!(warpgroups ? refused_warpgroups_ : parts ? refused_parts_ : refused_).exchange(true))
            host.warn(std::string(A::kBackend) + ": " + physical.name + " works without its matrix units" +
                      (warpgroups ? " as warpgroups use them: "
                       : parts    ? " for floats: "
                                  : ": ") +
                      why.what());
        return true;
    }

    // `why`: what its driver said, where another device heard of it.
    void lose(std::string_view why = {}) {
        {
            const std::lock_guard lock(why_mutex_);
            if (lost_) return;
            if (!why.empty()) why_ = " (" + std::string(why.substr(0, why.find("; "))) + ")";  // without the remedy
            lost_ = true;
        }
        if constexpr (requires(typename A::Device & d) { A::lost(d); }) A::lost(*api);
    }
    [[nodiscard]] bool lost() const { return lost_; }
    // Throws Failure(BP_DEVICE_LOST) when it is.
    void check_lost() const {
        if (lost_)
            throw sdk::Failure(BP_DEVICE_LOST, physical.name + " was lost by its driver in an earlier call" + why_ +
                                                   "; close the device and open it again");
    }

    // Checks everything that a call says of order; nothing is submitted by then. Throws Failure(BP_INVALID). [queue]
    Ticket<A> admit(uint32_t queue, uint32_t queues, const bp_span& wait, const bp_point& signal,
                    const bp_span& peer_wait = {}) {
        Ticket<A> ticket;
        if (queue >= queues)
            backend::invalid("queue " + std::to_string(queue) + " does not take this call; the device has " +
                             std::to_string(queues) + " for it");
        ticket.queue = queues_[queue].get();
        if (wait.count != 0 && wait.first == nullptr) backend::invalid("wait: the points have no memory");
        for (uint32_t i = 0; i < wait.count; ++i) {
            const bp_point& point = *BP_AT(bp_point, &wait, i);
            const auto [on, at] = fence_of(point.fence, "wait").find(point.value);
            if (on != nullptr && on != ticket.queue && !on->reached(at)) ticket.after.emplace_back(on, at);
        }
        for (uint32_t i = 0; i < peer_wait.count; ++i) {
            const bp_point& point = *BP_AT(bp_point, &peer_wait, i);
            auto* fence = reinterpret_cast<Fence<A>*>(point.fence);
            if (fence == nullptr) backend::invalid("peer_wait: a point has no fence");
            check_peer(fence->owner(), "peer_wait");
            const auto [on, at] = fence->find(point.value);
            if (on != nullptr && fence->owner().is_at(*on, at)) ticket.after.emplace_back(on, at);
        }
        if (signal.fence != nullptr) {
            ticket.fence = &fence_of(signal.fence, "signal");
            ticket.value = signal.value;
            ticket.fence->check_next(*ticket.queue, signal.value);
        }
        check_lost();
        return ticket;
    }
    // For another device that would wait: work of this one is under way. What a lost device was to do the host asks it itself, and the other goes on. [any]
    bool is_at(Queue<A>& queue, uint64_t value) {
        if (lost_) return false;
        try {
            return !queue.reached(value);
        } catch (const sdk::Failure& failure) {
            if (failure.code() != BP_DEVICE_LOST) throw;
            lose(failure.what());
            return false;
        }
    }
    // A run is about to be submitted. Throws Failure(BP_DEVICE_LOST) when a test wants the device lost here.
    void count_run() {
        if (lose_after_ == 0 || ++runs_ <= lose_after_) return;
        lose();
        check_lost();
    }
    static Waits waits_of(const Ticket<A>& ticket) {
        Waits waits;
        for (const auto& [queue, value] : ticket.after) waits.push_back({&queue->timeline(), value});
        return waits;
    }
    // The end of a call whose work is done when its queue reaches `value`: signals, or waits.
    void complete(const Ticket<A>& ticket, uint64_t value, bp_code outcome = BP_OK,
                  const volatile uint32_t* cancel = nullptr) {
        if (ticket.fence != nullptr) {
            ticket.fence->signal(*ticket.queue, ticket.value, value, outcome, cancel);
            return;
        }
        ticket.queue->end_until(value);
        kernels->remember_those_that_ran();
        if (outcome == BP_CANCELLED) throw sdk::Failure(BP_CANCELLED, "run was cancelled");
    }
    // Behind what the ticket waits for; returns the queue's value.
    static uint64_t submit(const Ticket<A>& ticket, const typename A::Recording& recording) {
        return ticket.queue->submit([&](auto& queue, auto& timeline, uint64_t value) {
            A::submit(queue, recording, waits_of(ticket), timeline, value);
        });
    }
    // Work of nothing: reached when all before it on the queue, and what the ticket waits for, has ended.
    uint64_t submit_nothing(const Ticket<A>& ticket) { return submit(ticket, *nothing_); }

    // Heap 0 is the device's own memory, heap 1 pinned memory of the host.
    [[nodiscard]] std::vector<bp_heap> heaps() const {
        bp_heap own{};
        const uint64_t free = instance.free_bytes(physical);
        own.flags = (can_.unified ? uint32_t{BP_MEM_UNIFIED} | BP_MEM_HOST_VISIBLE : 0U) |
                    (free != 0 ? uint32_t{BP_MEM_BUDGET} : 0U);
        own.total = physical.memory_total;
        own.used_by_us = memory->used();
        own.available = free != 0 ? free : own.total - std::min(own.total, own.used_by_us);
        own.largest_block = std::min(own.available, can_.most_allocation);
        bp_heap pinned{};
        pinned.flags = BP_MEM_PINNED | BP_MEM_HOST_VISIBLE;
        pinned.used_by_us = memory->pinned();
        pinned.largest_block = can_.most_allocation;
        own.alignment = pinned.alignment = can_.storage_alignment;
        return {own, pinned};
    }
    void query(const bp_graph& graph, const bp_array& answers) const {
        backend::answer_query<Plan>(&graph, answers,
                                    [&](const Plan& p, const Node& node) { return check_node(p, node, can_); });
    }
    std::unique_ptr<HeldBuffer<A>> create(uint32_t heap, uint64_t size) {
        if (heap > 1)
            backend::invalid(std::string("buffer_create: devices of ") + A::kName +
                             " have two heaps: 0, their own, and 1, pinned memory of the host");
        check_lost();
        const auto placement = heap == 0 ? Placement::device : Placement::pinned;
        return std::make_unique<HeldBuffer<A>>(memory->create(size, placement), *this);
    }
    std::unique_ptr<HeldBuffer<A>> import(void* of_host, uint64_t size) {
        check_lost();
        return std::make_unique<HeldBuffer<A>>(memory->import(of_host, size), *this);
    }
    std::unique_ptr<Fence<A>> make_fence() {
        check_lost();
        return std::make_unique<Fence<A>>(*this);
    }

    // What a point of a fence came to; BP_TIMEOUT: nothing yet. A lost device answers when nothing of the work touches host memory. [any]
    bp_code wait(Fence<A>& fence, uint64_t value, uint64_t nanoseconds) {
        constexpr uint64_t kSlice = 50'000'000;  // nanoseconds in which nobody looks whether the device was lost
        constexpr uint64_t kLoss = 900'000'000;  // that a lost device gets to end what it does
        const auto [queue, at] = fence.find(value);
        if (queue == nullptr) return BP_OK;
        const auto start = std::chrono::steady_clock::now();
        while (!lost_) {
            const uint64_t left = nanoseconds - std::min(nanoseconds, backend::nanoseconds_since(start));
            try {
                if (left == 0 ? queue->reached(at) : queue->end_until(at, std::min(left, kSlice))) {
                    queue->finish();
                    kernels->remember_those_that_ran();
                    return fence.outcome(value);
                }
            } catch (const sdk::Failure& f) {
                if (f.code() != BP_DEVICE_LOST) throw;
                lose();
                break;
            }
            if (backend::nanoseconds_since(start) >= nanoseconds) return BP_TIMEOUT;
        }
        try {
            if (queue->wait(at, kLoss)) {
                queue->finish();
                return fence.outcome(value);
            }
        } catch (const sdk::Failure&) {  // NOLINT(bugprone-empty-catch): it is lost, as is said next
        }
        queue->drop(at);
        fence.lose(value);
        return BP_DEVICE_LOST;
    }

    // As bp_module_api.copy. [queue]
    void copy(const bp_copy& copy);
    // Bytes into memory that nothing uses yet; returns when they are there. [any]
    void fill(const Buffer<A>& to, uint64_t offset, const std::byte* from, uint64_t bytes) {
        if (bytes == 0) return;
        if (std::byte* at = seen_by_host(to) ? A::map(*api, to.range(offset, bytes)) : nullptr; at != nullptr) {
            std::memcpy(at, from, bytes);
            A::unmap(*api, to.range(offset, bytes), at);
            return;
        }
        Ticket<A> ticket;
        ticket.queue = queues_[physical.copy_queues != 0 ? physical.queues : 0].get();
        ticket.queue->wait(upload(ticket, to, offset, from, bytes));
    }
    // Bytes from the host's memory, by way of pinned memory; returns the queue's value. The host's may change at once.
    uint64_t upload(const Ticket<A>& ticket, const Buffer<A>& to, uint64_t offset, const std::byte* from, uint64_t bytes);
    // The same of few pieces.
    uint64_t upload_in_parts(const Ticket<A>& ticket, const Buffer<A>& to, uint64_t offset, const std::byte* from,
                             uint64_t bytes, std::vector<typename Staging<A>::Taken> pieces);

    static bool seen_by_host(const Buffer<A>& buffer) {
        return buffer.stretch != nullptr &&
               (buffer.stretch->pinned || buffer.stretch->imported || buffer.device->can().unified);
    }

private:
    Fence<A>& fence_of(bp_fence* handle, const char* what) {
        auto* fence = reinterpret_cast<Fence<A>*>(handle);
        if (fence == nullptr || &fence->owner() != this)
            backend::invalid(std::string(what) + ": the fence is none of this device; make one on it");
        return *fence;
    }
    // Throws Failure(BP_INVALID) for a device that this one cannot copy from.
    void check_peer(const Device& other, const char* what) const {
        if (&other == this) backend::invalid(std::string(what) + ": it is of this device, another one is wanted");
        if (!physical.peers || !other.physical.peers || &other.instance != &instance)
            backend::invalid(std::string(what) + ": " + physical.name + " and " + other.physical.name +
                             " are no peers (BP_CAN_PEER); go by way of the host");
    }
    // From a buffer of another device; returns the queue's value.
    uint64_t copy_from_peer(const Ticket<A>& ticket, const CopySides<A>& sides, uint64_t bytes);
    // Copies that are still to write to these bytes of the host's, whatever their queue, do so now.
    void settle(const std::byte* first, uint64_t bytes) {
        for (const auto& queue : queues_)
            if (const uint64_t value = queue->until_written(first, bytes); value != 0) queue->end_until(value);
    }
    // By the calling thread, when nothing is under way that it would come before.
    bool copy_by_host(const Ticket<A>& ticket, const CopySides<A>& sides, uint64_t bytes);
    uint64_t copy_by_device(const Ticket<A>& ticket, const CopySides<A>& sides, uint64_t bytes);
    uint64_t download(const Ticket<A>& ticket, const Buffer<A>& from, uint64_t offset, std::byte* to, uint64_t bytes);
    // The first of several takes the waits: what comes after it on the queue waits with it. [any]
    uint64_t move(const Ticket<A>& ticket, Range<typename A::Block> from, Range<typename A::Block> to, Waits& waits) {
        return ticket.queue->submit([&](auto& queue, auto& timeline, uint64_t value) {
            A::copy(queue, from, to, std::exchange(waits, {}), timeline, value);
        });
    }

    Facts facts_;  // of `physical`; it can less where options say so
    Abilities& can_ = facts_.can;
    std::unique_ptr<Staging<A>> staging_;
    std::vector<std::unique_ptr<Queue<A>>> queues_;
    std::optional<typename A::Recording> nothing_;
    std::mutex why_mutex_;
    std::string why_;  // set before `lost_`, and no more then
    std::atomic<bool> lost_ = false, refused_ = false, refused_parts_ = false, refused_warpgroups_ = false;
    std::atomic<uint64_t> runs_ = 0;
    uint64_t lose_after_ = 0;
};

}  // namespace backplane::gpu

#include "common/gpu/copies.hpp"
