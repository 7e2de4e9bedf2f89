// Buffers: small ones share blocks of device memory, but on the CPU; large ones have their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/free_list.hpp"
#include "common/gpu/api.hpp"
#include "common/workspace.hpp"

namespace backplane::gpu {

template <typename A>
class Device;

// A stretch of memory that the interface knows as one object.
template <typename A>
struct Stretch {
    typename A::Block block;
    uint64_t size = 0;
    bool pinned = false, imported = false;
    backend::FreeList free;  // of those that buffers share
};

template <typename A>
struct Buffer {
    Stretch<A>* stretch = nullptr;  // null: no bytes
    uint64_t offset = 0;            // in the stretch
    uint64_t size = 0;
    uint64_t id = 0;  // never used again, unlike handles and addresses
    Device<A>* device = nullptr;

    [[nodiscard]] bool pinned() const { return stretch != nullptr && stretch->pinned; }
    [[nodiscard]] Range<typename A::Block> range(uint64_t at, uint64_t bytes) const {
        return {stretch != nullptr ? &stretch->block : nullptr, offset + at, bytes};
    }
};

// What the host holds: a buffer, and where it has it mapped.
template <typename A>
class HeldBuffer : public Buffer<A> {
public:
    HeldBuffer(const Buffer<A>& made, Device<A>& of) : Buffer<A>(made) { this->device = &of; }
    ~HeldBuffer() { owner().memory->close(*this); }

    [[nodiscard]] Device<A>& owner() const { return *this->device; }
    // Throws Failure(BP_UNSUPPORTED) where the host does not see the memory.
    void* map(uint64_t at, uint64_t bytes) {
        if (bytes == 0) return nullptr;
        const auto where = this->range(at, bytes);
        std::byte* seen = Device<A>::seen_by_host(*this) ? A::map(*owner().api, where) : nullptr;
        if (seen == nullptr)
            throw sdk::Failure(BP_UNSUPPORTED, "buffer_map: the memory of " + owner().physical.name +
                                                   " is not visible to the host; copy instead");
        const std::lock_guard lock(mutex_);
        mapped_.emplace_back(where, seen);
        return seen;
    }
    void unmap() {
        const std::lock_guard lock(mutex_);
        for (const auto& [where, seen] : std::exchange(mapped_, {})) A::unmap(*owner().api, where, seen);
    }

private:
    std::mutex mutex_;
    std::vector<std::pair<Range<typename A::Block>, std::byte*>> mapped_;
};

// What is behind the host's handle; null: no buffer.
template <typename A>
const Buffer<A>* buffer_of(const bp_buffer* handle) {
    return reinterpret_cast<const HeldBuffer<A>*>(handle);
}

template <typename A>
class Memory {
public:
    // Both outlive it.
    Memory(typename A::Device& device, const Facts& facts) : device_(device), facts_(facts) {}

    // Throws Failure(BP_NO_DEVICE_MEMORY). [any]
    Buffer<A> create(uint64_t size, Placement placement = Placement::device) {
        const std::lock_guard lock(mutex_);
        Buffer<A> buffer{nullptr, 0, size, ++next_id_};
        if (size == 0) return buffer;
        check_size(size);
        const uint64_t room = rounded(size);
        if (placement == Placement::pinned || room > shared_most()) {
            own_.push_back(make(most(room), placement));
            buffer.stretch = own_.back().get();
            return buffer;
        }
        for (const auto& stretch : shared_)
            if (stretch->free.take(room, buffer.offset)) {
                buffer.stretch = stretch.get();
                return buffer;
            }
        shared_.push_back(make_shared_stretch(room));
        buffer.stretch = shared_.back().get();
        buffer.stretch->free = backend::FreeList(buffer.stretch->size);
        buffer.stretch->free.take(room, buffer.offset);
        return buffer;
    }

    // The same, closed when nobody holds it any more.
    std::shared_ptr<const Buffer<A>> hold(uint64_t size, Device<A>& device) {
        const std::shared_ptr<Buffer<A>> made(new Buffer<A>, [this](const Buffer<A>* held) {
            close(*held);
            delete held;
        });
        *made = create(size);
        made->device = &device;
        return made;
    }

