// Written by Apple's documentation; not built or run by this project's checks yet.
// dlopen(3), dladdr(3), dyld(3). A library that was replaced on disk while it is loaded is given as it was loaded: dyld tells by no
// documented call which file an image came from.
#include "base/dynamic_library.hpp"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>

#include <string>
#include <utility>

#include "backplane/error.hpp"

namespace backplane::base {

namespace {

const char anchor = 0;  // an address inside this library

bool is_program(const Dl_info& info) {
    return info.dli_fbase != nullptr && static_cast<const mach_header*>(info.dli_fbase)->filetype == MH_EXECUTE;
}

}  // namespace

DynamicLibrary::DynamicLibrary(const std::filesystem::path& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* text = ::dlerror();
    throw Error(Code::not_found, text != nullptr ? text : "the system does not say why");
}

DynamicLibrary DynamicLibrary::of_this_code() noexcept {
    Dl_info info{};
    DynamicLibrary own;
    if (::dladdr(&anchor, &info) != 0 && info.dli_fname != nullptr && !is_program(info))
        own.handle_ = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return own;
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

// No call gives the name for a handle; the same image opened again gives the same handle.
std::filesystem::path DynamicLibrary::file() const {
    for (uint32_t i = ::_dyld_image_count(); handle_ != nullptr && i-- > 0;) {
        const char* name = ::_dyld_get_image_name(i);
        void* same = name != nullptr ? ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : nullptr;
        if (same == nullptr) continue;
        const bool found = same == handle_;
        ::dlclose(same);
        if (found) return name;
    }
    return {};
}

std::vector<std::span<const std::byte>> DynamicLibrary::notes() const { return {}; }

// The ending that CMake gives to modules here; ".dylib" is that of libraries that programs link.
std::string_view library_ending() noexcept { return ".so"; }

std::string_view program_ending() noexcept { return ""; }

}  // namespace backplane::base
