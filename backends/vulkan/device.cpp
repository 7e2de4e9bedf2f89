#include "device.hpp"

#include <algorithm>
#include <cstring>

#include "common/gpu/compile.hpp"

namespace backplane::vulkan {

// For tests: the kernels of GPUs on a driver for the CPU, memory that the host does not see, and the kernels for large maps on small ones; or
// without some.
void Api::choose(Abilities& can, const std::string& kernels) {
    if (kernels == "gpu" || kernels == "patches" || kernels == "matrix") {
        can.software = can.unified = false;
        can.slow_copies = can.storage_alignment % 8 == 0;
    }
    if (kernels == "patches" || kernels == "matrix") can.least_patches = 0;
    if (kernels == "tiles") can.patches = false;
    if (kernels == "tiles" || kernels == "no-matrices") can.matrices = false;
    if (kernels == "patches" || !can.matrices) can.matrix_tiles = can.workgroup_matrices = false;
    if (kernels == "no-workgroup-matrices") can.workgroup_matrices = false;
    if (!can.matrix_tiles || kernels == "no-warpgroups") can.warpgroup_products = false;
    if (!can.warpgroup_products) can.float_parts = 0;
}

Device::Device(const Instance& i, const PhysicalDevice& p, const Abilities& a)
    : instance(i), physical(p), can(a), modules(gpu::kKernelCount) {
    create();
    create_layouts();
    create_queues();
    zeros = Api::allocate(*this, 256, gpu::Placement::pinned);
    std::memset(zeros.mapped, 0, 256);
}

void Device::create() {
    const bool v12 = physical.properties.apiVersion >= VK_API_VERSION_1_2;
    std::vector<const char*> extensions;
    if (can.import) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    if (physical.says_hits) extensions.push_back(VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
    if (can.bytes && !v12) extensions.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
    if (!v12) extensions.push_back(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
    if (can.matrices) extensions.push_back(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
    if (can.workgroup_matrices)
        extensions.insert(extensions.end(), std::begin(kMatrixExtensions), std::end(kMatrixExtensions));
    if (can.warpgroup_products) extensions.push_back(VK_NVX_BINARY_IMPORT_EXTENSION_NAME);
    Features features(can.bytes, can.matrices, can.workgroup_matrices);
    features.addresses.bufferDeviceAddress = can.warpgroup_products ? VK_TRUE : VK_FALSE;
    features.all.features.shaderInt64 = can.longs ? VK_TRUE : VK_FALSE;
    features.all.features.shaderFloat64 = can.doubles ? VK_TRUE : VK_FALSE;
    features.timelines.timelineSemaphore = VK_TRUE;
    features.halves.storageBuffer16BitAccess = can.halves ? VK_TRUE : VK_FALSE;
    features.bytes.storageBuffer8BitAccess = VK_TRUE;
    features.matrices.cooperativeMatrix = VK_TRUE;
    features.model.vulkanMemoryModel = VK_TRUE;
    features.arithmetic.shaderFloat16 = VK_TRUE;
    features.plain_matrices.matrices = VK_TRUE;
    features.workgroup_matrices.ask();
    features.sizes_by_constants.maintenance4 = VK_TRUE;
    const float priorities[2] = {1.0F, 1.0F};
    VkDeviceQueueCreateInfo families[2] = {{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO},
                                           {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO}};
    families[0].queueFamilyIndex = physical.queue_family;
    families[0].queueCount = physical.queues;
    families[1].queueFamilyIndex = physical.copy_family;
    families[1].queueCount = physical.copy_queues;
    for (VkDeviceQueueCreateInfo& family : families) family.pQueuePriorities = priorities;
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.pNext = &features.all;
    info.queueCreateInfoCount = physical.copy_queues != 0 ? 2 : 1;
    info.pQueueCreateInfos = families;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const InstanceFunctions& vki = instance.functions();
    check(vki.CreateDevice(physical.handle, &info, nullptr, &handle), "open " + physical.name);
#define BP_VK_LOAD(name) vk.name = reinterpret_cast<PFN_vk##name>(vki.GetDeviceProcAddr(handle, "vk" #name));
    BP_VK_DEVICE(BP_VK_LOAD)
    if (can.import) BP_VK_LOAD(GetMemoryHostPointerPropertiesEXT)
    if (can.warpgroup_products) {
        BP_VK_PTX(BP_VK_LOAD)
    }
#undef BP_VK_LOAD
    const auto load = [&](const std::string& name) {
        return vki.GetDeviceProcAddr(handle, (name + (v12 ? "" : "KHR")).c_str());
    };
    vk.GetSemaphoreCounterValue = reinterpret_cast<PFN_vkGetSemaphoreCounterValue>(load("vkGetSemaphoreCounterValue"));
    vk.WaitSemaphores = reinterpret_cast<PFN_vkWaitSemaphores>(load("vkWaitSemaphores"));
}

void Device::create_layouts() {
    VkDescriptorSetLayoutBinding bindings[gpu::kMostOperands + 1]{};
    for (uint32_t i = 0; i <= gpu::kMostOperands; ++i) {
        bindings[i].binding = i;
        bindings[i].descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo sets{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    sets.bindingCount = gpu::kMostOperands + 1;
    sets.pBindings = bindings;
    const std::string attempted = "open " + physical.name;
    set_layout = make<VkDescriptorSetLayout>(vk.CreateDescriptorSetLayout, sets, vk.DestroyDescriptorSetLayout, attempted);
    const VkDescriptorSetLayout mine = set_layout.get();
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, gpu::kMostOperands * sizeof(uint32_t)};
    VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &mine;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    pipeline_layout = make<VkPipelineLayout>(vk.CreatePipelineLayout, layout, vk.DestroyPipelineLayout, attempted);
}

void Device::create_queues() {
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    for (uint32_t i = 0; i < physical.queues + physical.copy_queues; ++i) {
        const bool copies = i >= physical.queues;
        pool.queueFamilyIndex = copies ? physical.copy_family : physical.queue_family;
        queues.push_back({*this,
                          VK_NULL_HANDLE,
                          !copies,
                          make<VkCommandPool>(vk.CreateCommandPool, pool, vk.DestroyCommandPool, "open " + physical.name),
                          {}});
        vk.GetDeviceQueue(handle, pool.queueFamilyIndex, copies ? i - physical.queues : i, &queues.back().handle);
    }
}

}  // namespace backplane::vulkan
