#include "device.hpp"

#include <algorithm>
#include <cstring>

#include "common/gpu/parallel.hpp"

namespace backplane::vulkan {

namespace {

// A piece of a copy. One thread moves about 10 GB/s between the caller's memory and what the device reads, the bus several times that:
// hence several threads, each with a piece that stays in its core's cache.
constexpr uint64_t kStagingBytes = uint64_t{1} << 20;

}  // namespace

Device::Device(const backend::Host& h, const Instance& i, const PhysicalDevice& p)
    : host(h), instance(i), physical(p), can_(p.can) {
    // For tests: the kernels of GPUs on a driver for the CPU, memory that the host does not see, and the kernels for large maps on small ones;
    // or without some.
    const std::string kernels = host.option("vulkan.kernels", {"gpu", "patches", "matrix", "tiles", "no-matrices"});
    if (kernels == "gpu" || kernels == "patches" || kernels == "matrix") {
        can_.software = can_.unified = false;
        can_.slow_copies = can_.storage_alignment % 8 == 0;
    }
    if (kernels == "patches" || kernels == "matrix") can_.least_patches = 0;
    if (kernels == "tiles") can_.patches = false;
    if (kernels == "tiles" || kernels == "no-matrices") can_.matrices = false;
    if (kernels == "patches" || !can_.matrices) can_.matrix_tiles = false;
    try {
        create_device();
        memory = std::make_unique<Memory>(physical, can_, vk, handle);
        modules_.resize(gpu::kKernelCount);
        create_layouts();
        open_kernel_cache();
        create_lanes();
    } catch (...) {
        destroy();
        throw;
    }
}

Device::~Device() {
    remember_kernels();
    destroy();
}

void Device::destroy() noexcept {
    if (handle == VK_NULL_HANDLE) return;
    vk.DeviceWaitIdle(handle);
    for (const Lane& lane : lanes_) {
        vk.DestroyFence(handle, lane.fence, nullptr);
        vk.DestroyCommandPool(handle, lane.pool, nullptr);
    }
    memory.reset();
    pipelines_.each([&](VkPipeline made) { vk.DestroyPipeline(handle, made, nullptr); });
    for (VkShaderModule module : modules_) vk.DestroyShaderModule(handle, module, nullptr);
    vk.DestroyPipelineCache(handle, kernel_cache_, nullptr);
    vk.DestroyPipelineLayout(handle, pipeline_layout, nullptr);
    vk.DestroyDescriptorSetLayout(handle, set_layout, nullptr);
    vk.DestroyDevice(handle, nullptr);
}

void Device::create_device() {
    const bool v12 = physical.properties.apiVersion >= VK_API_VERSION_1_2;
    std::vector<const char*> extensions;
    if (can().import) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    if (physical.says_hits) extensions.push_back(VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
    if (can().bytes && !v12) extensions.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
    VkPhysicalDevice8BitStorageFeatures eights{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
    eights.storageBuffer8BitAccess = can().bytes ? VK_TRUE : VK_FALSE;
    VkPhysicalDevice16BitStorageFeatures halves{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    halves.storageBuffer16BitAccess = can().halves ? VK_TRUE : VK_FALSE;
    if (can().bytes) halves.pNext = &eights;
    VkPhysicalDeviceShaderFloat16Int8Features arithmetic{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    arithmetic.shaderFloat16 = VK_TRUE;
    VkPhysicalDeviceVulkanMemoryModelFeatures model{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    model.vulkanMemoryModel = VK_TRUE;
    model.pNext = &arithmetic;
    VkPhysicalDeviceCooperativeMatrixFeaturesNV matrices{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};
    matrices.cooperativeMatrix = VK_TRUE;
    matrices.pNext = &model;
    if (can().matrices) {
        extensions.push_back(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
        eights.pNext = &matrices;
    }
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    features.features.shaderInt64 = can().longs ? VK_TRUE : VK_FALSE;
    features.pNext = &halves;
    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = physical.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.pNext = &features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const InstanceFunctions& vki = instance.functions();
    vulkan::check(vki.CreateDevice(physical.handle, &info, nullptr, &handle), "open " + physical.name);
#define BP_VK_LOAD(name) vk.name = reinterpret_cast<PFN_vk##name>(vki.GetDeviceProcAddr(handle, "vk" #name));
    BP_VK_DEVICE(BP_VK_LOAD)
    if (can().import) BP_VK_LOAD(GetMemoryHostPointerPropertiesEXT)
#undef BP_VK_LOAD
    vk.GetDeviceQueue(handle, physical.queue_family, 0, &queue_);
}

void Device::create_layouts() {
    VkDescriptorSetLayoutBinding bindings[kMostOperands + 1]{};
    for (uint32_t i = 0; i <= kMostOperands; ++i) {
        bindings[i].binding = i;
        bindings[i].descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo sets{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    sets.bindingCount = kMostOperands + 1;
    sets.pBindings = bindings;
    check(vk.CreateDescriptorSetLayout(handle, &sets, nullptr, &set_layout), "open " + physical.name);
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kMostOperands * sizeof(uint32_t)};
    VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layout;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    check(vk.CreatePipelineLayout(handle, &layout, nullptr, &pipeline_layout), "open " + physical.name);
}

void Device::create_lanes() {
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = physical.queue_family;
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandBufferCount = 1;
    const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    for (Lane& lane : lanes_) {
        check(vk.CreateCommandPool(handle, &pool, nullptr, &lane.pool), "open " + physical.name);
        allocate.commandPool = lane.pool;
        check(vk.AllocateCommandBuffers(handle, &allocate, &lane.commands), "open " + physical.name);
        check(vk.CreateFence(handle, &fence, nullptr, &lane.fence), "open " + physical.name);
    }
}

void Device::check(VkResult result, const std::string& attempted) {
    if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
    vulkan::check(result, attempted);
}

void Device::check_lost() const {
    if (lost_)
        throw sdk::Failure(BP_DEVICE_LOST,
                           physical.name + " was lost by its driver in an earlier call; close the device and open it again",
                           VK_ERROR_DEVICE_LOST);
}

void Device::submit(VkCommandBuffer commands, VkFence fence) {
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    const std::lock_guard lock(queue_mutex_);
    check(vk.QueueSubmit(queue_, 1, &info, fence), "start work on " + physical.name);
}

void Device::wait(VkFence fence, const std::string& attempted) {
    check(vk.WaitForFences(handle, 1, &fence, VK_TRUE, UINT64_MAX), attempted);
    check(vk.ResetFences(handle, 1, &fence), attempted);
}

void Device::move(Lane& lane, const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
                  uint64_t bytes) {
    const std::string attempted = "copy on " + physical.name;
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vk.BeginCommandBuffer(lane.commands, &begin), attempted);
    const VkBufferCopy region{from.offset + from_offset, to.offset + to_offset, bytes};
    vk.CmdCopyBuffer(lane.commands, from.block->buffer, to.block->buffer, 1, &region);
    VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    vk.CmdPipelineBarrier(lane.commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                          0, 1, &barrier, 0, nullptr, 0, nullptr);
    check(vk.EndCommandBuffer(lane.commands), attempted);
    submit(lane.commands, lane.fence);
    wait(lane.fence, attempted);
}

void Device::in_pieces(uint64_t bytes, const std::function<void(Lane&, uint64_t, uint64_t)>& body) {
    const uint64_t pieces = (bytes + kStagingBytes - 1) / kStagingBytes;
    std::atomic<uint64_t> next{0};
    const std::lock_guard lock(copy_mutex_);
    gpu::in_parallel(host, static_cast<uint32_t>(std::min<uint64_t>(kLanes, pieces)), [&](uint32_t i) {
        for (uint64_t p = next++; p < pieces; p = next++)
            body(lanes_[i], p * kStagingBytes, std::min(kStagingBytes, bytes - p * kStagingBytes));
    });
}

void Device::upload(const Buffer& to, uint64_t offset, const std::byte* from, uint64_t bytes) {
    if (bytes == 0) return;
    if (std::byte* at = to.mapped(); at != nullptr) {
        std::memcpy(at + offset, from, bytes);
        return;
    }
    in_pieces(bytes, [&](Lane& lane, uint64_t first, uint64_t size) {
        if (lane.up.block == nullptr) lane.up = memory->create(kStagingBytes, Placement::upload);
        std::memcpy(lane.up.mapped(), from + first, size);
        move(lane, lane.up, 0, to, offset + first, size);
    });
}

void Device::download(const Buffer& from, uint64_t offset, std::byte* to, uint64_t bytes) {
    if (bytes == 0) return;
    if (const std::byte* at = from.mapped(); at != nullptr) {
        std::memcpy(to, at + offset, bytes);
        return;
    }
    in_pieces(bytes, [&](Lane& lane, uint64_t first, uint64_t size) {
        if (lane.down.block == nullptr) lane.down = memory->create(kStagingBytes, Placement::download);
        move(lane, from, offset + first, lane.down, 0, size);
        std::memcpy(to + first, lane.down.mapped(), size);
    });
}

void Device::copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes) {
    if (bytes == 0) return;
    if (from.mapped() != nullptr && to.mapped() != nullptr) {
        std::memmove(to.mapped() + to_offset, from.mapped() + from_offset, bytes);
        return;
    }
    const std::lock_guard lock(copy_mutex_);
    const bool overlap = from.block == to.block && from.offset + from_offset < to.offset + to_offset + bytes &&
                         to.offset + to_offset < from.offset + from_offset + bytes;
    if (overlap) {
        // Vulkan copies nothing onto itself: by way of memory between.
        Buffer between = memory->create(bytes);
        move(lanes_[0], from, from_offset, between, 0, bytes);
        move(lanes_[0], between, 0, to, to_offset, bytes);
        memory->close(between);
        return;
    }
    move(lanes_[0], from, from_offset, to, to_offset, bytes);
}

}  // namespace backplane::vulkan
