// An Api whose device is the test's memory: it counts its calls, keeps what was submitted until it is let go on, and computes nothing.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/gpu/module_table.hpp"

namespace backplane::gpu::null {

// What a test sets before it opens a device, and what it sees afterwards.
struct World {
    World() {
        facts.name = "null device";
        facts.driver = "null 1.0";
        facts.kind = BP_KIND_DISCRETE;
        facts.id = 1;
        facts.memory_total = uint64_t{1} << 30;
        facts.copy_queues = 2;
        facts.can.halves = facts.can.bytes = facts.can.longs = facts.can.doubles = true;
        facts.can.chains = false;  // each op of a test is a dispatch
        facts.can.storage_alignment = 16;
        facts.can.most_range = facts.can.most_allocation = uint64_t{1} << 28;
        facts.can.most_invocations = 256;
        facts.can.shared_bytes = 49152;
    }
    void count(const std::string& call) {
        const std::lock_guard lock(mutex);
        ++calls[call];
    }
    int of(const std::string& call) {
        const std::lock_guard lock(mutex);
        return calls[call];
    }

    Facts facts;
    bool paused = false;             // what is submitted stays where it is until go_on() or a wait without a limit
    bool lost = false;               // every call on order says so
    bool window = false;             // the host may write to the device's own memory
    std::set<uint32_t> unbuildable;  // kernels
    std::string binary = "made";     // of each kernel, empty: none
    std::mutex mutex;
    std::map<std::string, int> calls;
    std::vector<uint32_t> dispatched;  // kernels, in the order in which they ran
};
inline World* world = nullptr;  // of the test that runs

struct Physical : Facts {};

struct Instance {
    Instance() { devices_.emplace_back(), static_cast<Facts&>(devices_[0]) = world->facts; }
    [[nodiscard]] const std::vector<Physical>& devices() const { return devices_; }
    [[nodiscard]] std::string why() const { return {}; }
    [[nodiscard]] uint64_t free_bytes(const Physical&) const { return 0; }

private:
    std::vector<Physical> devices_;
};

struct Block {
    std::vector<std::byte> bytes;
    bool visible = false;
};

struct Kernel {
    uint32_t id = 0;
    Origin origin = Origin::source;
    bool fresh = true;
};

struct Device;

struct Timeline {
    Device* device = nullptr;
    uint64_t reached = 0;
};

struct Work {
    std::vector<Until<Timeline>> waits;
    std::vector<std::function<void()>> steps;
    Timeline* timeline = nullptr;
    uint64_t value = 0;
};

struct Queue {
    Device* device = nullptr;
    std::deque<Work> pending;
};

struct Device {
    Device(const Instance&, const Physical& physical, const Abilities&) {
        for (uint32_t i = 0; i < physical.queues + physical.copy_queues; ++i) queues.push_back({this, {}});
    }
    std::recursive_mutex mutex;
    std::deque<Queue> queues;

    // Does all that waits for nothing; `one`: the first of it.
    void go_on(bool one = false) {
        const std::lock_guard lock(mutex);
        for (bool moved = true; moved;) {
            moved = false;
            for (Queue& queue : queues) {
                if (queue.pending.empty() || !ready(queue.pending.front())) continue;
                const Work work = std::move(queue.pending.front());
                queue.pending.pop_front();
                for (const auto& step : work.steps) step();
                work.timeline->reached = work.value;
                moved = true;
                if (one) return;
            }
        }
    }
    static bool ready(const Work& work) {
        for (const auto& wait : work.waits)
            if (wait.timeline->reached < wait.value) return false;
        return true;
    }
};

struct Recording {
    std::vector<std::function<void()>> steps;
};

struct Api {
    using Instance = null::Instance;
    using Physical = null::Physical;
    using Device = null::Device;
    using Queue = null::Queue;
    using Block = null::Block;
    using Kernel = null::Kernel;
    using Recording = null::Recording;
    using Timeline = null::Timeline;
    using Range = gpu::Range<Block>;
    using Waits = std::span<const Until<Timeline>>;

    static constexpr const char* kName = "Null";
    static constexpr const char* kBackend = "null";
    static constexpr auto kKernelOptions = {"gpu"};
    static constexpr double kSegmentWorkOfSoftware = 1;  // each dispatch is a segment
    static constexpr uint64_t kWrittenUpTo = 64;
    static const KernelSource* kernels() {
        static const std::vector<KernelSource> all(kKernelCount, KernelSource{"kernel", "entry", "code", 4, ""});
        return all.data();
    }

