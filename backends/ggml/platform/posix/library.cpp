#include "platform/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <utility>

#include "backplane/sdk.hpp"
#include "platform/files.hpp"

namespace backplane::ggml {

namespace {

constexpr std::string_view kPrefix = "libggml-";
constexpr std::string_view kEnding = ".so";

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr const char* kTripletFolder = "../lib/x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr const char* kTripletFolder = "../lib/aarch64-linux-gnu";
#else
constexpr uint16_t kMachine = EM_NONE;  // any: the loader will tell
constexpr const char* kTripletFolder = "../lib64";
#endif

// Names of everything that is loaded, but the program and what the kernel maps.
std::vector<std::string> mapped() {
    std::vector<std::string> names;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* argument) {
            if (info->dlpi_name != nullptr && *info->dlpi_name == '/')
                static_cast<std::vector<std::string>*>(argument)->emplace_back(info->dlpi_name);
            return 0;
        },
        &names);
    return names;
}

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
    std::error_code error;
    const fs::path path = fs::canonical(name_of(address), error);
    return error ? fs::path() : path;
}

// By the segments, and the program, which has no name there, by dladdr: that goes through all symbols of what holds the address.
fs::path name_of(const void* address) {
    if (address == nullptr) return {};
    struct Search {
        uintptr_t address;
        std::string name;
    } search{reinterpret_cast<uintptr_t>(address), {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* argument) {
            auto& wanted = *static_cast<Search*>(argument);
            for (size_t i = 0; i < info->dlpi_phnum; ++i) {
                const auto& segment = info->dlpi_phdr[i];
                if (segment.p_type != PT_LOAD || wanted.address - info->dlpi_addr - segment.p_vaddr >= segment.p_memsz)
                    continue;
                if (info->dlpi_name != nullptr) wanted.name = info->dlpi_name;
                return 1;
            }
            return 0;
        },
        &search);
    if (Dl_info info{}; search.name.empty() && dladdr(address, &info) != 0 && info.dli_fname != nullptr)
        search.name = info.dli_fname;
    std::error_code error;
    const fs::path path = search.name.empty() ? fs::path() : fs::absolute(search.name, error);
    return error ? fs::path() : path;
}

std::vector<fs::path> mapped_bases() {
    std::vector<fs::path> found;
    for (const std::string& name : mapped())
        if (is_base_library_name(fs::path(name).filename().string())) found.emplace_back(name);
    return found;
}

std::vector<std::string> loaded_libraries() { return mapped(); }

void* symbol_in_reach(const char* name) noexcept { return dlsym(RTLD_DEFAULT, name); }

void* symbol_anywhere(const char* name) {
    if (void* found = symbol_in_reach(name)) return found;
    for (const std::string& library : mapped())
        if (void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
            void* found = dlsym(handle, name);
            dlclose(handle);  // it was loaded before and stays
            if (found != nullptr) return found;
        }
    return nullptr;
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

bool is_base_library_name(const std::string& name) {
    constexpr std::string_view kBase = "ggml-base.so";
    const size_t at = name.find(kBase);
    return name.starts_with("lib") && at != std::string::npos &&
           (at + kBase.size() == name.size() || name[at + kBase.size()] == '.');
}

fs::path find_base_library(const fs::path& folder) {
    for (const char* place : {".", "../lib", "../lib64", kTripletFolder, "..", "../.."}) {
        std::error_code error;
        const fs::path there = place == std::string_view(".") ? folder : folder / place;
        std::vector<fs::path> found;
        for (const fs::directory_entry& entry : fs::directory_iterator(there, error))
            if (is_base_library_name(entry.path().filename().string()) && entry.is_regular_file(error) &&
                (there == folder || why_not_trusted(entry.path(), facts_of(entry.path())).empty()))
                found.push_back(entry.path());  // nobody named the other folders: a stranger may have put one there
        // "libggml-base.so" before "libggml-base.so.0" before "libggml-base.so.0.25.1": all one file where they were installed together.
        const auto best = std::min_element(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
            const size_t x = a.native().size();
            const size_t y = b.native().size();
            return x != y ? x < y : a < b;
        });
        if (best != found.end()) return best->lexically_normal();
    }
    return {};
}

bool is_module_name(const std::string& name) {
    return name.size() > kPrefix.size() + kEnding.size() && name.starts_with(kPrefix) && name.ends_with(kEnding) &&
           !is_base_library_name(name);
}

std::string kind_of_module(const std::string& name) {
    const std::string stem = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
    return stem.substr(0, stem.find('-'));
}

}  // namespace backplane::ggml
