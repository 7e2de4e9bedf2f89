// Products on the matrix units of compute capability 9.0, which OpenCL C cannot say: the cuda backend's kernel as PTX, made by nvcc where there was one
// when this module was built. NVIDIA's driver takes it as a program's binary. A device is given it after a trial.
#pragma once

#include <cstdint>
#include <span>

#include "device.hpp"

namespace backplane::opencl {

// The kernel with these constants. Throws Failure: the driver does not take it, or a small product was wrong with it. [any]
Kernel build_warpgroups(Device& device, uint32_t kernel, std::span<const uint32_t> constants);

}  // namespace backplane::opencl
