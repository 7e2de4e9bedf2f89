#include "warpgroups.hpp"

#include "common/gpu/ptx_texts.hpp"

namespace backplane::opencl {

namespace {

Kernel built_of(Device& device, uint32_t kernel, std::span<const uint32_t> constants) {
    const std::string text = gpu::text_with(kPtxTexts, kernel, constants);
    Kernel built;
    built.id = kernel;
    built.entry = kKernels[kernel].entry;
    built.kept = true;  // the binary is this text, and machine code of it the driver keeps itself
    built.program = program_of(device, kernel, built.entry, device.physical.build_options, std::as_bytes(std::span(text)));
    return built;
}

}  // namespace

Kernel build_warpgroups(Device& device, uint32_t kernel, std::span<const uint32_t> constants) {
    return gpu::build_after_trial<Api>(device, kernel, constants, built_of);
}

}  // namespace backplane::opencl
