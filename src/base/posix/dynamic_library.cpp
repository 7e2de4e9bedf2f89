#include "base/dynamic_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
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

namespace {

// The file that is mapped at an address: exact also for what was opened by a relative name from a folder left since.
std::filesystem::path file_mapped_at(uintptr_t address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        uintptr_t first = 0;
        uintptr_t end = 0;
        const size_t path = line.find('/');
        if (path == std::string::npos || std::sscanf(line.c_str(), "%zx-%zx", &first, &end) != 2) continue;
        if (address >= first && address < end) return line.substr(path);
    }
    return {};
}

}  // namespace

std::filesystem::path own_file() {
    static const char anchor = 0;  // an address inside this library
    Dl_info info{};
    if (::dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
    std::error_code failed;
    const std::filesystem::path file = info.dli_fname;
    if (!file.is_absolute() || file == "/proc/self/exe") return file_mapped_at(reinterpret_cast<uintptr_t>(&anchor));
    return std::filesystem::canonical(file, failed);
}

std::filesystem::path executable_file() {
    std::error_code failed;
    std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::filesystem::path() : file;
}

}  // namespace backplane::base
