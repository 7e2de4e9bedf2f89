// Where the system's loader learns of OpenCL drivers, and what is wrong there when it finds none.
#pragma once

#include <string>

namespace backplane::opencl {

extern const char* const kLoaderName;
extern const char* const kLoaderAdvice;  // how to get it

// Asked when the loader has no platform: whether no driver is registered, one is registered that does not load, or all load and drive
// nothing. A sentence.
std::string why_no_platform();

}  // namespace backplane::opencl
