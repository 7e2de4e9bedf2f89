// The kernels as sources, in the order of gpu::Kernel. The table is generated (CMakeLists.txt).
#pragma once

#include <cstdint>

#include "kernels_generated.h"

namespace backplane::opencl {

struct KernelSource {
    const char* name;     // "conv_f16"
    const char* entry;    // of the program; null: this backend does not have the kernel
    const char* text;     // OpenCL C 1.2, nothing included
    const char* options;  // " -DHALF"
};
extern const KernelSource kKernels[];

// Changes when any kernel does.
uint64_t hash_of_kernels();

}  // namespace backplane::opencl
