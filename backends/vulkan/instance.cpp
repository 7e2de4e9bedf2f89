#include "instance.hpp"

#include <algorithm>
#include <cstring>

#include "common/platform/registrations.hpp"
#include "common/platform/system.hpp"
#include "platform/driver_registry.hpp"
#include "queues.hpp"

namespace backplane::vulkan {

namespace {

uint32_t kind_of(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return BP_KIND_DISCRETE;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return BP_KIND_INTEGRATED;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return BP_KIND_VIRTUAL;
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return BP_KIND_SOFTWARE;
        default: return BP_KIND_UNKNOWN;
    }
}

std::string version_text(uint32_t version) {
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
           std::to_string(VK_API_VERSION_PATCH(version));
}

bool has(const std::vector<VkExtensionProperties>& list, const char* name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const VkExtensionProperties& e) { return std::strcmp(e.extensionName, name) == 0; });
}

// Does the device multiply 16x16 matrices of f16 with sums in float32?
bool has_matrices(const InstanceFunctions& vk, VkPhysicalDevice device) {
    uint32_t count = 0;
    const auto list = vk.GetPhysicalDeviceCooperativeMatrixPropertiesNV;
    if (list == nullptr || list(device, &count, nullptr) != VK_SUCCESS) return false;
    std::vector<VkCooperativeMatrixPropertiesNV> all(
        count, VkCooperativeMatrixPropertiesNV{VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV});
    if (count == 0 || list(device, &count, all.data()) < 0) return false;
    return std::any_of(all.begin(), all.end(), [](const VkCooperativeMatrixPropertiesNV& m) {
        return m.MSize == 16 && m.NSize == 16 && m.KSize == 16 && m.AType == VK_COMPONENT_TYPE_FLOAT16_NV &&
               m.BType == VK_COMPONENT_TYPE_FLOAT16_NV && m.CType == VK_COMPONENT_TYPE_FLOAT32_NV &&
               m.DType == VK_COMPONENT_TYPE_FLOAT32_NV && m.scope == VK_SCOPE_SUBGROUP_NV;
    });
}

// NVIDIA's GPUs of compute capability 8.0 on, of whose matrices each of 32 invocations holds 8 elements: conv_matrix counts on that. The
// numbers of the generations before (Volta, Turing) are below 0x2200; GA100 has 0x2080 to 0x20ff.
constexpr uint32_t kNvidia = 0x10de;
bool is_ampere_or_later(const VkPhysicalDeviceProperties& device) {
    return device.vendorID == kNvidia && (device.deviceID >= 0x2200 || (device.deviceID & 0xff80) == 0x2080);
}

// GH100.
bool is_hopper(const VkPhysicalDeviceProperties& device) {
    return device.vendorID == kNvidia && (device.deviceID & 0xff80) == 0x2300;
}

}  // namespace

Instance::Instance() {
    constexpr const char* kEntry = "vkGetInstanceProcAddr";
    void* loader = backend::open_loader("Vulkan", kLoaderName, kEntry, kLoaderAdvice, why_);
    if (loader == nullptr) return;
    create(reinterpret_cast<PFN_vkGetInstanceProcAddr>(backend::find_function(loader, kEntry)));
    if (instance_ != VK_NULL_HANDLE) list();
}

Instance::~Instance() {
    if (instance_ != VK_NULL_HANDLE) vk_.DestroyInstance(instance_, nullptr);
}

