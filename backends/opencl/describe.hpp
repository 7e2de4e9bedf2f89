// One device of a platform, as it describes itself.
#pragma once

#include "instance.hpp"

namespace backplane::opencl {

// Fills all but the handles of `device`. Empty, or why its kernels would not run.
std::string describe(const Functions& cl, PhysicalDevice& device);

std::string platform_text(const Functions& cl, cl_platform_id platform, cl_platform_info what);

}  // namespace backplane::opencl
