#include "base/dynamic_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <utility>

#include "backplane/error.hpp"

namespace backplane::base {

DynamicLibrary::DynamicLibrary(const std::filesystem::path& file) {
    handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* text = ::dlerror();
    throw Error(Code::not_found, text != nullptr ? text : "the system does not say why");
}

DynamicLibrary::~DynamicLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

void* DynamicLibrary::symbol(const char* name) const noexcept {
    return handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
}

std::string_view library_ending() noexcept { return ".so"; }

std::string_view program_ending() noexcept { return ""; }

std::filesystem::path own_file() {
    static const char anchor = 0;  // an address inside this library
    Dl_info info{};
    if (::dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
    std::error_code failed;
    // A program's own name can be relative to a folder it has left: the system's link is exact.
    const std::filesystem::path file = info.dli_fname;
    if (!file.is_absolute() || file == "/proc/self/exe") return executable_file();
    return std::filesystem::canonical(file, failed);
}

std::filesystem::path executable_file() {
    std::error_code failed;
    std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::filesystem::path() : file;
}

}  // namespace backplane::base
