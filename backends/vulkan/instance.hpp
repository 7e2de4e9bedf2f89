// A Vulkan instance and what its devices say about themselves, without opening one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api.hpp"
#include "common/gpu/api.hpp"
#include "common/gpu/ptx_texts.hpp"
#include "common/hash.hpp"
#include "workgroup_matrices.hpp"

namespace backplane::vulkan {

using backend::hash_of;
using gpu::Abilities;

extern const gpu::KernelSource kKernels[];             // SPIR-V; without: it is PTX
extern const std::span<const gpu::PtxText> kPtxTexts;  // empty: the module was built without nvcc

// What kernels and timelines need of a device: asked of it, and asked for when it is opened.
struct Features {
    Features(bool bytes_named, bool matrices_named, bool workgroup_matrices_named) {
        all.pNext = &timelines;
        timelines.pNext = &halves;
        if (bytes_named) halves.pNext = &bytes;
        if (!matrices_named) return;
        bytes.pNext = &matrices;  // they need bytes, too
        matrices.pNext = &model;
        model.pNext = &arithmetic;
        if (!workgroup_matrices_named) return;
        arithmetic.pNext = &plain_matrices;
        plain_matrices.pNext = &workgroup_matrices;
        workgroup_matrices.pNext = &sizes_by_constants;
        sizes_by_constants.pNext = &addresses;
    }
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;

    VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDevice16BitStorageFeatures halves{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDevice8BitStorageFeatures bytes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
    VkPhysicalDeviceCooperativeMatrixFeaturesNV matrices{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};
    VkPhysicalDeviceVulkanMemoryModelFeatures model{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    VkPhysicalDeviceShaderFloat16Int8Features arithmetic{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    MatrixFeatures plain_matrices;
    WorkgroupMatrixFeatures workgroup_matrices;
    VkPhysicalDeviceMaintenance4Features sizes_by_constants{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES};  // of a workgroup, in SPIR-V 1.6
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
};

struct PhysicalDevice : gpu::Facts {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    VkPhysicalDeviceProperties properties{};
    VkPhysicalDeviceMemoryProperties memory{};
    uint32_t queue_family = 0, copy_family = 0;
    bool says_hits = false;      // VK_EXT_pipeline_creation_feedback
    bool does_graphics = false;  // the queues that get work
};

class Instance {
public:
    // Never throws for a machine without Vulkan: devices() is empty then and why() says so.
    Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    ~Instance();

    [[nodiscard]] const std::vector<PhysicalDevice>& devices() const { return devices_; }
    // Why there are no devices, or, beside devices, which registered drivers cannot be used; empty: all can.
    [[nodiscard]] const std::string& why() const { return why_; }
    [[nodiscard]] const InstanceFunctions& functions() const { return vk_; }
    // Bytes that can still be allocated of the device's own memory, by the driver's budget; 0: it does not say.
    [[nodiscard]] uint64_t free_bytes(const PhysicalDevice& device) const;

private:
    void create(PFN_vkGetInstanceProcAddr entry);
    void list();
    bool describe(PhysicalDevice& device) const;
    // False: the device lacks what is needed.
    bool describe_features(PhysicalDevice& device) const;

    VkInstance instance_ = VK_NULL_HANDLE;
    InstanceFunctions vk_;
    std::vector<PhysicalDevice> devices_;
    std::string why_;
};

}  // namespace backplane::vulkan
