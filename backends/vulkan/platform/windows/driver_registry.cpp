#include "platform/driver_registry.hpp"

namespace backplane::vulkan {

const char* const kLoaderName = "vulkan-1.dll";
const char* const kLoaderAdvice = "install the graphics driver of the vendor";

std::string why_no_driver(bool started) {
    if (started) return "the Vulkan drivers here start but have no device; are they those for its GPU?";
    return "no Vulkan driver is registered that starts; install the graphics driver of the vendor";
}

std::string broken_drivers() { return {}; }  // the loader alone knows

}  // namespace backplane::vulkan
