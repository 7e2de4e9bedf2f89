// Pinned memory through which bytes pass between the host's own memory and the device's, in pieces that several threads fill and empty.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/gpu/memory.hpp"
#include "common/gpu/order.hpp"

namespace backplane::gpu {

// A piece of a copy. One thread moves about 10 GB/s between the caller's memory and what the device reads, the bus several times that:
// hence several threads, each with a piece that stays in its core's cache.
inline constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
// Of a copy that is a run's input rather than weights: this many parts at the most, so that the bus begins before all is in pinned memory.
inline constexpr uint64_t kMostParts = 16;
inline constexpr uint64_t kLeastPartBytes = uint64_t{128} << 10;  // of 512 KiB sound of 60 s took 0.3 ms longer

// How long the parts of a copy of at most kMostParts pieces are.
constexpr uint64_t part_bytes(uint64_t bytes) {
    const uint64_t each = (bytes + kMostParts - 1) / kMostParts;
    const uint64_t whole = (each + kLeastPartBytes - 1) / kLeastPartBytes * kLeastPartBytes;
    return whole < kPieceBytes ? whole : kPieceBytes;
}

template <typename A>
class Staging {
public:
    struct Piece {
        Buffer<A> buffer;
        std::byte* at = nullptr;
        Queue<A>* queue = nullptr;  // whose work uses it until `value`; null: a thread fills it, or nobody has it
        uint64_t value = 0;
        bool taken = false;
    };

    Staging(typename A::Device& device, Memory<A>& memory) : device_(device), memory_(memory) {}

    struct GiveBack {
        Staging* to;
        void operator()(Piece* piece) const { to->give_back(*piece); }
    };
    using Taken = std::unique_ptr<Piece, GiveBack>;

    // One that nothing uses; waits for work that is submitted when there are as many as there may be. [any]
    Taken take() {
        for (;;) {
            Queue<A>* queue = nullptr;
            uint64_t value = 0;
            {
                const std::lock_guard lock(mutex_);
                if (Piece* piece = free_one(); piece != nullptr) return Taken(piece, {this});
                for (const auto& piece : pieces_)
                    if (piece->queue != nullptr && (queue == nullptr || piece->value < value)) {
                        queue = piece->queue;
                        value = piece->value;
                    }
            }
            if (queue == nullptr) {
                std::this_thread::yield();  // other threads are filling all of them
                continue;
            }
            queue->wait(value);
            queue->finish();
        }
    }
    // So many that nothing uses, or none: nobody waits here who holds some. [any]
    std::vector<Taken> take_at_once(size_t count) {
        std::vector<Taken> taken;
        const std::lock_guard lock(mutex_);
        size_t free = kMostPieces - pieces_.size();
        for (const auto& piece : pieces_) free += is_free(*piece) ? 1 : 0;
        if (free < count) return {};
        while (taken.size() < count) taken.push_back(Taken(free_one(), {this}));
        return taken;
    }
    // Work that was submitted uses the piece until `value`. `deferred`: and then something gives it back.
    void use(Piece& piece, Queue<A>& queue, uint64_t value, bool deferred) {
        const std::lock_guard lock(mutex_);
        piece.queue = &queue;
        piece.value = value;
        piece.taken = deferred;
    }
    void give_back(Piece& piece) {
        const std::lock_guard lock(mutex_);
        piece.queue = nullptr;
        piece.taken = false;
    }

private:
    static constexpr size_t kMostPieces = 32;

    static bool is_free(const Piece& piece) {
        return !piece.taken && (piece.queue == nullptr || piece.queue->reached(piece.value));
    }
    // Made where there may be more of them; null: all are in use.
    Piece* free_one() {
        auto found = std::ranges::find_if(pieces_, [](const auto& piece) { return is_free(*piece); });
        if (found == pieces_.end()) {
            if (pieces_.size() == kMostPieces) return nullptr;
            const Buffer<A> buffer = memory_.create(kPieceBytes, Placement::pinned);
            std::byte* at = A::map(device_, buffer.range(0, kPieceBytes));
            found = pieces_.insert(found, std::make_unique<Piece>(Piece{buffer, at}));
        }
        (*found)->taken = true;
        (*found)->queue = nullptr;
        return found->get();
    }

    typename A::Device& device_;
    Memory<A>& memory_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Piece>> pieces_;
};

}  // namespace backplane::gpu
