// OpenCL as an Api of gpu::Device (common/gpu/api.hpp says what each function promises).
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "instance.hpp"
#include "machine_code.hpp"

namespace backplane::opencl {

struct Block {
    Handle<cl_mem> memory;
    uint64_t size = 0;
    std::byte* mapped = nullptr;  // of pinned memory, for life
    bool imported = false;        // memory of the host's own: drivers that keep a copy want to be told of every use
};

struct Kernel {
    Handle<cl_program> program;
    gpu::Origin origin = gpu::Origin::source;
    uint32_t id = 0;
    const char* entry = nullptr;  // of the program
    std::string options;          // it was built with
    bool kept = false;            // the host's cache has what is to be had
    bool named_once = false;      // a buffer that is the first operand's, too, comes as null
};

// Kernels whose arguments are set once.
struct Device;
struct Recording {
    struct Step {
        Handle<cl_kernel> kernel;  // null: a copy
        bool behind = false;       // it needs what was written before
        bool large = false;        // takes longer than its launch
        size_t global[3] = {1, 1, 1}, local[3] = {1, 1, 1};
        gpu::Range<Block> from, to;
    };
    Device* device = nullptr;
    std::vector<Step> steps;
    bool barrier = false;          // behind all of them
    std::vector<Block*> imported;  // that kernels touch
};

struct Queue {
    Device& device;
    Handle<cl_command_queue> handle;  // in order
    Handle<cl_command_queue> second;  // of a submit that has many kernels side by side, once there was one
};

// Values that are not known to be reached, with the event of each.
struct Timeline {
    Device& device;
    std::mutex mutex;
    std::deque<std::pair<uint64_t, std::shared_ptr<Handle<cl_event>>>> events;
    uint64_t reached = 0;
};

struct Device {
    Device(const Instance& instance, const PhysicalDevice& physical, const Abilities& can);
    ~Device();

    const Instance& instance;
    const PhysicalDevice& physical;
    const Abilities can;
    const Functions& cl;
    Handle<cl_context> context;
    Handle<cl_mem> nothing;  // what stands for values of no bytes
    std::deque<Queue> queues;
    Handle<cl_command_queue> host_queue;  // on which memory is mapped: it waits for nobody's work
    std::mutex code_mutex;
    std::shared_ptr<const MachineCode> machine_code;
    std::once_flag carried_tried;
    Handle<cl_program> carried;  // what the module has of machine code; null: the driver does not take it
    std::once_flag ptx_tried;
    std::string no_ptx;  // why it is not used after all

    [[nodiscard]] Handle<cl_command_queue> make_queue() const;
};

// The program of a binary that has this kernel. Throws Failure with the words of the driver's compiler.
Handle<cl_program> program_of(const Device& device, uint32_t kernel, const char* entry, const std::string& options,
                              std::span<const std::byte> binary);
// The same; nothing where the driver does not take the bytes.
Handle<cl_program> from_binary(const Device& device, uint32_t kernel, const char* entry, const std::string& options,
                               std::span<const std::byte> binary);
// As check, for the end of work: running out of resources there is a kernel that failed.
void check_work(cl_int result, const std::string& attempted);

struct Api {
    using Instance = opencl::Instance;
    using Physical = PhysicalDevice;
    using Device = opencl::Device;
    using Queue = opencl::Queue;
    using Block = opencl::Block;
    using Kernel = opencl::Kernel;
    using Recording = opencl::Recording;
    using Timeline = opencl::Timeline;
    using Range = gpu::Range<Block>;
    using Waits = std::span<const gpu::Until<Timeline>>;

    static constexpr const char* kName = "OpenCL";
    static constexpr const char* kBackend = "opencl";
    static constexpr auto kKernelOptions = {"gpu", "patches", "matrix", "no-matrices", "no-warpgroups", "carried", "built"};
    static constexpr double kSegmentWorkOfSoftware = 5e9;
    static const gpu::KernelSource* kernels() { return kKernels; }

    static void choose(Abilities& can, const std::string& kernels);

    static Block allocate(Device& device, uint64_t bytes, gpu::Placement placement);
    static Block import(Device& device, void* memory, uint64_t bytes);
    static std::byte* map(Device& device, const Range& range);
    static void unmap(Device& device, const Range& range, void* at);

    static Kernel build(Device& device, uint32_t kernel, std::span<const uint32_t> constants,
                        std::span<const std::byte> binary);
    static std::vector<std::byte> binary(Device& device, Kernel& kernel, bool ran);
    static void built(Device& device);

    static Recording begin(Device& device, uint32_t dispatches);
    static void dispatch(Recording& recording, const Kernel& kernel, std::span<const Range> operands,
                         std::span<const uint32_t> words, const Range& parameters, const gpu::Extent& extent);
    static void move(Recording& recording, const Range& from, const Range& to);
    static void barrier(Recording& recording) { recording.barrier = true; }
    static void end(Recording& recording);

    static std::unique_ptr<Timeline> timeline(Device& device, Queue&) {
        return std::unique_ptr<Timeline>(new Timeline{device, {}, {}, 0});
    }
    static void submit(Queue& queue, const Recording& recording, Waits waits, Timeline& timeline, uint64_t value);
    static void copy(Queue& queue, const Range& from, const Range& to, Waits waits, Timeline& timeline, uint64_t value);
    static uint64_t reached(Timeline& timeline);
    static bool wait(Timeline& timeline, uint64_t value, uint64_t nanoseconds);
};

}  // namespace backplane::opencl
