// What this backend is to the ABI line (common/gpu/module_table.hpp).
#include <algorithm>

#include "common/gpu/module_table.hpp"
#include "extensions.hpp"
#include "program.hpp"

namespace backplane::vulkan {

namespace {

bp_device_info info_of(const Instance& instance, const PhysicalDevice& d) {
    bp_device_info info{};
    info.kind = d.kind;
    info.id = d.id;
    info.name = d.name.c_str();
    info.driver = d.driver.c_str();
    info.identity_known = BP_ID_UUID | (d.pci_known ? uint32_t{BP_ID_PCI} : 0U) | (d.luid_known ? uint32_t{BP_ID_LUID} : 0U);
    info.vendor = d.properties.vendorID < 0x10000 ? d.properties.vendorID : 0;
    std::copy_n(d.uuid, 16, info.uuid);
    std::copy_n(d.luid, 8, info.luid);
    info.pci_domain = d.pci[0], info.pci_bus = d.pci[1], info.pci_device = d.pci[2], info.pci_function = d.pci[3];
    info.fingerprint[0] = d.fingerprint[0], info.fingerprint[1] = d.fingerprint[1];
    info.capabilities = (d.can.import ? uint32_t{BP_CAN_IMPORT_HOST} : 0U) | (d.can.unified ? uint32_t{BP_CAN_MAP} : 0U);
    info.memory_total = d.memory_total();
    info.memory_free = instance.memory_free(d);
    info.memory_source = d.can.budget ? "VK_EXT_memory_budget" : "heaps of the Vulkan driver";
    info.max_buffer = d.can.most_allocation;
    info.dtypes = 1U << BP_F32 | 1U << BP_I32;
    if (d.can.halves) info.dtypes |= 1U << BP_F16;
    if (d.can.bytes) info.dtypes |= 1U << BP_BF16 | 1U << BP_Q8_0 | 1U << BP_Q4_0;
    if (d.can.longs) info.dtypes |= 1U << BP_I64;
    info.features = d.features.c_str();
    info.warning = d.warning.empty() ? nullptr : d.warning.c_str();
    return info;
}

struct Backend {
    using Instance = vulkan::Instance;
    using Device = vulkan::Device;
    using Program = vulkan::Program;
    using Buffer = vulkan::Buffer;
    static constexpr const char* kName = "Vulkan";

    static bp_device_info info_of(const Instance& instance, const PhysicalDevice& device) {
        return vulkan::info_of(instance, device);
    }
    static const void* extension(const char* id) { return find_extension(id); }
};

constinit const bp_module_api kTable = gpu::ModuleTable<Backend>::make();

}  // namespace
}  // namespace backplane::vulkan

extern "C" const bp_module_api* backplane_vulkan(uint32_t host_abi);
const bp_module_api* backplane_vulkan(uint32_t host_abi) {
    return host_abi >> 16 == BP_ABI_MAJOR ? &backplane::vulkan::kTable : nullptr;
}
