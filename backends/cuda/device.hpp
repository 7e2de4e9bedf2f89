// CUDA as an Api of gpu::Device (common/gpu/api.hpp says what each function promises).
#pragma once

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "common/gpu/compile.hpp"
#include "common/gpu/sums.hpp"
#include "instance.hpp"
#include "tensor_maps.hpp"

namespace backplane::cuda {

struct Block {
    Handle<Address> memory;
    Handle<void*> pinned;
    [[nodiscard]] Address at() const { return pinned ? reinterpret_cast<Address>(pinned.get()) : memory.get(); }
};

// A file of machine code, as long as a kernel out of it is there.
using Loaded = std::shared_ptr<const Handle<Module>>;

struct Kernel {
    Loaded module;
    Function function = nullptr;
    uint32_t number = 0;  // a gpu::Kernel
    std::vector<uint32_t> constants;
    std::array<uint32_t, kConstantWords> open{};  // those of them that the instance leaves open, in order
    uint32_t shared = 0;                          // bytes that the host asks for
    gpu::Origin origin = gpu::Origin::source;
    std::vector<std::byte> made;  // what the driver compiled, until the host's cache has it
};

struct Device;

// Work that is started piece by piece the first time, as a graph afterwards.
struct Recording {
    struct Step {
        Function function = nullptr;  // null: a copy
        bool behind = false;          // it needs what was written before
        unsigned groups[3] = {1, 1, 1}, local = 1, shared = 0;
        std::array<uint32_t, kConstantWords> constants{};
        std::array<uint32_t, gpu::kParameterWords> words{};
        std::array<Address, gpu::kMostOperands> operands{};
        uint32_t operand_count = 0;
        std::vector<TensorMap> maps;  // arguments behind the operands
        Address from = 0, to = 0;
        uint64_t bytes = 0;
    };
    struct Replay {
        bool submitted = false;
        bool refused = false;  // the driver made no graph of it
        Handle<GraphRun> graph;
    };
    Device* device = nullptr;
    std::vector<Step> steps;
    bool barrier = false;  // behind all of them
    std::unique_ptr<Replay> replay = std::make_unique<Replay>();
};

struct Queue {
    Device& device;
    Handle<Stream> stream;
};

// Values that are not known to be reached, with the event of each.
struct Timeline {
    using EventOf = std::shared_ptr<Handle<Event>>;
    Device& device;
    std::mutex mutex;
    std::deque<std::pair<uint64_t, EventOf>> events;
    std::vector<EventOf> spare;
    uint64_t reached = 0;
};

// The primary context, which an application that uses CUDA has, too; kept as long as the device is open.
class PrimaryContext {
public:
    PrimaryContext(const Driver& driver, const PhysicalDevice& physical);
    PrimaryContext(const PrimaryContext&) = delete;
    PrimaryContext& operator=(const PrimaryContext&) = delete;
    ~PrimaryContext();
    [[nodiscard]] Context get() const { return context_; }

private:
    const Driver& driver_;
    const PhysicalDevice& physical_;
    Context context_ = nullptr;
};

struct Device {
    Device(const Instance& instance, const PhysicalDevice& physical, const Abilities& can);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    const PhysicalDevice& physical;
    const Abilities can;
    const Driver& cu;
    Nccl& nccl;
    const PrimaryContext context;
    std::deque<Queue> queues;
    std::mutex capturing;
    Handle<Stream> capture, beside;  // on which graphs are made
    Handle<Event> fork, join;        // of the two
    std::mutex loading;
    std::map<const void*, std::weak_ptr<const Handle<Module>>>
        loaded;  // by what they were made of: an image, or a part of one
    std::mutex compiling;
    std::map<const unsigned char*, std::string> texts;       // of PTX, unpacked
    std::map<const Part*, std::vector<std::byte>> compiled;  // what the driver made of them
    std::atomic<bool> adds_up = false;                       // with other cards, by NCCL: its work may wait for theirs
    SumsOfCard sums;
    std::mutex peering;
    std::set<Context> peers;  // that were asked for: cards whose memory this one's copies reach, if the driver lets them

    [[nodiscard]] Handle<Stream> make_stream() const;
    template <typename T>
    Handle<T> own(T object, Result (*release)(T)) const {
        return {object, release, cu, context.get()};
    }
};

struct Api {
    using Instance = cuda::Instance;
    using Physical = PhysicalDevice;
    using Device = cuda::Device;
    using Queue = cuda::Queue;
    using Block = cuda::Block;
    using Kernel = cuda::Kernel;
    using Recording = cuda::Recording;
    using Timeline = cuda::Timeline;
    using Range = gpu::Range<Block>;
    using Waits = std::span<const gpu::Until<Timeline>>;

    static constexpr const char* kName = "CUDA";
    static constexpr const char* kBackend = "cuda";
    static constexpr auto kKernelOptions = {"patches", "matrix", "no-matrices"};
    static constexpr double kSegmentWorkOfSoftware = 5e9;
    // The host needs 0.6 us for each kernel of a graph before the device begins with its first: so the first graph has few of them, and each
    // after it three times as many as the one in front, under whose work it is started.
    static constexpr size_t kFirstDispatches = 32;
    static const gpu::KernelSource* kernels() { return kKernels; }

    static void choose(Abilities& can, const std::string& kernels);

    static Block allocate(Device& device, uint64_t bytes, gpu::Placement placement);
    static Block import(Device& device, void* memory, uint64_t bytes);
    static std::byte* map(Device& device, const Range& range);
    static void unmap(Device&, const Range&, void*) {}

    static Kernel build(Device& device, uint32_t kernel, std::span<const uint32_t> constants,
                        std::span<const std::byte> binary);
    static std::vector<std::byte> binary(Device& device, Kernel& kernel, bool ran);
    static void built(Device& device);

    static Recording begin(Device& device, uint32_t dispatches);
    static void dispatch(Recording& recording, const Kernel& kernel, std::span<const Range> operands,
                         std::span<const uint32_t> words, const Range& parameters, const gpu::Extent& extent);
    static void move(Recording& recording, const Range& from, const Range& to);
    static void barrier(Recording& recording) { recording.barrier = true; }
    static void end(Recording&) {}

    static std::unique_ptr<Timeline> timeline(Device& device, Queue&) {
        return std::unique_ptr<Timeline>(new Timeline{device, {}, {}, {}, 0});
    }
    static void submit(Queue& queue, const Recording& recording, Waits waits, Timeline& timeline, uint64_t value);
    static void copy(Queue& queue, const Range& from, const Range& to, Waits waits, Timeline& timeline, uint64_t value);
    // Between cards that reach each other (NVLink, one PCI switch) without the host; by the driver's own staging where they do not.
    static void copy_from_peer(Queue& queue, Device& source, const Range& from, const Range& to, Waits waits,
                               Timeline& timeline, uint64_t value);
    // By NCCL, in the streams' order.
    static constexpr const char* kSumsOption = "cuda.nccl";
    static uint64_t prepare_sums(std::span<Device* const> devices, const std::string& how);
    static void sum(std::span<gpu::SumPart<Api>> parts, uint32_t dtype, uint64_t elements);
    // What NCCL began with it ends on the other cards.
    static void lost(Device& device);
    static bool is_lost(Device& device);  // asks the driver
    static uint64_t reached(Timeline& timeline);
    static bool wait(Timeline& timeline, uint64_t value, uint64_t nanoseconds);
    static bool broke(Timeline& timeline, uint64_t value);
    static std::string broken_words(Device& device);
};

}  // namespace backplane::cuda
