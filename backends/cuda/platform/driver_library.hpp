// NVIDIA's driver as the system knows it.
#pragma once

#include <string>

namespace backplane::cuda {

extern const char* const kLibraryName;
extern const char* const kLibraryAdvice;  // how to get it

// The version of the driver in the kernel, "580.159.04"; "": the system does not say.
std::string kernel_driver_version();

}  // namespace backplane::cuda
