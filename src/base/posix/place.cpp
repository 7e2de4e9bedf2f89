// Where this code and this program are, also where /proc is not mounted and in programs without a loader.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/posix/mapping.hpp"

namespace backplane::base {

namespace {

// Is this file the running program? By its program headers, which the kernel leaves in memory.
bool is_this_program(const std::filesystem::path& path) {
    // The kernel hands over addresses as numbers.
    const auto* headers = reinterpret_cast<const std::byte*>(::getauxval(AT_PHDR));  // NOLINT(performance-no-int-to-ptr)
    const size_t count = ::getauxval(AT_PHNUM);
    if (headers == nullptr || count == 0 || count > 512) return false;
    try {
        const File file(path);
        ElfW(Ehdr) start{};
        if (file.read_at(0, std::as_writable_bytes(std::span(&start, 1))) != sizeof start || start.e_phnum != count)
            return false;
        std::vector<std::byte> stored(count * sizeof(ElfW(Phdr)));
        return file.read_at(start.e_phoff, stored) == stored.size() &&
               std::memcmp(stored.data(), headers, stored.size()) == 0;
    } catch (const std::exception&) {
        return false;
    }
}

// The name that the kernel was given to run: not argv[0], which the parent writes as it likes. Whoever starts a set-uid program chooses
// that name, so there it says nothing.
std::filesystem::path started_as() {
    const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
    if (name == nullptr || privileges_were_raised()) return {};
    const std::filesystem::path real = real_path(name);
    return !real.empty() && is_this_program(real) ? real : std::filesystem::path();
}

// What the system says that it runs; empty: it does not tell. Not read_symlink(), which asks first how long it is: the kernel says 0.
std::filesystem::path running_program() {
    std::array<char, 4096> text{};
    const ssize_t length = ::readlink("/proc/self/exe", text.data(), text.size());
    if (length > 0 && static_cast<size_t>(length) < text.size())
        return std::string_view(text.data(), static_cast<size_t>(length));
    std::error_code failed;
    std::filesystem::path longer = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::filesystem::path() : longer;
}

}  // namespace

Mapping mapping_at(uintptr_t address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        Mapping m;
        uintptr_t first = 0;
        uintptr_t end = 0;
        const size_t path = line.find('/');
        if (path == std::string::npos ||
            std::sscanf(line.c_str(), "%zx-%zx %*s %*x %x:%x %lu", &first, &end, &m.major, &m.minor, &m.inode) != 5)
            continue;
        if (address < first || address >= end) continue;
        m.path = line.substr(path);
        return m;
    }
    return {};
}

std::filesystem::path own_file() {
    static const char anchor = 0;  // an address inside this library
    const auto here = reinterpret_cast<uintptr_t>(&anchor);
    Dl_info info{};
    link_map* map = nullptr;
    if (::dladdr1(&anchor, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) map = nullptr;
    // The program itself has no name there (dladdr gives its argv[0], which is whatever its parent wrote), and a relative name says
    // nothing after a change of folder: the mapping is exact. A program without a loader has no map either. What was started is the program
    // where the system mapped its loader beside it (AT_BASE), and the loader where somebody started that by name.
    const std::filesystem::path file = map != nullptr ? map->l_name : "";
    if (map != nullptr && file.empty() && ::getauxval(AT_BASE) != 0) {
        std::filesystem::path started = running_program();
        if (!started.empty()) return started;  // a link is read in a tenth of the time of all mappings
    }
    if (!file.is_absolute() || file == "/proc/self/exe") {
        std::filesystem::path mapped = mapping_at(here).path;
        return mapped.empty() && file.empty() ? started_as() : mapped;
    }
    std::error_code failed;
    std::filesystem::path real = std::filesystem::canonical(file, failed);
    return failed ? file : real;  // "base.apk!/lib/arm64-v8a/libacme.so" is no file, and still says where this came from
}

std::filesystem::path executable_file() {
    std::filesystem::path file = running_program();
    return file.empty() ? started_as() : file;
}

std::string why_no_place() {
    std::error_code failed;
    const bool mounted = std::filesystem::exists("/proc/self", failed);
    return std::string(mounted ? "the system does not tell" : "/proc is not mounted: cannot tell") +
           " where this program is, and so where its modules are; set BACKPLANE_MODULE_PATH";
}

}  // namespace backplane::base
