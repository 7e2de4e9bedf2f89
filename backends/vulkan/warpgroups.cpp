#include "warpgroups.hpp"

#include "common/gpu/warpgroup_texts.hpp"

namespace backplane::vulkan {

namespace {

Kernel built_of(Device& device, std::span<const uint32_t> constants) {
    const gpu::KernelSource& source = kKernels[gpu::kKernel_matmul_warpgroup_f16];
    const std::string attempted = std::string("build kernel ") + source.name + " on " + device.physical.name;
    const std::string text = gpu::text_with(kWarpgroupTexts, constants);
    Kernel built;
    VkCuModuleCreateInfoNVX module{VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX};
    module.dataSize = text.size() + 1;  // with the zero at its end
    module.pData = text.c_str();
    built.text = device.make<VkCuModuleNVX>(device.vk.CreateCuModuleNVX, module, device.vk.DestroyCuModuleNVX, attempted);
    VkCuFunctionCreateInfoNVX function{VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX};
    function.module = built.text.get();
    function.pName = source.entry;
    built.function =
        device.make<VkCuFunctionNVX>(device.vk.CreateCuFunctionNVX, function, device.vk.DestroyCuFunctionNVX, attempted);
    return built;
}

}  // namespace

Kernel build_warpgroups(Device& device, std::span<const uint32_t> constants) {
    return gpu::build_after_trial<Api>(device, kWarpgroupTexts, constants, built_of);
}

// Arguments: of the words, then of each operand, an address and the number of the first element.
void dispatch_text(Recording& recording, const Kernel& kernel, std::span<const Api::Range> operands,
                   const Api::Range& parameters, const gpu::Extent& extent) {
    constexpr size_t kMost = 2 * (gpu::kMostOperands + 1);
    uint64_t values[kMost] = {parameters.block->address + parameters.offset};
    const void* arguments[kMost];
    for (size_t i = 0; i < operands.size(); ++i)
        if (operands[i].block != nullptr) values[2 * (i + 1)] = operands[i].block->address + operands[i].offset;
    for (size_t i = 0; i < kMost; ++i) arguments[i] = &values[i];
    VkCuLaunchInfoNVX launch{VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX};
    launch.function = kernel.function.get();
    launch.gridDimX = extent.groups[0];
    launch.gridDimY = extent.groups[1];
    launch.gridDimZ = extent.groups[2];
    launch.blockDimX = extent.local;
    launch.blockDimY = launch.blockDimZ = 1;
    launch.paramCount = 2 * (operands.size() + 1);
    launch.pParams = arguments;
    recording.device->vk.CmdCuLaunchKernelNVX(recording.commands, &launch);
}

}  // namespace backplane::vulkan
