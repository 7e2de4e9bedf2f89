// CUDA as a module: all of it is in common/gpu.
#include "common/gpu/module_table.hpp"
#include "device.hpp"

extern "C" const bp_module_api* backplane_cuda(uint32_t host_abi);
const bp_module_api* backplane_cuda(uint32_t host_abi) {
    return backplane::gpu::ModuleTable<backplane::cuda::Api>::entry(host_abi);
}
