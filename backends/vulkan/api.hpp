// The functions of Vulkan, looked up at run time: from the loader those of an instance, from the driver those of a device.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <string>

#include "backplane/sdk.hpp"
#include "common/gpu/owned.hpp"

namespace backplane::vulkan {

#define BP_VK_INSTANCE(X)                     \
    X(DestroyInstance)                        \
    X(EnumeratePhysicalDevices)               \
    X(EnumerateDeviceExtensionProperties)     \
    X(GetPhysicalDeviceProperties)            \
    X(GetPhysicalDeviceProperties2)           \
    X(GetPhysicalDeviceFeatures2)             \
    X(GetPhysicalDeviceMemoryProperties)      \
    X(GetPhysicalDeviceMemoryProperties2)     \
    X(GetPhysicalDeviceQueueFamilyProperties) \
    X(CreateDevice)                           \
    X(GetDeviceProcAddr)

#define BP_VK_DEVICE(X)            \
    X(DestroyDevice)               \
    X(GetDeviceQueue)              \
    X(QueueSubmit)                 \
    X(CmdFillBuffer)               \
    X(CreateSemaphore)             \
    X(DestroySemaphore)            \
    X(DeviceWaitIdle)              \
    X(AllocateMemory)              \
    X(FreeMemory)                  \
    X(MapMemory)                   \
    X(CreateBuffer)                \
    X(DestroyBuffer)               \
    X(GetBufferMemoryRequirements) \
    X(BindBufferMemory)            \
    X(CreateShaderModule)          \
    X(DestroyShaderModule)         \
    X(CreatePipelineCache)         \
    X(DestroyPipelineCache)        \
    X(GetPipelineCacheData)        \
    X(CreateComputePipelines)      \
    X(DestroyPipeline)             \
    X(CreatePipelineLayout)        \
    X(DestroyPipelineLayout)       \
    X(CreateDescriptorSetLayout)   \
    X(DestroyDescriptorSetLayout)  \
    X(CreateDescriptorPool)        \
    X(DestroyDescriptorPool)       \
    X(AllocateDescriptorSets)      \
    X(UpdateDescriptorSets)        \
    X(CreateCommandPool)           \
    X(DestroyCommandPool)          \
    X(AllocateCommandBuffers)      \
    X(BeginCommandBuffer)          \
    X(EndCommandBuffer)            \
    X(CmdBindPipeline)             \
    X(CmdBindDescriptorSets)       \
    X(CmdPushConstants)            \
    X(CmdDispatch)                 \
    X(CmdPipelineBarrier)          \
    X(CmdCopyBuffer)

// Of kernels as PTX (ptx.hpp).
#define BP_VK_PTX(X)          \
    X(GetBufferDeviceAddress) \
    X(CreateCuModuleNVX)      \
    X(DestroyCuModuleNVX)     \
    X(CreateCuFunctionNVX)    \
    X(DestroyCuFunctionNVX)   \
    X(CmdCuLaunchKernelNVX)

struct InstanceFunctions {
#define BP_VK_MEMBER(name) PFN_vk##name name = nullptr;
    BP_VK_INSTANCE(BP_VK_MEMBER)
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV GetPhysicalDeviceCooperativeMatrixPropertiesNV = nullptr;
    PFN_vkVoidFunction list_workgroup_matrices = nullptr;  // of VK_NV_cooperative_matrix2, which headers of 2023 lack
};

struct DeviceFunctions {
    BP_VK_DEVICE(BP_VK_MEMBER)
    BP_VK_PTX(BP_VK_MEMBER)  // null where no kernel needs them
#undef BP_VK_MEMBER
    PFN_vkGetSemaphoreCounterValue GetSemaphoreCounterValue = nullptr;  // of Vulkan 1.2, or an extension
    PFN_vkWaitSemaphores WaitSemaphores = nullptr;
    PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerPropertiesEXT =
        nullptr;  // null: no VK_EXT_external_memory_host
};

// Destroys an object of a device.
template <typename T>
struct Destroy {
    VkDevice device = VK_NULL_HANDLE;
    void(VKAPI_PTR* function)(VkDevice, T, const VkAllocationCallbacks*) = nullptr;
    void operator()(T object) const { function(device, object, nullptr); }
};
template <typename T>
using Owned = gpu::Owned<T, Destroy<T>>;

// "VK_ERROR_DEVICE_LOST", or the number.
extern const gpu::Answers kAnswers;
inline std::string name_of(VkResult result) { return kAnswers.name(result); }
// Throws Failure with the code that a result stands for, unless it is VK_SUCCESS. `attempted`: "allocate 64 MiB on llvmpipe".
inline void check(VkResult result, const std::string& attempted) { kAnswers.check(result, attempted); }

}  // namespace backplane::vulkan
