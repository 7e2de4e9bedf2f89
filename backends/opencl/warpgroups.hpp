// Products on the matrix units of warpgroups (common/gpu/ptx_texts.hpp): NVIDIA's driver takes their PTX as a program's binary.
#pragma once

#include <cstdint>
#include <span>

#include "device.hpp"

namespace backplane::opencl {

// The kernel with these constants. Throws Failure: the driver does not take it, or a small product was wrong with it. [any]
Kernel build_warpgroups(Device& device, uint32_t kernel, std::span<const uint32_t> constants);

}  // namespace backplane::opencl
