// An open device: queue, memory, kernels, copies.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "common/gpu/compile.hpp"
#include "common/gpu/kernel_table.hpp"
#include "common/host.hpp"
#include "memory.hpp"
#include "shaders_generated.h"

namespace backplane::vulkan {

using gpu::kMostOperands;  // bindings 1 to 7; 0 has the parameters
using gpu::kParameterWords;

class Device {
public:
    Device(const backend::Host& host, const Instance& instance, const PhysicalDevice& physical);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    const backend::Host& host;
    const Instance& instance;
    const PhysicalDevice& physical;
    DeviceFunctions vk;
    VkDevice handle = VK_NULL_HANDLE;
    std::unique_ptr<Memory> memory;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout pipeline_layout = VK_NULL_HANDLE;

    [[nodiscard]] const Abilities& can() const { return can_; }

    // As vulkan::check, and remembers a lost device.
    void check(VkResult result, const std::string& attempted);
    // Throws Failure(BP_DEVICE_LOST) when it is.
    void check_lost() const;

    // The kernel with these specialisation constants; made when first asked for. [any]
    VkPipeline pipeline(uint32_t kernel, const std::vector<uint32_t>& constants);
    // Hands what was compiled since the last call to the host's kernel cache. [any]
    void remember_kernels();
    // How many pipelines came from the kernel cache since the device was opened; 0 where the driver does not say.
    [[nodiscard]] uint32_t cache_hits() const { return cache_hits_; }

    // Hands commands to the queue. [any]
    void submit(VkCommandBuffer commands, VkFence fence);
    void wait(VkFence fence, const std::string& attempted);

    // Bytes between host and device; return when done. [any]
    void upload(const Buffer& to, uint64_t offset, const std::byte* from, uint64_t bytes);
    void download(const Buffer& from, uint64_t offset, std::byte* to, uint64_t bytes);
    void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes);
    // Where the host sees these bytes; null: it does not. They stay mapped. [any]
    static void* map(const Buffer& buffer, uint64_t offset, uint64_t) {
        return buffer.mapped() != nullptr ? buffer.mapped() + offset : nullptr;
    }
    static void unmap(const Buffer&) {}

private:
    Abilities can_;  // of `physical`, or less
    struct Lane {    // for one thread at a time: the host fills some while the device reads others
        VkCommandPool pool = VK_NULL_HANDLE;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        VkFence fence = VK_NULL_HANDLE;
        Buffer up, down;
    };
    static constexpr uint32_t kLanes = 4;
    void create_device();
    void create_layouts();
    void create_lanes();
    void open_kernel_cache();
    void destroy() noexcept;
    // The device's part of a copy, by the commands of a lane; returns when it is done.
    void move(Lane& lane, const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes);
    // body(lane, first byte, how many) for the pieces of a copy, by as many threads as there are lanes.
    void in_pieces(uint64_t bytes, const std::function<void(Lane&, uint64_t, uint64_t)>& body);
    VkShaderModule module_of(uint32_t kernel);
    VkPipeline make_pipeline(uint32_t kernel, const std::vector<uint32_t>& constants);

    VkQueue queue_ = VK_NULL_HANDLE;
    VkPipelineCache kernel_cache_ = VK_NULL_HANDLE;
    Lane lanes_[kLanes];
    std::mutex queue_mutex_, copy_mutex_, module_mutex_, save_mutex_;
    gpu::KernelTable<VkPipeline> pipelines_;
    std::vector<VkShaderModule> modules_;
    std::string cache_key_;
    std::atomic<bool> unsaved_ = false;
    uint64_t saved_hash_ = 0;
    std::atomic<uint32_t> cache_hits_ = 0;
    std::atomic<bool> lost_ = false;
};

}  // namespace backplane::vulkan
