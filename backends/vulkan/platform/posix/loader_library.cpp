#include "platform/loader_library.hpp"

#include <dlfcn.h>

namespace backplane::vulkan {

AnyFunction find_loader_entry(std::string& why) {
    constexpr const char* name = "libvulkan.so.1";
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* text = dlerror();
        why = std::string("the Vulkan loader ") + name + " does not open (" + (text != nullptr ? text : "no reason given") +
              "); install it (Debian: libvulkan1) and a driver";
        return nullptr;
    }
    const auto entry = reinterpret_cast<AnyFunction>(dlsym(library, "vkGetInstanceProcAddr"));
    if (entry == nullptr) why = std::string(name) + " has no vkGetInstanceProcAddr; reinstall the Vulkan loader";
    return entry;
}

}  // namespace backplane::vulkan
