#include "platform/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <array>
#include <cstring>
#include <fstream>
#include <utility>

#include "backplane/sdk.hpp"

namespace backplane::ggml {

namespace {

constexpr std::string_view kPrefix = "libggml-";
constexpr std::string_view kEnding = ".so";

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_NONE;  // any: the loader will tell
#endif

}  // namespace

Library::Library(const fs::path& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
        const char* why = dlerror();
        throw sdk::Failure(BP_NOT_FOUND, "cannot load " + file.string() + ": " + (why != nullptr ? why : "no reason given"));
    }
}

Library::~Library() {
    if (handle_ != nullptr) dlclose(handle_);
}

Library::Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Library& Library::operator=(Library&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

void* Library::symbol(const char* name) const noexcept { return dlsym(handle_, name); }

fs::path file_of(const void* address) {
    Dl_info info{};
    if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    std::error_code error;
    const fs::path path = fs::canonical(info.dli_fname, error);
    return error ? fs::path() : path;
}

std::vector<fs::path> mapped(const std::string& file_name) {
    struct Search {
        const std::string& name;
        std::vector<fs::path> found;
    } search{file_name, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* argument) {
            auto& s = *static_cast<Search*>(argument);
            const fs::path path(info->dlpi_name != nullptr ? info->dlpi_name : "");
            if (path.filename() == s.name) s.found.push_back(path);
            return 0;
        },
        &search);
    return search.found;
}

std::string why_unloadable(const fs::path& file) {
    std::error_code error;
    const uintmax_t size = fs::file_size(file, error);
    std::ifstream in(file, std::ios::binary);
    Elf64_Ehdr header{};
    if (error || !in.read(reinterpret_cast<char*>(&header), sizeof header))
        return "it cannot be read, or is shorter than a header";
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_type != ET_DYN)
        return "it is no 64-bit shared library";
    if (kMachine != EM_NONE && header.e_machine != kMachine) return "it is for another processor";
    if (header.e_phentsize != sizeof(Elf64_Phdr)) return "its program headers are of another size";
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        in.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
        if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) return "it is cut off in its program headers";
        if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
            return "it is cut off: a segment ends behind the end of the file";
    }
    return {};
}

std::string base_library_name() { return "libggml-base.so"; }

bool is_module_name(const std::string& name) {
    return name.size() > kPrefix.size() + kEnding.size() && name.starts_with(kPrefix) && name.ends_with(kEnding) &&
           name != base_library_name();
}

std::string kind_of_module(const std::string& name) {
    const std::string stem = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
    return stem.substr(0, stem.find('-'));
}

}  // namespace backplane::ggml
