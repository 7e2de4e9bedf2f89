#include "ptx.hpp"

#include <algorithm>

#include "common/gpu/kernel_table.hpp"
#include "common/gpu/ptx_texts.hpp"

namespace backplane::vulkan {

namespace {

Kernel built_of(Device& device, uint32_t kernel, std::span<const uint32_t> constants) {
    const gpu::KernelSource& source = kKernels[kernel];
    const std::string attempted = std::string("build kernel ") + source.name + " on " + device.physical.name;
    const std::string text = gpu::text_with(kPtxTexts, kernel, constants);
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

Kernel build_ptx(Device& device, uint32_t kernel, std::span<const uint32_t> constants) {
    return gpu::build_after_trial<Api>(device, kernel, constants, built_of);
}

void dispatch_ptx(Recording& recording, const Kernel& kernel, std::span<const Api::Range> operands,
                  std::span<const uint32_t> words, const gpu::Extent& extent) {
    uint32_t by_value[PARAMETER_WORDS + 2 * MOST_OPERANDS] = {};  // no first elements
    std::copy(words.begin(), words.end(), by_value);
    uint64_t places[gpu::kMostOperands] = {};
    std::vector<const void*> arguments{by_value};
    for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].block != nullptr) places[i] = operands[i].block->address + operands[i].offset;
        arguments.push_back(&places[i]);
    }
    VkCuLaunchInfoNVX launch{VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX};
    launch.function = kernel.function.get();
    launch.gridDimX = extent.groups[0];
    launch.gridDimY = extent.groups[1];
    launch.gridDimZ = extent.groups[2];
    launch.blockDimX = extent.local;
    launch.blockDimY = launch.blockDimZ = 1;
    launch.paramCount = arguments.size();
    launch.pParams = arguments.data();
    recording.device->vk.CmdCuLaunchKernelNVX(recording.commands, &launch);
}

}  // namespace backplane::vulkan
