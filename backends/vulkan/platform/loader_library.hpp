// Vulkan's loader as a library of the system.
#pragma once

#include <string>

namespace backplane::vulkan {

using AnyFunction = void (*)();

// vkGetInstanceProcAddr of the loader; null: `why` says so. The library stays open.
AnyFunction find_loader_entry(std::string& why);

}  // namespace backplane::vulkan