void Instance::create(PFN_vkGetInstanceProcAddr entry) {
    const auto create_instance = reinterpret_cast<PFN_vkCreateInstance>(entry(nullptr, "vkCreateInstance"));
    if (create_instance == nullptr || entry(nullptr, "vkEnumerateInstanceVersion") == nullptr) {
        why_ = "the Vulkan loader is of version 1.0, 1.1 is needed; update it";
        return;
    }
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pEngineName = "Backplane";
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    const VkResult result = create_instance(&info, nullptr, &instance_);
    if (result != VK_SUCCESS) {
        instance_ = VK_NULL_HANDLE;
        why_ = why_no_driver(false);
        // Loaders give up with other codes when a registration is damaged.
        if (result != VK_ERROR_INCOMPATIBLE_DRIVER) why_ += " (vkCreateInstance: " + name_of(result) + ")";
        return;
    }
#define BP_VK_LOAD(name) vk_.name = reinterpret_cast<PFN_vk##name>(entry(instance_, "vk" #name));
    BP_VK_INSTANCE(BP_VK_LOAD)
    BP_VK_LOAD(GetPhysicalDeviceCooperativeMatrixPropertiesNV)  // null: no driver has it
    vk_.list_workgroup_matrices = entry(instance_, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
#undef BP_VK_LOAD
}

void Instance::list() {
    uint32_t count = 0;
    VkResult result = vk_.EnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> handles(count);
    if (result == VK_SUCCESS && count != 0) result = vk_.EnumeratePhysicalDevices(instance_, &count, handles.data());
    // Some loaders call it a failure when no driver has a device.
    if (result == VK_ERROR_INITIALIZATION_FAILED || (result == VK_SUCCESS && count == 0)) {
        why_ = why_no_driver(true);
        return;
    }
    if (result < 0) {
        why_ = "listing the Vulkan devices failed with " + name_of(result) + "; see the driver's log";
        return;
    }
    handles.resize(count);
    for (VkPhysicalDevice handle : handles) {
        PhysicalDevice device;
        device.handle = handle;
        if (describe(device)) devices_.push_back(std::move(device));
    }
    gpu::give_ids(devices_);
    why_ = !devices_.empty()
               ? broken_drivers()
               : std::to_string(count) +
                     " found, but none has Vulkan 1.1, timeline semaphores and a queue for compute; update the driver";
}

bool Instance::describe(PhysicalDevice& device) const {
    vk_.GetPhysicalDeviceProperties(device.handle, &device.properties);
    const VkPhysicalDeviceProperties& p = device.properties;
    if (p.apiVersion < VK_API_VERSION_1_1) return false;
    uint32_t count = 0;
    vk_.GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vk_.GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
    const auto chosen = choose_families(families);
    if (!chosen) return false;
    device.does_graphics = (families[chosen->work].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
    device.queue_family = chosen->work, device.copy_family = chosen->copies, device.copy_queues = chosen->copy_queues;
    vk_.GetPhysicalDeviceMemoryProperties(device.handle, &device.memory);
    device.kind = kind_of(p.deviceType);
    device.name = p.deviceName;
    device.vendor = p.vendorID < 0x10000 ? p.vendorID : 0;
    for (uint32_t i = 0; i < device.memory.memoryHeapCount; ++i)
        if ((device.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            device.memory_total = std::max<uint64_t>(device.memory_total, device.memory.memoryHeaps[i].size);
    if (!describe_features(device)) return false;
    device.memory_source = device.can.budget ? "VK_EXT_memory_budget" : "heaps of the Vulkan driver";
    uint64_t code = hash_of(p.pipelineCacheUUID, sizeof p.pipelineCacheUUID, hash_of(device.name));
    code = hash_of(&p.driverVersion, sizeof p.driverVersion, code);
    // Mesa's cache UUID is the same for all its builds.
    device.fingerprint = hash_of(device.driver.data(), device.driver.size(), code);
    return true;
}

bool Instance::describe_features(PhysicalDevice& device) const {
    uint32_t count = 0;
    std::vector<VkExtensionProperties> extensions;
    if (vk_.EnumerateDeviceExtensionProperties(device.handle, nullptr, &count, nullptr) == VK_SUCCESS) {
        extensions.resize(count);
        if (vk_.EnumerateDeviceExtensionProperties(device.handle, nullptr, &count, extensions.data()) < 0)
            extensions.clear();
    }
    const bool v12 = device.properties.apiVersion >= VK_API_VERSION_1_2;
    const bool bytes = v12 || has(extensions, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
    const bool driver_named = v12 || has(extensions, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);

    if (!v12 && !has(extensions, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME)) return false;
    const bool matrices_named = v12 && has(extensions, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
    Features features(bytes, matrices_named,
                      matrices_named && device.properties.apiVersion >= VK_API_VERSION_1_3 &&
                          has(extensions, kMatrixExtensions[0]) && has(extensions, kMatrixExtensions[1]));
    vk_.GetPhysicalDeviceFeatures2(device.handle, &features.all);
    if (features.timelines.timelineSemaphore != VK_TRUE) return false;

    VkPhysicalDeviceIDProperties ids{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceMaintenance3Properties sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT import{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    void** next = &properties.pNext;
    auto chain = [&next](auto& structure) {
        *next = &structure;
        next = &structure.pNext;
    };
    chain(ids);
    chain(sizes);
    chain(subgroup);
    if (driver_named) chain(driver);
    device.pci_known = has(extensions, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    if (device.pci_known) chain(pci);
    device.says_hits = has(extensions, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
    device.can.import = has(extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    if (device.can.import) chain(import);
    vk_.GetPhysicalDeviceProperties2(device.handle, &properties);

    const VkPhysicalDeviceLimits& limits = device.properties.limits;
    Abilities& can = device.can;
    can.halves = features.halves.storageBuffer16BitAccess == VK_TRUE;
    can.bytes = features.bytes.storageBuffer8BitAccess == VK_TRUE && can.halves;
    can.longs = features.all.features.shaderInt64 == VK_TRUE;
    can.doubles = features.all.features.shaderFloat64 == VK_TRUE;
    can.budget = has(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    can.import_alignment = import.minImportedHostPointerAlignment;
    can.storage_alignment =
        std::max<uint64_t>({limits.minStorageBufferOffsetAlignment, limits.minUniformBufferOffsetAlignment, 16});
    can.most_range = limits.maxStorageBufferRange;
    can.most_allocation = sizes.maxMemoryAllocationSize;
    std::copy_n(limits.maxComputeWorkGroupCount, 3, can.most_groups);
    can.most_invocations = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
    can.shared_bytes = limits.maxComputeSharedMemorySize;
    can.subgroup = subgroup.subgroupSize;
    can.matrices = can.bytes && features.matrices.cooperativeMatrix == VK_TRUE &&
                   features.model.vulkanMemoryModel == VK_TRUE && features.arithmetic.shaderFloat16 == VK_TRUE &&
                   can.subgroup == 32 && has_matrices(vk_, device.handle);
    can.patches = can.most_invocations >= 256 && can.shared_bytes >= 24576;
    can.matrix_tiles =
        can.matrices && is_ampere_or_later(device.properties) && can.most_invocations >= 256 && can.shared_bytes >= 49152;
    can.matrix_sums = 4;
    can.workgroup_matrices = can.matrices && features.plain_matrices.matrices == VK_TRUE &&
                             features.workgroup_matrices.enough() && features.sizes_by_constants.maintenance4 == VK_TRUE &&
                             has_workgroup_matrices(vk_.list_workgroup_matrices, device.handle) &&
                             kKernels[gpu::kKernel_matmul_workgroup_f16].entry != nullptr &&
                             kKernels[gpu::kKernel_attention_workgroup_f16].entry != nullptr;
    // Of compute capability 9.0 alone: later ones have others. They have more shared memory than the driver says; on a queue that can do graphics, too, that
    // loses the device.
    can.warpgroup_products = !kPtxTexts.empty() && can.workgroup_matrices && is_hopper(device.properties) &&
                             can.most_invocations >= 384 && !device.does_graphics &&
                             features.addresses.bufferDeviceAddress == VK_TRUE &&
                             has(extensions, VK_NVX_BINARY_IMPORT_EXTENSION_NAME);
    if (can.warpgroup_products)
        can.float_parts = 64, can.shared_bytes = 200704;  // the others are content with what the driver says
    can.unified = device.kind == BP_KIND_INTEGRATED || device.kind == BP_KIND_SOFTWARE;
    can.software = device.kind == BP_KIND_SOFTWARE;
    // H200: 33.5 MB take 86 us by command, 26 us in OpenCL.
    can.slow_copies = device.kind == BP_KIND_DISCRETE && can.storage_alignment % 8 == 0;

    std::copy_n(ids.deviceUUID, 16, device.uuid);
    device.uuid_known = true;
    device.luid_known = ids.deviceLUIDValid == VK_TRUE;
    if (device.luid_known) std::copy_n(ids.deviceLUID, 8, device.luid);
    if (device.pci_known) {
        const uint32_t place[4] = {pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction};
        std::copy_n(place, 4, device.pci);
    }
    device.driver = driver_named ? std::string(driver.driverName) + " " + driver.driverInfo
                                 : "driver " + std::to_string(device.properties.driverVersion);
    device.features = "vulkan-" + version_text(device.properties.apiVersion) + " subgroup-" + std::to_string(can.subgroup);
    for (const auto& [there, name] :
         {std::pair(can.halves, " 16bit-storage"), std::pair(can.bytes, " 8bit-storage"), std::pair(can.longs, " int64"),
          std::pair(can.doubles, " float64"), std::pair(can.matrices, " cooperative-matrix"),
          std::pair(can.workgroup_matrices, " workgroup-matrix"), std::pair(can.warpgroup_products, " warpgroups"),
          std::pair(can.import, " external-memory-host"), std::pair(can.budget, " memory-budget")})
        if (there) device.features += name;
    return true;
}

uint64_t Instance::free_bytes(const PhysicalDevice& device) const {
    if (!device.can.budget) return 0;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    memory.pNext = &budget;
    vk_.GetPhysicalDeviceMemoryProperties2(device.handle, &memory);
    uint64_t most = 1;
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i)
        if ((memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 &&
            budget.heapBudget[i] > budget.heapUsage[i])
            most = std::max<uint64_t>(most, budget.heapBudget[i] - budget.heapUsage[i]);
    return most;
}

}  // namespace backplane::vulkan
