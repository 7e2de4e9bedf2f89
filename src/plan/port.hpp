// A device as the plan layer sees it: memory whose bytes know who still uses them, and queues. Everything above hands work to a Port and
// never touches a fence.
//
// Rule of order. Each Storage carries the point of its last write and those of the reads since. What is submitted waits, on the device, for
// the points its storages carry on OTHER queues, and leaves its own point there. So two sessions that share a tensor, a copy of the next run
// beside this one, an eviction and a ring of places need no orders of their own.
//
// A device without BP_CAN_ASYNC has one queue, and each call returns when its work is done: the same code, without points.
//
// Threads: everything [any]. Submissions on one queue are serialised here. Who writes a Storage that another thread uses orders the two
// himself. Nothing here starts a thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/loans.h"
#include "backplane/module.h"
#include "registry/device_state.hpp"

namespace backplane::plan {

class Port;
class Program;
class Residency;
class Summing;

// The `value`-th submission of a queue; value 0 is reached.
struct Point {
    uint32_t queue = 0;
    uint64_t value = 0;
};

inline constexpr uint32_t kMostQueues = 8;  // of a device, copy queues included; further ones are not used

// Bytes on one device. When the last reference goes, they are given back once the work that uses them is done.
class Storage {
public:
    Storage(std::shared_ptr<Port> port, bp_buffer* buffer, uint64_t bytes, uint32_t heap, std::string holder);
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    ~Storage();

    const std::shared_ptr<Port> port;
    bp_buffer* const buffer;
    const uint64_t bytes;
    const uint32_t heap;  // of the device; kOnHost: memory of the host that the device uses in place
    const std::string holder;
    std::byte* host = nullptr;           // where the host sees these bytes, if it does
    std::shared_ptr<const void> memory;  // what keeps the host memory behind it

private:
    friend class Port;
    // Whether there is any point below: a run whose storages have none takes no lock of theirs. Set and cleared with the mutex held; who uses what
    // another thread writes has ordered the two.
    std::atomic<bool> has_points_{false};
    std::mutex mutex_;
    Point written_;
    std::array<uint64_t, kMostQueues> read_{};  // by queue, of those since written_
    struct Elsewhere {                          // a read by a peer, since written_
        std::weak_ptr<Port> by;                 // gone: it has waited for its work
        Point point;
    };
    std::vector<Elsewhere> elsewhere_;
};
using Bytes = std::shared_ptr<Storage>;

inline constexpr uint32_t kOnHost = UINT32_MAX;

struct Use {  // of a storage by a run
    uint32_t tensor = 0;
    Storage* bytes = nullptr;
    uint64_t offset = 0, size = 0;
    bool written = false;
};

// What went over the device's edge and inside it, since the port was made. Bytes, and runs.
struct Moved {
    uint64_t up = 0, down = 0, inside = 0, runs = 0;
    uint64_t peer = 0;  // from peers, without the host
};

struct Holding {  // one line of the ledger
    std::string holder;
    uint64_t bytes = 0;
};

class Port : public std::enable_shared_from_this<Port> {
public:
    static constexpr uint64_t kSmallCopy = 65536;  // 64 KiB cross a bus in 1 to 5 us
    static constexpr uint64_t kBesideOthers = UINT64_MAX;
    struct Shape {
        uint32_t queues = 1, copy_queues = 0;
        uint32_t pinned_heap = 0;  // 0: none
        uint64_t budget = 0;       // bytes of heap 0 at most, 0: what the device gives
    };
    // The one port of an open device. Throws Error(invalid) without a device; Error(device_lost).
    static std::shared_ptr<Port> of(const Device& device);
    Port(Device device, const Shape& shape);  // tests; everybody else takes of()
    ~Port();                                  // waits for everything; closes what was given back
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    // Uninitialised. Throws Error(no_device_memory): the text says who holds how much. Gives back first what is done, spare or evictable.
    Bytes allocate(uint64_t bytes, const std::string& holder);
    // Memory that the host sees at `host` and the device copies from and to at full speed; memory of the host where it has none.
    Bytes allocate_pinned(uint64_t bytes, const std::string& holder);
    // Memory of the host that the device computes in without a copy; null where it has none such.
    Bytes allocate_shared(uint64_t bytes, const std::string& holder);
    // The caller's memory itself where the device computes in it at full speed; null otherwise. It is written only where a program writes.
    Bytes in_place(std::span<const std::byte> memory);
    // Whether in_place() takes such memory so cheaply that it pays, and the memory may go before what names it (backplane/loans.h).
    [[nodiscard]] bool takes_loans() const noexcept { return loans_ != nullptr; }
    [[nodiscard]] bool borrows(std::span<const std::byte> memory) const noexcept {
        return loans_ != nullptr && memory.size() > loans_->copied_up_to &&
               reinterpret_cast<uintptr_t>(memory.data()) % loans_->alignment == 0;
    }
    // As in_place, for whom copies nothing: throws Error(unsupported) where the device cannot.
    Bytes import(std::span<std::byte> memory);

