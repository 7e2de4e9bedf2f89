// What an Executor keeps of one submit, and of the memory it uses.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "plan/executor.hpp"

namespace backplane::plan {

// One value of a submit, and where it is.
struct Place {
    std::span<const std::byte> host;  // where the host has it
    bool on_host = false;
    std::vector<std::byte> kept;  // memory for that, of values that came down
    struct Here {
        Storage* at = nullptr;  // where it is, or will be
        uint64_t offset = 0;
        bool valid = false;  // it is there
        Bytes foreign;       // `at`, when it is not the frame's own: let go of at the end
        Bytes own;           // the frame's, used again; of values that have no block
        Bytes lent;          // memory of the caller's, as a device that takes loans names it; used again for the same memory
    };
    std::vector<Here> on;  // by port
};

inline bool has_place(const Place& place, const std::vector<std::shared_ptr<Port>>& ports) {
    if (place.on_host) return true;
    for (size_t p = 0; p < ports.size(); ++p)
        if (place.on[p].valid && !ports[p]->lost()) return true;
    return false;
}

// Memory on a port that values between stages take turns with, see Plan::blocks.
struct Block {
    Bytes bytes;
    uint32_t value = 0;  // that has it now, or had it last
};

// The memory of one submit, used again by later ones.
struct Frame {
    std::vector<Place> places;               // by value
    std::vector<std::vector<Block>> blocks;  // by port
    std::atomic<bool> busy{false};

    // Who takes it has it until it gives it back, from whatever thread: what is in it is seen by the next who does.
    [[nodiscard]] bool take() noexcept {
        return !busy.load(std::memory_order_relaxed) && !busy.exchange(true, std::memory_order_acquire);
    }
    void give_back() noexcept { busy.store(false, std::memory_order_release); }
};

struct Flight {
    Executor* owner = nullptr;
    Frame* frame = nullptr;
    std::vector<Given> given;
    std::vector<Wanted> wanted;
    const std::atomic<uint32_t>* cancel = nullptr;
    bool now = false;  // the caller waits anyway

    struct End {
        uint32_t port = 0, stage = 0;
        Point point;
    };
    std::vector<End> ends;
    struct Later {  // when all ends are reached: output that lies in memory which the host sees
        Storage* from = nullptr;
        uint64_t offset = 0;
        std::span<std::byte> to;
    };
    std::vector<Later> later;
    std::vector<char> ran;           // by stage: those that write state, once done
    std::vector<char> runs, needed;  // by stage, by value: see Executor::to_run
    bool summed = false;             // by the devices' module, which may say in the end that it failed
    std::vector<std::pair<uint32_t, Located>> results;
    std::atomic<uint64_t> moved{0}, peer{0};  // bytes: over the edges of devices and the host; from device to device

    std::mutex mutex;  // of completing it
    std::condition_variable submitted_changed;
    bool submitted = false;
    std::atomic<bool> finished{false};
    std::exception_ptr error;

    void prepare(Executor* executor, std::span<const Given> given_, std::span<const Wanted> wanted_,
                 const std::atomic<uint32_t>* cancel_, bool now_) {
        owner = executor;
        given.assign(given_.begin(), given_.end());
        wanted.assign(wanted_.begin(), wanted_.end());
        cancel = cancel_;
        now = now_;
        ends.clear();
        later.clear();
        ran.clear();
        results.clear();
        moved.store(0, std::memory_order_relaxed);
        peer.store(0, std::memory_order_relaxed);
        summed = false;
        submitted = false;
        finished.store(false, std::memory_order_relaxed);  // nobody else has it yet
        error = nullptr;
    }
};

// A program with what is bound to it for good.
struct Bound {
    struct Slot {
        uint32_t value = 0;
        Kind kind = Kind::input;
        bool written = false, streamed = false;
        uint64_t bytes = 0, alignment = 0;
        Image image;      // weights
        uint64_t at = 0;  // of a streamed one, in its place
        Bytes weight;     // held while the stage is bound
    };
    std::shared_ptr<const Program> program;
    std::vector<Slot> slots;
    std::vector<Use> uses;           // as Port::run takes them; those of weights stay as they are
    std::vector<uint32_t> changing;  // slots to bind for each submit
    std::vector<uint32_t> streamed;
    uint64_t place_bytes = 0;  // of all of these
    Bytes gathered;  // these, as they lie in a place, in host memory that the device copies from by itself: one copy for all
    bool apart = false;  // they are copied one by one, from where they lie
    bool ready = false;  // weights are bound
    bool gave = false;   // weights, to others' work
};

// Holds work_, and says which thread does: memory that runs short while a stage is bound must not be taken from under it. A thread asks only whether
// it is the one itself.
class Executor::Working {
public:
    explicit Working(Executor& executor) : executor_(executor), lock_(executor.work_) {
        executor_.worker_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Working() { executor_.worker_.store(std::thread::id(), std::memory_order_relaxed); }
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

private:
    Executor& executor_;
    std::lock_guard<std::mutex> lock_;
};

}  // namespace backplane::plan
