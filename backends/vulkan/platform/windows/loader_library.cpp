#include "platform/loader_library.hpp"

#include <windows.h>

namespace backplane::vulkan {

AnyFunction find_loader_entry(std::string& why) {
    // From the system's folder alone: a file of this name beside the application is not what we want.
    const HMODULE library = LoadLibraryExA("vulkan-1.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (library == nullptr) {
        why = "the Vulkan loader vulkan-1.dll does not open (error " + std::to_string(GetLastError()) +
              "); install the graphics driver of the vendor";
        return nullptr;
    }
    const auto entry = reinterpret_cast<AnyFunction>(GetProcAddress(library, "vkGetInstanceProcAddr"));
    if (entry == nullptr) why = "vulkan-1.dll has no vkGetInstanceProcAddr; install the graphics driver again";
    return entry;
}

}  // namespace backplane::vulkan