    // Each submits and returns its point. Throws Error: device_lost, invalid, no_device_memory, unsupported; then nothing was submitted. Host
    // memory stays the caller's and is left alone until the point is reached. `now`: returns when it is done, and throws what it came to.
    // `part_of`: bytes of several copies into one storage, which all go by the queue that such a copy has: on two they would wait for each other;
    // kBesideOthers: by another queue than theirs, where there is one.
    Point upload(std::span<const std::byte> from, Storage& to, uint64_t offset = 0, bool now = false, uint64_t part_of = 0);
    Point download(Storage& from, uint64_t offset, std::span<std::byte> to, bool now = false);
    Point copy(Storage& from, uint64_t from_offset, Storage& to, uint64_t to_offset, uint64_t bytes, uint64_t part_of = 0);
    // From a device that this one reaches().
    Point pull(Storage& from, uint64_t from_offset, Storage& to, uint64_t to_offset, uint64_t bytes);
    Point zero(Storage& to, uint64_t offset, uint64_t bytes);
    // Plain row-major bytes of the host become a slot's layout in `to`.
    Point pack(const Program& program, uint32_t slot, std::span<const std::byte> plain, Storage& to, uint64_t offset = 0);
    Point run(const Program& program, std::span<const Use> uses, Storage* workspace,
              const std::atomic<uint32_t>* cancel = nullptr, bool now = false);

    // Throws what the work came to: Error(cancelled), Error(device_lost), ... False: not reached within the time.
    bool wait(Point point, uint64_t timeout_ns = UINT64_MAX);
    [[nodiscard]] bool reached(Point point) noexcept;  // whatever it came to
    void wait_written(Storage& bytes);                 // the host may read what was written last
    void wait_unused(Storage& bytes);                  // and may write it
    void drain() noexcept;                             // every queue
    void sweep() noexcept;                             // gives back what was let go and is done

