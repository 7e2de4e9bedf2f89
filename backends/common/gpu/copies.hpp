// The copies of gpu::Device: by the caller's thread where the host sees the memory and nothing is under way, else by the device, by way of pinned
// memory where one side is the host's own. A part of device.hpp, which includes it.
#pragma once

#include "common/gpu/device.hpp"

namespace backplane::gpu {

// Host memory, or a buffer that the host sees, as the host sees it during a copy.
template <typename A>
class HostView {
public:
    HostView(const Buffer<A>* buffer, const void* host, uint64_t offset, uint64_t bytes) {
        if (buffer == nullptr) {
            at_ = const_cast<std::byte*>(static_cast<const std::byte*>(host)) + offset;
            return;
        }
        device_ = buffer->device;
        range_ = buffer->range(offset, bytes);
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
    std::atomic<uint64_t> last{0};
    in_pieces(bytes, [&](uint64_t first, uint64_t size) {
        auto piece = staging_->take();
        std::memcpy(piece->at, from + first, size);
        const uint64_t value = move(ticket, piece->buffer.range(0, size), to.range(offset + first, size), waits);
        staging_->use(*piece.release(), *ticket.queue, value, false);
        for (uint64_t known = last; known < value && !last.compare_exchange_weak(known, value);) {
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
    const bool waiting = ticket.fence == nullptr;
    uint64_t last = 0;
    const auto body = [&](uint64_t first, uint64_t size) {
        auto piece = staging_->take();
        const uint64_t value = move(ticket, from.range(offset + first, size), piece->buffer.range(0, size), waits);
        if (waiting) {
            ticket.queue->wait(value);
            std::memcpy(to + first, piece->at, size);
            return;
        }
        last = value;
        auto* mine = piece.release();
        staging_->use(*mine, *ticket.queue, value, true);
        ticket.queue->defer({value, to + first, mine->at, size, [this, mine] { staging_->give_back(*mine); }});
    };
    if (waiting) {
        in_pieces(bytes, body);
        return ticket.queue->last();
    }
    for (uint64_t first = 0; first < bytes; first += kPieceBytes) body(first, std::min(kPieceBytes, bytes - first));
    return last;
}

template <typename A>
bool Device<A>::copy_by_host(const Ticket<A>& ticket, const bp_copy& c, const Buffer<A>* from, const Buffer<A>* to) {
    const bool zero = (c.flags & BP_COPY_ZERO) != 0;
    const auto seen = [](const Buffer<A>* side) { return side == nullptr || seen_by_host(*side); };
    if (!seen(from) || !seen(to)) return false;
    // Both in one stretch: an interface may see the same bytes mapped twice.
    if (from != nullptr && to != nullptr && from->stretch == to->stretch) return false;
    const bool host_only = from == nullptr && to == nullptr;
    if (ticket.fence != nullptr && !host_only && (!ticket.after.empty() || !ticket.queue->idle())) return false;
    for (const auto& [queue, value] : ticket.after) queue->wait(value);
    ticket.queue->wait(ticket.queue->last());
    ticket.queue->finish();
    const HostView<A> into(to, c.to_host, c.to_offset, c.bytes);
    if (zero) {
        if (into.get() == nullptr) return false;
        std::memset(into.get(), 0, c.bytes);
        return true;
    }
    const HostView<A> source(from, c.from_host, c.from_offset, c.bytes);
    if (into.get() == nullptr || source.get() == nullptr) return false;
    std::memmove(into.get(), source.get(), c.bytes);
    return true;
}

template <typename A>
uint64_t Device<A>::copy_by_device(const Ticket<A>& ticket, const bp_copy& c, const Buffer<A>* from, const Buffer<A>* to) {
    if (from == nullptr && to != nullptr && (c.flags & BP_COPY_ZERO) == 0)
        return upload(ticket, *to, c.to_offset, static_cast<const std::byte*>(c.from_host) + c.from_offset, c.bytes);
    if (to == nullptr)
        return download(ticket, *from, c.from_offset, static_cast<std::byte*>(c.to_host) + c.to_offset, c.bytes);
    const auto into = to->range(c.to_offset, c.bytes);
    Waits waits = waits_of(ticket);
    if (from == nullptr) return move(ticket, {}, into, waits);
    const auto source = from->range(c.from_offset, c.bytes);
    const bool overlap =
        source.block == into.block && source.offset < into.offset + c.bytes && into.offset < source.offset + c.bytes;
    if (!overlap) return move(ticket, source, into, waits);
    // No interface copies onto itself: by way of memory between.
    const auto between = memory->hold(c.bytes, *this);
    move(ticket, source, between->range(0, c.bytes), waits);
    const uint64_t value = move(ticket, between->range(0, c.bytes), into, waits);
    ticket.queue->defer({value, nullptr, nullptr, 0, [between] {}});
    return value;
}

template <typename A>
uint64_t Device<A>::copy_from_peer(const Ticket<A>& ticket, const bp_copy& c, const Buffer<A>& from, const Buffer<A>& to) {
    if constexpr (kHasPeers<A>) {
        try {
            return ticket.queue->submit([&](auto& queue, auto& timeline, uint64_t value) {
                A::copy_from_peer(queue, *from.device->api, from.range(c.from_offset, c.bytes),
                                  to.range(c.to_offset, c.bytes), waits_of(ticket), timeline, value);
            });
        } catch (const sdk::Failure& failure) {
            // Whose loss it is: of a lost source nothing comes, and the host asks it itself.
            if (failure.code() != BP_DEVICE_LOST || !A::is_lost(*from.device->api) || A::is_lost(*api)) throw;
            from.device->lose(failure.what());
            return submit_nothing(ticket);
        }
    }
    throw sdk::Failure(BP_INTERNAL, "copy: devices that do not copy from one another are said to be peers");
}

template <typename A>
void Device<A>::copy(const bp_copy& c) {
    const auto* from = reinterpret_cast<const Buffer<A>*>(c.from_buffer);
    const auto* to = reinterpret_cast<const Buffer<A>*>(c.to_buffer);
    const bool zero = (c.flags & BP_COPY_ZERO) != 0;
    if ((c.flags & ~uint32_t{BP_COPY_ZERO}) != 0) throw sdk::Failure(BP_INVALID, "copy: a flag that is not known");
    const bool no_source = from == nullptr && c.from_host == nullptr;
    const bool one_source = (from != nullptr) != (c.from_host != nullptr);
    const bool one_destination = (to != nullptr) != (c.to_host != nullptr);
    if (c.bytes != 0 && ((zero ? !no_source : !one_source) || !one_destination))
        throw sdk::Failure(BP_INVALID, zero ? "copy: zeros have no source, and one destination"
                                            : "copy: each side must be one of a buffer and host memory");
    const auto* source = reinterpret_cast<const Device*>(c.from_device);
    if (source != nullptr) {
        check_peer(*source, "copy: from_device");
        if (from == nullptr || to == nullptr)
            throw sdk::Failure(BP_INVALID,
                               "copy: with from_device, it is from another device's buffer to one of this device");
    }
    const auto check_inside = [&](const Buffer<A>* buffer, uint64_t offset) {
        if (buffer != nullptr && (offset > buffer->size || c.bytes > buffer->size - offset))
            throw sdk::Failure(BP_INVALID, "copy: " + std::to_string(c.bytes) + " bytes at " + std::to_string(offset) +
                                               " lie outside the buffer of " + std::to_string(buffer->size));
        if (buffer != nullptr && buffer->device != (buffer == from && source != nullptr ? source : this))
            throw sdk::Failure(BP_INVALID, "copy: the buffer is none of this device; go by way of the host");
    };
    check_inside(from, c.from_offset);
    check_inside(to, c.to_offset);
    const Ticket<A> ticket = admit(c.queue, physical.queues + physical.copy_queues, c.wait, c.signal, c.peer_wait);
    if (c.bytes == 0) return complete(ticket, submit_nothing(ticket));
    if (source != nullptr) return complete(ticket, copy_from_peer(ticket, c, *from, *to));
    if (c.from_host != nullptr) settle(static_cast<const std::byte*>(c.from_host) + c.from_offset, c.bytes);
    if (c.to_host != nullptr) settle(static_cast<const std::byte*>(c.to_host) + c.to_offset, c.bytes);
    if (copy_by_host(ticket, c, from, to)) return complete(ticket, ticket.queue->last());
    complete(ticket, copy_by_device(ticket, c, from, to));
}

}  // namespace backplane::gpu
