// Machine code of NVIDIA's chips that the module carries, made by nvcc where there was one when it was built (carried.cmake): of these kernels nothing has
// to be built. What is not among them, or not taken, the driver builds as ever.
#pragma once

#include <cstdint>
#include <span>

#include "carried_code.hpp"
#include "device.hpp"

namespace backplane::opencl {

// That kernel with these constants; without a program: it is not carried, or the driver does not take it. [any]
Kernel carried(Device& device, uint32_t kernel, std::span<const uint32_t> constants);

}  // namespace backplane::opencl
