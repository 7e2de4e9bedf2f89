// Products on the matrix units of warpgroups (common/gpu/warpgroup_texts.hpp): NVIDIA's driver takes their PTX by VK_NVX_binary_import, and starts them on a
// queue that cannot do graphics with up to 195 KiB of shared memory where it says 48.
#pragma once

#include <span>

#include "device.hpp"

namespace backplane::vulkan {

// The kernel with these constants. Throws Failure: the driver does not take it, or a small product was wrong with it. [any]
Kernel build_warpgroups(Device& device, std::span<const uint32_t> constants);

// Api::dispatch of such a kernel.
void dispatch_text(Recording& recording, const Kernel& kernel, std::span<const Api::Range> operands,
                   const Api::Range& parameters, const gpu::Extent& extent);

}  // namespace backplane::vulkan
