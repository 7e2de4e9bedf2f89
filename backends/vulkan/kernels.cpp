// Kernels of a device: pipelines by shader and specialisation constants, and the driver's cache of them.
#include <cstring>

#include "device.hpp"

namespace backplane::vulkan {

namespace {

// The header that every driver's pipeline cache begins with, checked before a driver sees the bytes: not all of them check.
bool is_ours(const bp_blob& blob, const VkPhysicalDeviceProperties& p) {
    VkPipelineCacheHeaderVersionOne header{};
    if (blob.data == nullptr || blob.size < sizeof header) return false;
    std::memcpy(&header, blob.data, sizeof header);
    return header.headerSize >= sizeof header && header.headerSize <= blob.size &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == p.vendorID &&
           header.deviceID == p.deviceID && std::memcmp(header.pipelineCacheUUID, p.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace

void Device::open_kernel_cache() {
    cache_key_ =
        "vulkan/pipelines/" + backend::hexadecimal(physical.fingerprint[0]) + backend::hexadecimal(physical.fingerprint[1]);
    VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    bool foreign = false;
    host.cached(cache_key_, [&](const bp_blob& blob) {
        foreign = !is_ours(blob, physical.properties);
        if (foreign) return;
        info.initialDataSize = blob.size;
        info.pInitialData = blob.data;
        saved_hash_ = hash_of(blob.data, blob.size);
        if (vk.CreatePipelineCache(handle, &info, nullptr, &kernel_cache_) != VK_SUCCESS) {
            kernel_cache_ = VK_NULL_HANDLE;
            foreign = true;
        }
    });
    if (foreign) host.reject(cache_key_);
    if (kernel_cache_ != VK_NULL_HANDLE) return;
    info.initialDataSize = 0;
    info.pInitialData = nullptr;
    check(vk.CreatePipelineCache(handle, &info, nullptr, &kernel_cache_), "open " + physical.name);
}

void Device::remember_kernels() {
    const std::lock_guard lock(save_mutex_);
    if (!host.has_cache() || !unsaved_.exchange(false)) return;
    size_t size = 0;
    if (vk.GetPipelineCacheData(handle, kernel_cache_, &size, nullptr) != VK_SUCCESS || size == 0) return;
    std::vector<std::byte> bytes(size);
    if (vk.GetPipelineCacheData(handle, kernel_cache_, &size, bytes.data()) != VK_SUCCESS) return;
    const uint64_t hash = hash_of(bytes.data(), size);
    if (hash == saved_hash_) return;
    saved_hash_ = hash;
    host.remember(cache_key_, {bytes.data(), size});
}

VkShaderModule Device::module_of(uint32_t kernel) {
    const std::lock_guard lock(module_mutex_);
    if (modules_[kernel] != VK_NULL_HANDLE) return modules_[kernel];
    VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info.codeSize = kShaders[kernel].bytes;
    info.pCode = kShaders[kernel].words;
    check(vk.CreateShaderModule(handle, &info, nullptr, &modules_[kernel]),
          std::string("load kernel ") + kShaders[kernel].name + " on " + physical.name);
    return modules_[kernel];
}

VkPipeline Device::pipeline(uint32_t kernel, const std::vector<uint32_t>& constants) {
    return pipelines_.get(kernel, constants, [&] { return make_pipeline(kernel, constants); });
}

VkPipeline Device::make_pipeline(uint32_t kernel, const std::vector<uint32_t>& constants) {
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t i = 0; i < constants.size(); ++i)
        entries.push_back({i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)});
    VkSpecializationInfo specialization{};
    specialization.mapEntryCount = static_cast<uint32_t>(entries.size());
    specialization.pMapEntries = entries.data();
    specialization.dataSize = constants.size() * sizeof(uint32_t);
    specialization.pData = constants.data();
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module_of(kernel);
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = pipeline_layout;
    VkPipelineCreationFeedbackEXT feedback[2]{};  // of the pipeline, of its stage
    VkPipelineCreationFeedbackCreateInfoEXT wanted{VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO_EXT};
    wanted.pPipelineCreationFeedback = &feedback[0];
    wanted.pipelineStageCreationFeedbackCount = 1;
    wanted.pPipelineStageCreationFeedbacks = &feedback[1];
    if (physical.says_hits) info.pNext = &wanted;
    VkPipeline made = VK_NULL_HANDLE;
    check(vk.CreateComputePipelines(handle, kernel_cache_, 1, &info, nullptr, &made),
          std::string("build kernel ") + kShaders[kernel].name + " on " + physical.name);
    constexpr VkFlags kHit =
        VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT_EXT | VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT_EXT;
    if ((feedback[0].flags & kHit) == kHit) ++cache_hits_;
    unsaved_ = true;
    return made;
}

}  // namespace backplane::vulkan
