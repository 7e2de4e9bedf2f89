// Where Vulkan's loader learns of drivers, and what is wrong there when none can be used.
#pragma once

#include <string>

namespace backplane::vulkan {

extern const char* const kLoaderName;
extern const char* const kLoaderAdvice;  // how to get it

// Whether no driver is registered, one is registered that does not load, or all load and none starts, or (`started`) has a device. A
// sentence.
std::string why_no_driver(bool started);

}  // namespace backplane::vulkan
