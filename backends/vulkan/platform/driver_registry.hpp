// Where Vulkan's loader learns of drivers, and what is wrong there.
#pragma once

#include <string>

namespace backplane::vulkan {

extern const char* const kLoaderName;
extern const char* const kLoaderAdvice;  // how to get it

// Whether no driver is registered, one is registered that does not load, or all load and none starts, or (`started`) has a device. A
// sentence.
std::string why_no_driver(bool started);

// The registered drivers that cannot be loaded, in a sentence; "": there are none. A driver that loads and finds no device is no such one:
// the hardware is not there.
std::string broken_drivers();

}  // namespace backplane::vulkan
