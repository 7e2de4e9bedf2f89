// Kernels of a device: pipelines by shader and specialisation constants, each with a driver's cache of its own.
#include <cstring>

#include "common/gpu/kernel_table.hpp"
#include "device.hpp"
#include "ptx.hpp"

namespace backplane::vulkan {

namespace {

// The header that every driver's pipeline cache begins with, checked before a driver sees the bytes: not all of them check.
bool is_ours(std::span<const std::byte> bytes, const VkPhysicalDeviceProperties& p) {
    VkPipelineCacheHeaderVersionOne header{};
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header.headerSize >= sizeof header && header.headerSize <= bytes.size() &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == p.vendorID &&
           header.deviceID == p.deviceID && std::memcmp(header.pipelineCacheUUID, p.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

VkShaderModule module_of(Device& device, uint32_t kernel) {
    const std::lock_guard lock(device.modules_mutex);
    Owned<VkShaderModule>& module = device.modules[kernel];
    if (module.get() == VK_NULL_HANDLE) {
        VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = kKernels[kernel].bytes;
        info.pCode = static_cast<const uint32_t*>(kKernels[kernel].code);
        module =
            device.make<VkShaderModule>(device.vk.CreateShaderModule, info, device.vk.DestroyShaderModule,
                                        std::string("load kernel ") + kKernels[kernel].name + " on " + device.physical.name);
    }
    return module.get();
}

// The driver's cache for one pipeline, of these bytes where the driver takes them.
Owned<VkPipelineCache> make_cache(Device& device, std::span<const std::byte> binary, bool& refused) {
    VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    refused = !binary.empty() && !is_ours(binary, device.physical.properties);
    VkPipelineCache made = VK_NULL_HANDLE;
    if (!binary.empty() && !refused) {
        info.initialDataSize = binary.size();
        info.pInitialData = binary.data();
        if (device.vk.CreatePipelineCache(device.handle, &info, nullptr, &made) == VK_SUCCESS)
            return {made, {device.handle, device.vk.DestroyPipelineCache}};
        refused = true;
    }
    info.initialDataSize = 0;
    info.pInitialData = nullptr;
    return device.make<VkPipelineCache>(device.vk.CreatePipelineCache, info, device.vk.DestroyPipelineCache,
                                        "build kernels on " + device.physical.name);
}

}  // namespace

Kernel Api::build(Device& device, uint32_t kernel, std::span<const uint32_t> constants, std::span<const std::byte> binary) {
    if (kKernels[kernel].code == nullptr) return build_ptx(device, kernel, constants);
    Kernel built;
    bool refused = false;
    built.cache = make_cache(device, binary, refused);
    if (!binary.empty() && !refused) built.loaded = hash_of(binary.data(), binary.size());
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t i = 0; i < constants.size(); ++i)
        entries.push_back({i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)});
    VkSpecializationInfo specialization{};
    specialization.mapEntryCount = static_cast<uint32_t>(entries.size());
    specialization.pMapEntries = entries.data();
    specialization.dataSize = constants.size_bytes();
    specialization.pData = constants.data();
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module_of(device, kernel);
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = device.pipeline_layout.get();
    VkPipelineCreationFeedbackEXT feedback[2]{};  // of the pipeline, of its stage
    VkPipelineCreationFeedbackCreateInfoEXT wanted{VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO_EXT};
    wanted.pPipelineCreationFeedback = &feedback[0];
    wanted.pipelineStageCreationFeedbackCount = 1;
    wanted.pPipelineStageCreationFeedbacks = &feedback[1];
    if (device.physical.says_hits) info.pNext = &wanted;
    VkPipeline made = VK_NULL_HANDLE;
    check(device.vk.CreateComputePipelines(device.handle, built.cache.get(), 1, &info, nullptr, &made),
          std::string("build kernel ") + kKernels[kernel].name + " on " + device.physical.name);
    built.pipeline = {made, {device.handle, device.vk.DestroyPipeline}};
    constexpr VkFlags kHit =
        VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT_EXT | VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT_EXT;
    built.origin = refused                              ? gpu::Origin::refused
                   : (feedback[0].flags & kHit) == kHit ? gpu::Origin::binary
                                                        : gpu::Origin::source;
    return built;
}

std::vector<std::byte> Api::binary(Device& device, Kernel& kernel, bool ran) {
    if (kernel.function.get() != VK_NULL_HANDLE)
        return {};  // it is the text itself, and machine code of it the driver keeps
    const Owned<VkPipelineCache> cache = std::move(kernel.cache);
    size_t size = 0;
    if (ran || device.vk.GetPipelineCacheData(device.handle, cache.get(), &size, nullptr) != VK_SUCCESS) return {};
    std::vector<std::byte> bytes(size);
    if (size == 0 || device.vk.GetPipelineCacheData(device.handle, cache.get(), &size, bytes.data()) != VK_SUCCESS)
        return {};
    bytes.resize(size);
    if (hash_of(bytes.data(), bytes.size()) == kernel.loaded) bytes.clear();
    return bytes;
}

}  // namespace backplane::vulkan
