#include "common/platform/system.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace backplane::backend {

void* open_library(const std::string& name, std::string& why, Binding binding) {
    void* library = dlopen(name.c_str(), (binding == Binding::now ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
    if (library == nullptr) {
        const char* text = dlerror();
        why = text != nullptr ? text : "no reason given";
    }
    return library;
}

AnyFunction find_function(void* library, const char* name) { return reinterpret_cast<AnyFunction>(dlsym(library, name)); }

std::string environment(const char* name) {
    if (getuid() != geteuid() || getgid() != getegid()) return {};
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string why_no_device_file() {
    std::string there;
    const auto look = [&](const std::string& path) {
        if (there.empty()) there = path;
        return access(path.c_str(), R_OK | W_OK) == 0;
    };
    const auto is_numbered = [](const std::string& path) { return path.back() >= '0' && path.back() <= '9'; };
    for (const std::string& path : files_in("/dev/dri", ""))
        if (path.find("/renderD") != std::string::npos && look(path)) return {};
    for (const std::string& path : files_in("/dev", ""))
        if ((path.rfind("/dev/nvidia", 0) == 0 && is_numbered(path)) || path == "/dev/kfd" || path == "/dev/dxg")
            if (look(path)) return {};
    if (there.empty())
        return "this machine, or this container, has no device file of a GPU (/dev/dri/renderD*, /dev/nvidia*, /dev/kfd)";
    return "this user has no permission to open " + there + "; add the user to the group that owns it (render or video)";
}

}  // namespace backplane::backend