    // Throws Failure(BP_UNSUPPORTED) when the driver cannot use the memory in place. [any]
    Buffer<A> import(void* memory, uint64_t size) {
        const uint64_t alignment = std::max<uint64_t>(1, facts_.can.import_alignment);
        const std::string attempted = "buffer_import on " + facts_.name + ": ";
        if (!facts_.can.import)
            throw sdk::Failure(BP_UNSUPPORTED, attempted + "the driver would copy host memory; copy it instead");
        if (memory == nullptr || size == 0 || reinterpret_cast<uintptr_t>(memory) % alignment != 0)
            throw sdk::Failure(BP_UNSUPPORTED, attempted + "the address must be a multiple of " + std::to_string(alignment) +
                                                   "; copy it instead");
        if (facts_.can.most_allocation != 0 && size > facts_.can.most_allocation)
            throw sdk::Failure(BP_UNSUPPORTED, attempted + "one buffer may have " +
                                                   std::to_string(facts_.can.most_allocation) + " bytes; copy it instead");
        auto stretch = std::make_unique<Stretch<A>>(Stretch<A>{A::import(device_, memory, size), size, false, true, {}});
        const std::lock_guard lock(mutex_);
        used_ += size;
        own_.push_back(std::move(stretch));
        return {own_.back().get(), 0, size, ++next_id_};
    }

    void close(const Buffer<A>& buffer) noexcept {
        if (buffer.stretch == nullptr) return;
        const std::lock_guard lock(mutex_);
        if (erase(own_, buffer.stretch)) return;
        const uint64_t free = buffer.stretch->free.give(buffer.offset, rounded(buffer.size));
        // One empty stretch is kept, so that a single small buffer does not come and go with it.
        if (free == buffer.stretch->size && shared_.size() > 1) erase(shared_, buffer.stretch);
    }

    // Bytes taken of the device's own memory, and of pinned host memory.
    [[nodiscard]] uint64_t used() const { return used_; }
    [[nodiscard]] uint64_t pinned() const { return pinned_; }

private:
    using Stretches = std::vector<std::unique_ptr<Stretch<A>>>;
    static constexpr uint64_t kSharedBytes = uint64_t{16} << 20;
    static constexpr uint64_t kSharedMost = uint64_t{2} << 20;  // larger buffers have memory of their own

    // A driver that computes on the CPU has memory of the C library, where a small buffer costs what it takes: a stretch that is hardly used would be
    // the host's memory for nothing.
    [[nodiscard]] uint64_t shared_most() const { return facts_.can.software ? 0 : kSharedMost; }

    [[nodiscard]] uint64_t rounded(uint64_t size) const {
        return backend::aligned(size, std::max<uint64_t>(256, facts_.can.storage_alignment));
    }
    [[nodiscard]] uint64_t most(uint64_t size) const {
        return facts_.can.most_allocation != 0 ? std::min(size, facts_.can.most_allocation) : size;
    }
    void check_size(uint64_t size) const {
        if (facts_.can.most_allocation != 0 && size > facts_.can.most_allocation)
            throw sdk::Failure(BP_NO_DEVICE_MEMORY, "allocate " + std::to_string(size) + " bytes on " + facts_.name +
                                                        ": one allocation may have " +
                                                        std::to_string(facts_.can.most_allocation) + "; use smaller tiles");
    }
    std::unique_ptr<Stretch<A>> make(uint64_t size, Placement placement) {
        const bool pinned = placement == Placement::pinned;
        auto made = std::make_unique<Stretch<A>>(Stretch<A>{A::allocate(device_, size, placement), size, pinned, false, {}});
        (pinned ? pinned_ : used_) += size;
        return made;
    }
    // Where memory is short, no more than there is: what a buffer of some KiB needs is not a whole stretch.
    std::unique_ptr<Stretch<A>> make_shared_stretch(uint64_t room) {
        for (uint64_t size = most(kSharedBytes); size > room; size /= 4) {
            try {
                return make(size, Placement::device);
            } catch (const sdk::Failure& failure) {
                if (failure.code() != BP_NO_DEVICE_MEMORY) throw;
            }
        }
        return make(room, Placement::device);
    }
    bool erase(Stretches& from, const Stretch<A>* stretch) noexcept {
        const auto found = std::find_if(from.begin(), from.end(), [&](const auto& s) { return s.get() == stretch; });
        if (found == from.end()) return false;
        (stretch->pinned ? pinned_ : used_) -= stretch->size;
        from.erase(found);
        return true;
    }

    typename A::Device& device_;
    const Facts& facts_;
    std::mutex mutex_;
    Stretches shared_, own_;
    std::atomic<uint64_t> used_ = 0, pinned_ = 0;
    uint64_t next_id_ = 0;
};

}  // namespace backplane::gpu
