// Vulkan as an Api of gpu::Device (common/gpu/api.hpp says what each function promises).
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "instance.hpp"

namespace backplane::vulkan {

struct Device;

// Memory with one VkBuffer over all of it.
struct Block {
    Owned<VkDeviceMemory> memory;
    Owned<VkBuffer> buffer;
    std::byte* mapped = nullptr;  // null: the host does not see it; of a GPU's own it writes few bytes there, and reads none
    uint64_t address = 0;         // on the device, where it can.warpgroup_products
};

struct Kernel {
    Owned<VkPipeline> pipeline;
    Owned<VkPipelineCache> cache;  // of this pipeline alone, until its bytes were asked for
    gpu::Origin origin = gpu::Origin::source;
    uint64_t loaded = 0;        // hash of the bytes that the cache began with
    Owned<VkCuModuleNVX> text;  // in place of the pipeline: PTX (ptx.hpp)
    Owned<VkCuFunctionNVX> function;
};

struct Recording {
    Device* device = nullptr;
    Owned<VkCommandPool> pool;
    Owned<VkDescriptorPool> sets;
    VkCommandBuffer commands = VK_NULL_HANDLE;
};

struct Timeline {
    const Device& device;
    Owned<VkSemaphore> semaphore;
};

struct Queue {
    Device& device;
    VkQueue handle = VK_NULL_HANDLE;
    bool computes = true;  // a family for copies alone does not
    Owned<VkCommandPool> pool;
    std::deque<std::pair<uint64_t, VkCommandBuffer>> copies;  // used until that value
};

// The last to go of a device, after all that was made on it.
struct Root {
    Root() = default;
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;
    ~Root() {
        if (handle != VK_NULL_HANDLE) vk.DestroyDevice(handle, nullptr);
    }
    DeviceFunctions vk;
    VkDevice handle = VK_NULL_HANDLE;
};

struct Device : Root {
    Device(const Instance& instance, const PhysicalDevice& physical, const Abilities& can);
    ~Device() { vk.DeviceWaitIdle(handle); }

    const Instance& instance;
    const PhysicalDevice& physical;
    const Abilities can;
    Owned<VkDescriptorSetLayout> set_layout;
    Owned<VkPipelineLayout> pipeline_layout;
    std::deque<Queue> queues;
    Block zeros;  // a few, visible to the host
    std::mutex modules_mutex;
    std::vector<Owned<VkShaderModule>> modules;  // by kernel
    std::once_flag ptx_tried;
    std::string no_ptx;  // why it is not used after all

    // An object that function(handle, &info, nullptr, &object) makes; `destroy` gives it back.
    template <typename T, typename Function, typename Info>
    Owned<T> make(Function function, const Info& info, decltype(Destroy<T>::function) destroy,
                  const std::string& attempted) const {
        T object{};
        check(function(handle, &info, nullptr, &object), attempted);
        return {object, {handle, destroy}};
    }

private:
    void create();
    void create_layouts();
    void create_queues();
};

struct Api {
    using Instance = vulkan::Instance;
    using Physical = PhysicalDevice;
    using Device = vulkan::Device;
    using Queue = vulkan::Queue;
    using Block = vulkan::Block;
    using Kernel = vulkan::Kernel;
    using Recording = vulkan::Recording;
    using Timeline = vulkan::Timeline;
    using Range = gpu::Range<Block>;
    using Waits = std::span<const gpu::Until<Timeline>>;

    static constexpr const char* kName = "Vulkan";
    static constexpr const char* kBackend = "vulkan";
    static constexpr auto kKernelOptions = {
        "gpu", "patches", "matrix", "tiles", "no-matrices", "no-workgroup-matrices", "no-warpgroups"};
    static constexpr double kSegmentWorkOfSoftware = 5e8;
    static constexpr uint64_t kWrittenUpTo = uint64_t{64} << 10;
    static const gpu::KernelSource* kernels() { return kKernels; }

    static void choose(Abilities& can, const std::string& kernels);

    static Block allocate(Device& device, uint64_t bytes, gpu::Placement placement);
    static Block import(Device& device, void* memory, uint64_t bytes);
    static std::byte* map(Device&, const Range& range) {
        return range.block->mapped != nullptr ? range.block->mapped + range.offset : nullptr;
    }
    static void unmap(Device&, const Range&, void*) {}  // memory stays mapped

    static Kernel build(Device& device, uint32_t kernel, std::span<const uint32_t> constants,
                        std::span<const std::byte> binary);
    static std::vector<std::byte> binary(Device& device, Kernel& kernel, bool ran);
    static void built(Device&) {}

    static Recording begin(Device& device, uint32_t dispatches);
    static void dispatch(Recording& recording, const Kernel& kernel, std::span<const Range> operands,
                         std::span<const uint32_t> words, const Range& parameters, const gpu::Extent& extent);
    static void move(Recording& recording, const Range& from, const Range& to);
    static void barrier(Recording& recording);
    static void end(Recording& recording);

    static std::unique_ptr<Timeline> timeline(Device& device, Queue& queue);
    static void submit(Queue& queue, const Recording& recording, Waits waits, Timeline& timeline, uint64_t value);
    static void copy(Queue& queue, const Range& from, const Range& to, Waits waits, Timeline& timeline, uint64_t value);
    static uint64_t reached(Timeline& timeline);
    static bool wait(Timeline& timeline, uint64_t value, uint64_t nanoseconds);
};

}  // namespace backplane::vulkan
