#include "common/platform/system.hpp"

#include <windows.h>

#include <cstdlib>

namespace backplane::backend {

void* open_library(const std::string& name, std::string& why, Binding) {
    // By name from the system's folder alone: a file of this name beside the application is not what we want.
    const bool path = name.find_first_of("\\/") != std::string::npos;
    const HMODULE library =
        LoadLibraryExA(name.c_str(), nullptr, path ? LOAD_WITH_ALTERED_SEARCH_PATH : LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (library == nullptr) why = "error " + std::to_string(GetLastError());
    return library;
}

AnyFunction find_function(void* library, const char* name) {
    return reinterpret_cast<AnyFunction>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string why_no_device_file() { return {}; }  // the system has no such files

}  // namespace backplane::backend
