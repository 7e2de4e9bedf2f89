// Written by Apple's documentation; not built or run by this project's checks yet.
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>

#include <string>

#include "base/dynamic_library.hpp"

namespace backplane::base {

namespace {

std::filesystem::path canonical_or_same(const std::filesystem::path& file) {
    std::error_code failed;
    std::filesystem::path real = std::filesystem::canonical(file, failed);
    return failed ? file : real;
}

}  // namespace

std::filesystem::path own_file() {
    static const char anchor = 0;  // an address inside this library
    Dl_info info{};
    if (::dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
    const auto* image = static_cast<const mach_header*>(info.dli_fbase);
    return image != nullptr && image->filetype == MH_EXECUTE ? executable_file() : canonical_or_same(info.dli_fname);
}

std::filesystem::path executable_file() {
    uint32_t size = 0;
    ::_NSGetExecutablePath(nullptr, &size);  // says how much it needs
    std::string path(size, '\0');
    if (size == 0 || ::_NSGetExecutablePath(path.data(), &size) != 0) return {};
    return canonical_or_same(path.c_str());
}

std::string why_no_place() {
    return "the system does not tell where this program is, and so where its modules are; set BACKPLANE_MODULE_PATH";
}

}  // namespace backplane::base