    static void choose(Abilities&, const std::string&) {}

    static Block allocate(Device&, uint64_t bytes, Placement placement) {
        world->count(placement == Placement::pinned ? "allocate pinned" : "allocate");
        const bool visible = placement == Placement::pinned || world->facts.can.unified || world->window;
        return {std::vector<std::byte>(bytes, std::byte{0xEE}), visible};
    }
    static Block import(Device&, void*, uint64_t) { throw sdk::Failure(BP_UNSUPPORTED, "import: no"); }
    static std::byte* map(Device&, const Range& range) {
        world->count("map");
        return range.block->visible ? range.block->bytes.data() + range.offset : nullptr;
    }
    static void unmap(Device&, const Range&, void*) {}

    static Kernel build(Device&, uint32_t kernel, std::span<const uint32_t>, std::span<const std::byte> binary) {
        if (world->unbuildable.count(kernel) != 0)
            throw sdk::Failure(BP_UNSUPPORTED, "build: the compiler does not take it");
        world->count("build");
        const bool same =
            binary.size() == world->binary.size() && std::memcmp(binary.data(), world->binary.data(), binary.size()) == 0;
        return {kernel, binary.empty() ? Origin::source : same ? Origin::binary : Origin::refused, binary.empty() || !same};
    }
    static std::vector<std::byte> binary(Device&, Kernel& kernel, bool) {
        const auto* first = reinterpret_cast<const std::byte*>(world->binary.data());
        if (!kernel.fresh) return {};
        return {first, first + world->binary.size()};
    }
    static void built(Device&) { world->count("built"); }

    static Recording begin(Device&, uint32_t) {
        world->count("begin");
        return {};
    }
    static void dispatch(Recording& recording, const Kernel& kernel, std::span<const Range>, std::span<const uint32_t>,
                         const Range&, const Extent&) {
        world->count("dispatch");
        recording.steps.emplace_back([id = kernel.id] {
            const std::lock_guard lock(world->mutex);
            world->dispatched.push_back(id);
        });
    }
    static void move(Recording& recording, const Range& from, const Range& to) {
        world->count("move");
        recording.steps.emplace_back([from, to] { copy_now(from, to); });
    }
    static void barrier(Recording&) { world->count("barrier"); }
    static void end(Recording&) { world->count("end"); }

    static std::unique_ptr<Timeline> timeline(Device& device, Queue&) {
        return std::make_unique<Timeline>(Timeline{&device, 0});
    }
    static void submit(Queue& queue, const Recording& recording, Waits waits, Timeline& timeline, uint64_t value) {
        world->count("submit");
        hand_over(queue, {{waits.begin(), waits.end()}, recording.steps, &timeline, value});
    }
    static void copy(Queue& queue, const Range& from, const Range& to, Waits waits, Timeline& timeline, uint64_t value) {
        world->count("copy");
        hand_over(queue, {{waits.begin(), waits.end()}, {[from, to] { copy_now(from, to); }}, &timeline, value});
    }
    static uint64_t reached(Timeline& timeline) {
        check_lost();
        const std::lock_guard lock(timeline.device->mutex);
        return timeline.reached;
    }
    static bool wait(Timeline& timeline, uint64_t value, uint64_t nanoseconds) {
        world->count("wait");
        check_lost();
        if (nanoseconds == kForEver) timeline.device->go_on();
        return reached(timeline) >= value;
    }

private:
    static void check_lost() {
        if (world->lost) throw sdk::Failure(BP_DEVICE_LOST, "wait: the device fell off the bus");
    }
    static void copy_now(const Range& from, const Range& to) {
        std::byte* into = to.block->bytes.data() + to.offset;
        if (from.block == nullptr) {
            std::memset(into, 0, to.bytes);
        } else {
            std::memcpy(into, from.block->bytes.data() + from.offset, to.bytes);
        }
    }
    static void hand_over(Queue& queue, Work work) {
        check_lost();
        const std::lock_guard lock(queue.device->mutex);
        queue.pending.push_back(std::move(work));
        if (!world->paused) queue.device->go_on();
    }
};

}  // namespace backplane::gpu::null
