// The kernels as sources, in the order of gpu::Kernel. The table is generated (CMakeLists.txt).
#pragma once

#include "common/gpu/api.hpp"
#include "kernels_generated.h"

namespace backplane::opencl {

// Texts of OpenCL C 1.2, nothing included.
extern const gpu::KernelSource kKernels[];

// Changes when any kernel does.
uint64_t hash_of_kernels();

}  // namespace backplane::opencl
