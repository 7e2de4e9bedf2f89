// Whether the run-time linker would find a library, by its own rules (ld.so(8)) and without asking it to load anything.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"

namespace backplane::base {

namespace {

// /etc/ld.so.cache, new format: magic and version (20 bytes), count, size of the string table, flags and room (20 bytes), then entries of
// 24 bytes whose second word is the offset of the soname from the start of the new-format header.
class LinkerCache {
public:
    LinkerCache() {
        std::ifstream file("/etc/ld.so.cache", std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
        start_ = std::string_view(bytes_.data(), bytes_.size()).find("glibc-ld.so.cache1.1");
    }
    [[nodiscard]] bool known() const { return start_ != std::string_view::npos; }
    [[nodiscard]] bool holds(std::string_view name) const {
        constexpr size_t kHeader = 48;
        constexpr size_t kEntry = 24;
        const uint64_t count = word(start_ + 20);
        for (uint64_t i = 0; i < count; ++i) {
            const size_t entry = start_ + kHeader + i * kEntry;
            if (entry + kEntry > bytes_.size()) return false;
            const size_t text = start_ + word(entry + 4);
            if (text < bytes_.size() && bytes_.size() - text > name.size() && bytes_[text + name.size()] == '\0' &&
                std::memcmp(bytes_.data() + text, name.data(), name.size()) == 0)
                return true;
        }
        return false;
    }

private:
    [[nodiscard]] uint32_t word(size_t at) const {
        uint32_t value = 0;
        if (at + sizeof value <= bytes_.size()) std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }
    std::vector<char> bytes_;
    size_t start_ = std::string_view::npos;
};

bool in_any(std::string_view folders, const std::string& name) {
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        std::error_code failed;
        if (end > at && std::filesystem::exists(std::filesystem::path(folders.substr(at, end - at)) / name, failed))
            return true;
        at = end + 1;
    }
    return false;
}

}  // namespace

Presence find_library(const std::string& name, std::span<const std::filesystem::path> run_paths) {
    std::error_code failed;
    if (name.find('/') != std::string::npos)
        return std::filesystem::exists(name, failed) ? Presence::present : Presence::absent;
    for (const std::filesystem::path& folder : run_paths)
        if (std::filesystem::exists(folder / name, failed)) return Presence::present;
    if (in_any(environment("LD_LIBRARY_PATH").value_or(""), name)) return Presence::present;
    if (void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD); handle != nullptr) {
        ::dlclose(handle);
        return Presence::present;  // in this process already
    }
    if (in_any("/lib:/usr/lib:/lib64:/usr/lib64", name)) return Presence::present;
    const LinkerCache cache;
    if (!cache.known()) return Presence::unknown;
    return cache.holds(name) ? Presence::present : Presence::absent;
}

}  // namespace backplane::base
