// Vulkan as a module: all of it is in common/gpu.
#include "common/gpu/module_table.hpp"
#include "device.hpp"

namespace backplane::vulkan {

namespace {

constinit const bp_module_api kTable = gpu::ModuleTable<Api>::make();

}  // namespace
}  // namespace backplane::vulkan

extern "C" const bp_module_api* backplane_vulkan(uint32_t host_abi);
const bp_module_api* backplane_vulkan(uint32_t host_abi) {
    return host_abi >> 16 == BP_ABI_MAJOR ? &backplane::vulkan::kTable : nullptr;
}
