// Kernels as PTX (common/gpu/ptx_texts.hpp): NVIDIA's driver takes it by VK_NVX_binary_import, and starts kernels on a queue that cannot do graphics with up
// to 195 KiB of shared memory where it says 48.
#pragma once

#include <span>

#include "device.hpp"

namespace backplane::vulkan {

// The kernel with these constants. Throws Failure: the driver does not take it, or a small product was wrong. [any]
Kernel build_ptx(Device& device, uint32_t kernel, std::span<const uint32_t> constants);

// Api::dispatch of such a kernel.
void dispatch_ptx(Recording& recording, const Kernel& kernel, std::span<const Api::Range> operands,
                  std::span<const uint32_t> words, const gpu::Extent& extent);

}  // namespace backplane::vulkan