    // Called when memory is short, with the bytes wanted, until the returned handle goes; says whether it gave anything back. On any thread.
    // Those used longest ago come first, and no more of them than it takes.
    using Give = std::function<bool(uint64_t bytes)>;
    struct Giver {
        Give give;
        std::atomic<uint64_t> used{0};  // by the port's clock
    };
    [[nodiscard]] std::shared_ptr<Giver> on_pressure(Give give);
    void touch(Giver& giver) noexcept {  // it is in use now
        giver.used.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    // Memory that all programs of the device take turns with, of at least `bytes`; null for 0. Who holds the pool keeps it.
    struct Pool {
        std::mutex mutex;
        Bytes bytes;
    };
    [[nodiscard]] std::shared_ptr<Pool> workspace();
    Bytes workspace_of(Pool& pool, uint64_t bytes);

    [[nodiscard]] Residency& residency() noexcept { return *residency_; }
    [[nodiscard]] std::vector<Holding> ledger() const;  // heap 0, largest first

    [[nodiscard]] bool lost() const noexcept { return state_.lost(); }
    [[nodiscard]] const std::string& name() const noexcept { return state_.info.id; }
    [[nodiscard]] const Device& device() const noexcept { return device_; }
    [[nodiscard]] Device::State& state() noexcept { return state_; }
    [[nodiscard]] bool async() const noexcept { return async_; }
    // Another device of one module, from which this one copies without the host (BP_CAN_PEER).
    [[nodiscard]] bool reaches(const Port& other) const noexcept {
        return this != &other && peers_ && other.peers_ && state_.module == other.state_.module;
    }
    [[nodiscard]] bool in_host_memory() const noexcept { return imports_; }  // it computes in host memory at full speed
    // Work is handed over before what was before it is done, and weights that are streamed come over a bus.
    [[nodiscard]] bool keeps_order() const noexcept { return async_ && !imports_; }
    [[nodiscard]] uint64_t budget() const noexcept { return budget_; }
    // Another budget from now on. What is held beyond it goes as far as it is spare; the rest when who holds it lets go.
    void set_budget(uint64_t bytes);
    [[nodiscard]] uint64_t held() const noexcept { return held_; }  // heap 0, what waits to be given back included
    [[nodiscard]] Moved moved() const noexcept;
    // Of a copy of so many bytes. A small one goes with the work: handing over from queue to queue takes a GPU longer than the copy.
    [[nodiscard]] uint32_t queue_up(uint64_t bytes) const noexcept {
        return copies_ > 0 && bytes > kSmallCopy ? queues_ : 0;
    }
    // Never the uploads' queue: a download waits for its run, and the uploads of the next run would stand behind it.
    [[nodiscard]] uint32_t queue_down(uint64_t bytes) const noexcept {
        return copies_ > 1 && bytes > kSmallCopy ? queues_ + 1 : 0;
    }

private:
    friend class Storage;
    friend class Summing;
    struct Lane {
        std::mutex mutex;
        bp_fence* fence = nullptr;
        uint64_t next = 0;
    };
    struct Let {  // let go of, and used by work up to these points
        bp_buffer* buffer;
        uint64_t bytes;
        uint32_t heap;
        std::string holder;
        std::shared_ptr<const void> memory;
        std::array<uint64_t, kMostQueues> until;
        std::vector<Storage::Elsewhere> elsewhere;
    };
    struct Touch {
        Storage* storage;
        bool written;
    };
    using Touched = std::span<const Touch>;  // by a submission
    struct Order {                           // of a submission
        bp_span wait, peer_wait;
        bp_point signal;
    };
    struct Needs {  // what a submission waits for
        std::array<bp_point, kMostQueues> here{};
        uint32_t count = 0;
        std::vector<bp_point> peers;
        std::vector<std::shared_ptr<Port>> open;  // whose fences these are
        [[nodiscard]] Order order(bp_point signal) const {
            return {{here.data(), count, sizeof(bp_point)},
                    {peers.data(), static_cast<uint32_t>(peers.size()), sizeof(bp_point)},
                    signal};
        }
    };
    [[nodiscard]] Needs needs_of(uint32_t queue, Touched uses, Storage* of_peer) const;
    static void note_uses(uint32_t queue, Touched uses, Point mine, bool now);
    template <typename Call>
    Point submit(uint32_t queue, Touched uses, bool now, std::string_view what, Call call, Storage* of_peer = nullptr);
    void wait_elsewhere(const std::vector<Storage::Elsewhere>& reads) noexcept;
    Point move(bp_copy request, uint32_t queue, Storage* from, Storage* to, bool now, std::string_view what);
    [[nodiscard]] bp_buffer* create(uint32_t heap, uint64_t bytes);
    void spoil(Storage& bytes);  // where "host.fresh-memory=nan" is wanted: what is there is no number of any float type
    [[nodiscard]] bool make_room(uint64_t bytes);
    [[nodiscard]] bool past(const Let& let) noexcept;
    void let_go(Storage& storage) noexcept;
    void give_back(bp_buffer* buffer, uint32_t heap, uint64_t bytes, const std::string& holder) noexcept;
    void account(const std::string& holder, uint64_t bytes, bool more);

    Device device_;
    Device::State& state_;
    bool async_, imports_, peers_;
    const bp_loans* loans_;  // null: it takes none
    uint32_t queues_, copies_, pinned_heap_;
    std::atomic<uint64_t> budget_, clock_{0};
    std::atomic<uint64_t> held_{0}, up_{0}, down_{0}, inside_{0}, runs_{0}, peer_{0};
    std::array<Lane, kMostQueues> lanes_;
    std::mutex let_mutex_;
    std::vector<Let> let_;
    mutable std::mutex book_mutex_;  // of what follows
    std::map<std::string, uint64_t> book_;
    std::vector<std::weak_ptr<Giver>> givers_;
    std::weak_ptr<Pool> pool_;
    std::unique_ptr<Residency> residency_;
};

}  // namespace backplane::plan
