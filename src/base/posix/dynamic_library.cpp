#include "base/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backplane/error.hpp"
#include "base/posix/mapping.hpp"

namespace backplane::base {

namespace {

constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;

link_map* map_of(void* handle) {
    link_map* map = nullptr;
    return handle != nullptr && ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

// Null: none. The loader wrote it under a lock of its own, which ThreadSanitizer does not see.
[[gnu::no_sanitize_thread]] const void* dynamic_section_of(void* handle) {
    const link_map* map = map_of(handle);
    return map != nullptr ? map->l_ld : nullptr;
}

// Is what is loaded under this name the file that has the name now? Where the kernel names its files otherwise than stat does
// (overlays), the answer is no, and costs an entry in the loader's list of names.
bool is_this_file(void* handle, const std::filesystem::path& file) {
    const void* dynamic = dynamic_section_of(handle);
    struct stat status {};
    if (dynamic == nullptr || ::stat(file.c_str(), &status) != 0) return false;
    const Mapping m = mapping_at(reinterpret_cast<uintptr_t>(dynamic));
    return m.inode != 0 && m.inode == status.st_ino && m.major == gnu_dev_major(status.st_dev) &&
           m.minor == gnu_dev_minor(status.st_dev);
}

// The same file by a name that the loader has not heard yet: it knows libraries by name first, and only then by what the file is.
std::filesystem::path unheard_name(const std::filesystem::path& file) {
    static std::atomic<uint32_t> count{0};
    std::string folder = file.parent_path().string();
    for (uint32_t n = count.fetch_add(1) + 1; n != 0; n >>= 1) folder += (n & 1) != 0 ? "/." : "/";
    return folder + "/" + file.filename().string();
}

bool is_name_of_a_loaded_one(const char* file) {
    return ::dl_iterate_phdr(
               [](dl_phdr_info* object, size_t, void* name) {
                   return object->dlpi_name != nullptr && std::strcmp(object->dlpi_name, static_cast<char*>(name)) == 0 ? 1
                                                                                                                        : 0;
               },
               const_cast<char*>(file)) != 0;
}

// By the loader's own account, which it wrote under a lock as above.
[[gnu::no_sanitize_thread]] bool is_named(const link_map* map, const char* file) {
    return std::strcmp(map->l_name, file) == 0;
}

// RTLD_NOLOAD would tell as well, and opens and reads the file for that.
void* open(const std::filesystem::path& file) {
    if (!file.has_parent_path()) return ::dlopen(file.c_str(), kFlags);  // the loader's own search
    const bool heard = is_name_of_a_loaded_one(file.c_str());
    void* handle = ::dlopen(file.c_str(), kFlags);
    const link_map* map = map_of(handle);
    // Loaded just now, it has this name; a library that the loader knew by another name of this file has that one.
    if (map == nullptr || (!heard && is_named(map, file.c_str())) || is_this_file(handle, file)) return handle;
    ::dlclose(handle);  // the file was replaced while the old one is in use
    return ::dlopen(unheard_name(file).c_str(), kFlags);
}

// The note segments of one loaded object, found by what the loader calls its dynamic section.
struct NoteSearch {
    const void* dynamic;
    std::vector<std::span<const std::byte>> notes;
};

int take_notes(dl_phdr_info* object, size_t, void* arg) {
    auto& search = *static_cast<NoteSearch*>(arg);
    const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
    const auto dynamic = std::find_if(headers.begin(), headers.end(), [](const auto& p) { return p.p_type == PT_DYNAMIC; });
    if (dynamic == headers.end() || object->dlpi_addr + dynamic->p_vaddr != reinterpret_cast<uintptr_t>(search.dynamic))
        return 0;
    const auto* image = static_cast<const std::byte*>(search.dynamic) - dynamic->p_vaddr;
    for (const auto& p : headers)
        if (p.p_type == PT_NOTE) search.notes.emplace_back(image + p.p_vaddr, p.p_memsz);
    return 1;
}

}  // namespace

DynamicLibrary::DynamicLibrary(const std::filesystem::path& file) : handle_(open(file)) {
    if (handle_ != nullptr) return;
    const char* text = ::dlerror();
    throw Error(Code::not_found, text != nullptr ? text : "the system does not say why");
}

DynamicLibrary DynamicLibrary::of_this_code() noexcept {
    static const char anchor = 0;
    Dl_info info{};
    link_map* map = nullptr;
    DynamicLibrary own;
    if (::dladdr1(&anchor, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 && map != nullptr &&
        *map->l_name != '\0')
        own.handle_ = ::dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
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

std::filesystem::path DynamicLibrary::file() const {
    const link_map* map = map_of(handle_);
    return map != nullptr ? map->l_name : "";
}

std::vector<std::span<const std::byte>> DynamicLibrary::notes() const {
    NoteSearch search{dynamic_section_of(handle_), {}};
    if (search.dynamic != nullptr) ::dl_iterate_phdr(take_notes, &search);
    return std::move(search.notes);
}

std::string_view library_ending() noexcept { return ".so"; }

std::string_view program_ending() noexcept { return ""; }

}  // namespace backplane::base
