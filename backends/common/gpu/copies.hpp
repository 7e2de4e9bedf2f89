// The copies of gpu::Device: by the caller's thread where the host sees the memory and nothing is under way, else by the device, by way of pinned
// memory where one side is the host's own. A part of device.hpp, which includes it.
#pragma once

#include "common/gpu/device.hpp"

namespace backplane::gpu {

// A side of a copy as the host sees it while that lasts; null: it does not.
template <typename A>
class HostView {
public:
    explicit HostView(const CopySide<A>& side, uint64_t bytes) : at_(side.host) {
        if (side.buffer == nullptr) return;
        device_ = side.buffer->device;
        range_ = side.buffer->range(side.offset, bytes);
        at_ = A::map(*device_->api, range_);
    }
    HostView(const HostView&) = delete;
    HostView& operator=(const HostView&) = delete;
    ~HostView() {
        if (at_ != nullptr && device_ != nullptr) A::unmap(*device_->api, range_, at_);
    }
    [[nodiscard]] std::byte* get() const { return at_; }

private:
    Device<A>* device_ = nullptr;
    Range<typename A::Block> range_;
    std::byte* at_ = nullptr;
};

template <typename A>
uint64_t Device<A>::upload(const Ticket<A>& ticket, const Buffer<A>& to, uint64_t offset, const std::byte* from,
                           uint64_t bytes) {
    // Where copies come faster than the bus takes them there are too few pieces: each thread then waits for one.
    if (bytes != 0 && bytes <= kMostParts * kPieceBytes)
        if (auto pieces = staging_->take_at_once((bytes - 1) / part_bytes(bytes) + 1); !pieces.empty())
            return upload_in_parts(ticket, to, offset, from, bytes, std::move(pieces));
    Waits waits = waits_of(ticket);
    std::atomic<uint64_t> next{0}, last{0};
    const uint64_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
    in_parallel(host, static_cast<uint32_t>(std::min<uint64_t>(kLanes, pieces)), [&](uint32_t) {
        for (uint64_t p = next++; p < pieces; p = next++) {
            const uint64_t first = p * kPieceBytes, size = std::min(kPieceBytes, bytes - first);
            auto piece = staging_->take();
            std::memcpy(piece->at, from + first, size);
            const uint64_t value = move(ticket, piece->buffer.range(0, size), to.range(offset + first, size), waits);
            staging_->use(*piece.release(), *ticket.queue, value, false);
            for (uint64_t known = last; known < value && !last.compare_exchange_weak(known, value);) {
            }
        }
    });
    return last;
}

// By this thread alone as far as the driver is concerned: what a thread asks of it first takes hundreds of microseconds. Others fill pinned memory
// meanwhile where that takes longer than starting them.
template <typename A>
uint64_t Device<A>::upload_in_parts(const Ticket<A>& ticket, const Buffer<A>& to, uint64_t offset, const std::byte* from,
                                    uint64_t bytes, std::vector<typename Staging<A>::Taken> pieces) {
    const uint64_t step = part_bytes(bytes);
    const auto caller = std::this_thread::get_id();
    const auto size_of = [&](size_t i) { return std::min(step, bytes - i * step); };
    Waits waits = waits_of(ticket);
    uint64_t last = 0;
    std::mutex mutex;
    std::vector<size_t> filled;
    const auto hand_over = [&] {
        std::vector<size_t> ready;
        {
            const std::lock_guard lock(mutex);
            ready.swap(filled);
        }
        for (const size_t i : ready) {
            last = move(ticket, pieces[i]->buffer.range(0, size_of(i)), to.range(offset + i * step, size_of(i)), waits);
            staging_->use(*pieces[i].release(), *ticket.queue, last, false);
        }
    };
    std::atomic<size_t> next{0};
    const uint64_t lanes = bytes < kWorthThreads ? 1 : std::min<uint64_t>(kLanes, pieces.size());
    in_parallel(host, static_cast<uint32_t>(lanes), [&](uint32_t) {
        for (size_t i = next++; i < pieces.size(); i = next++) {
            std::memcpy(pieces[i]->at, from + i * step, size_of(i));
            {
                const std::lock_guard lock(mutex);
                filled.push_back(i);
            }
            if (std::this_thread::get_id() == caller) hand_over();
        }
    });
    hand_over();
    return last;
}

template <typename A>
uint64_t Device<A>::download(const Ticket<A>& ticket, const Buffer<A>& from, uint64_t offset, std::byte* to,
                             uint64_t bytes) {
    Waits waits = waits_of(ticket);
    uint64_t last = 0;
    for (uint64_t first = 0; first < bytes; first += kPieceBytes) {
        const uint64_t size = std::min(kPieceBytes, bytes - first);
        auto taken = staging_->take();
        last = move(ticket, from.range(offset + first, size), taken->buffer.range(0, size), waits);
        auto* piece = taken.release();
        staging_->use(*piece, *ticket.queue, last, true);
        ticket.queue->defer({last, to + first, piece->at, size, [this, piece] { staging_->give_back(*piece); }});
    }
    return last;
}

template <typename A>
bool Device<A>::copy_by_host(const Ticket<A>& ticket, const CopySides<A>& sides, uint64_t bytes) {
    const auto& [from, to, zero] = sides;
    const auto seen = [](const Buffer<A>* side) { return side == nullptr || seen_by_host(*side); };
    bool reachable = seen(from.buffer) && seen(to.buffer);
    // Into the device's own memory, where there is a way to it: of some KiB that takes less time than a submission.
    if constexpr (requires { A::kWrittenUpTo; })
        reachable |= from.host != nullptr && to.buffer != nullptr && bytes <= A::kWrittenUpTo &&
                     A::map(*api, to.buffer->range(to.offset, bytes)) != nullptr;
    if (!reachable) return false;
    // Both in one stretch: an interface may see the same bytes mapped twice.
    if (from.buffer != nullptr && to.buffer != nullptr && from.buffer->stretch == to.buffer->stretch) return false;
    const bool host_only = from.buffer == nullptr && to.buffer == nullptr;
    if (ticket.fence != nullptr && !host_only && (!ticket.after.empty() || !ticket.queue->idle())) return false;
    for (const auto& [queue, value] : ticket.after) queue->wait(value);
    ticket.queue->wait(ticket.queue->last());
    ticket.queue->finish();
    const HostView<A> into(to, bytes), source(from, bytes);
    if (into.get() == nullptr || (!zero && source.get() == nullptr)) return false;
    backend::copy_in_memory(zero ? nullptr : source.get(), into.get(), bytes);
    return true;
}

template <typename A>
uint64_t Device<A>::copy_by_device(const Ticket<A>& ticket, const CopySides<A>& sides, uint64_t bytes) {
    const auto& [from, to, zero] = sides;
    if (from.host != nullptr && to.buffer != nullptr) return upload(ticket, *to.buffer, to.offset, from.host, bytes);
    if (to.buffer == nullptr) return download(ticket, *from.buffer, from.offset, to.host, bytes);
    const auto into = to.buffer->range(to.offset, bytes);
    Waits waits = waits_of(ticket);
    if (zero) return move(ticket, {}, into, waits);
    const auto source = from.buffer->range(from.offset, bytes);
    const bool overlap =
        source.block == into.block && source.offset < into.offset + bytes && into.offset < source.offset + bytes;
    if (!overlap) return move(ticket, source, into, waits);
    // No interface copies onto itself: by way of memory between.
    const auto between = memory->hold(bytes, *this);
    move(ticket, source, between->range(0, bytes), waits);
    const uint64_t value = move(ticket, between->range(0, bytes), into, waits);
    ticket.queue->defer({value, nullptr, nullptr, 0, [between] {}});
    return value;
}

template <typename A>
uint64_t Device<A>::copy_from_peer(const Ticket<A>& ticket, const CopySides<A>& sides, uint64_t bytes) {
    Device& other = *sides.from.buffer->device;
    if constexpr (kHasPeers<A>) {
        try {
            return ticket.queue->submit([&](auto& queue, auto& timeline, uint64_t value) {
                A::copy_from_peer(queue, *other.api, sides.from.buffer->range(sides.from.offset, bytes),
                                  sides.to.buffer->range(sides.to.offset, bytes), waits_of(ticket), timeline, value);
            });
        } catch (const sdk::Failure& failure) {
            // Whose loss it is: of a lost source nothing comes, and the host asks it itself.
            if (failure.code() != BP_DEVICE_LOST || !A::is_lost(*other.api) || A::is_lost(*api)) throw;
            other.lose(failure.what());
            return submit_nothing(ticket);
        }
    }
    throw sdk::Failure(BP_INTERNAL, "copy: devices that do not copy from one another are said to be peers");
}

template <typename A>
void Device<A>::copy(const bp_copy& c) {
    const CopySides<A> sides = backend::sides_of(c, BP_COPY_ZERO, buffer_of<A>);
    const auto& [from, to, zero] = sides;
    auto* other = reinterpret_cast<Device*>(c.from_device);
    if (other != nullptr) {
        check_peer(*other, "copy: from_device");
        if (from.buffer == nullptr || to.buffer == nullptr)
            backend::invalid("copy: with from_device, it is from another device's buffer to one of this device");
    }
    if ((from.buffer != nullptr && from.buffer->device != (other != nullptr ? other : this)) ||
        (to.buffer != nullptr && to.buffer->device != this))
        backend::invalid("copy: the buffer is none of this device; go by way of the host");
    const Ticket<A> ticket = admit(c.queue, physical.queues + physical.copy_queues, c.wait, c.signal, c.peer_wait);
    if (c.bytes == 0) return complete(ticket, submit_nothing(ticket));
    if (other != nullptr) return complete(ticket, copy_from_peer(ticket, sides, c.bytes));
    for (const std::byte* mine : {from.host, to.host})
        if (mine != nullptr) settle(mine, c.bytes);
    if (copy_by_host(ticket, sides, c.bytes)) return complete(ticket, ticket.queue->last());
    complete(ticket, copy_by_device(ticket, sides, c.bytes));
}

}  // namespace backplane::gpu
