// Where the system's loader learns of OpenCL drivers, and what is wrong there.
#pragma once

#include <string>

namespace backplane::opencl {

extern const char* const kLoaderName;
extern const char* const kLoaderAdvice;  // how to get it
extern const char* const kCudaName;      // NVIDIA's CUDA driver

// Asked when the loader has no platform: whether no driver is registered, one is registered that does not load, or all load and drive
// nothing. A sentence.
std::string why_no_platform();

// The registered drivers that cannot be loaded, in a sentence; "": there are none. A driver that loads and offers no platform is no such
// one: the hardware is not there.
std::string broken_drivers();

}  // namespace backplane::opencl
