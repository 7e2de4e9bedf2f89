#include "warpgroups.hpp"

#include "common/gpu/warpgroup_texts.hpp"

namespace backplane::opencl {

namespace {

Kernel built_of(Device& device, std::span<const uint32_t> constants) {
    const std::string text = gpu::text_with(kWarpgroupTexts, constants);
    Kernel built;
    built.id = gpu::kKernel_matmul_warpgroup_f16;
    built.kept = true;  // the binary is this text, and machine code of it the driver keeps itself
    built.program = program_of(device, built.id, device.physical.build_options, std::as_bytes(std::span(text)));
    return built;
}

}  // namespace

Kernel build_warpgroups(Device& device, std::span<const uint32_t> constants) {
    return gpu::build_after_trial<Api>(device, kWarpgroupTexts, constants, built_of);
}

}  // namespace backplane::opencl
