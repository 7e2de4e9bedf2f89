// Whether the run-time linker would find a library, by its own rules (ld.so(8)) and without asking it to load anything.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"

namespace backplane::base {

namespace {

// /etc/ld.so.cache, new format: magic and version (20 bytes), count, size of the string table, flags and room (20 bytes), then entries of
// 24 bytes whose second word is the offset of the soname from the start of the new-format header.
class LinkerCache {
public:
    LinkerCache() {
        std::ifstream file("/etc/ld.so.cache", std::ios::binary | std::ios::ate);
        const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
        bytes_.resize(static_cast<size_t>(std::max<std::streamoff>(size, 0)));
        if (!file.seekg(0).read(bytes_.data(), size)) bytes_.clear();
        start_ = std::string_view(bytes_.data(), bytes_.size()).find("glibc-ld.so.cache1.1");
    }
    [[nodiscard]] bool known() const { return start_ != std::string_view::npos; }
    [[nodiscard]] bool holds(std::string_view name) const { return !files_of(name, 1).empty(); }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for_each([&](std::string_view name, std::string_view) {
            names.emplace_back(name);
            return true;
        });
        return names;
    }
    [[nodiscard]] std::vector<std::filesystem::path> files_of(std::string_view name, size_t most) const {
        std::vector<std::filesystem::path> files;
        for_each([&](std::string_view entry, std::string_view file) {
            if (entry == name) files.emplace_back(file);
            return files.size() < most;
        });
        return files;
    }

private:
    // Calls `f` with the name and the file of each entry, until it returns false.
    template <typename F>
    void for_each(const F& f) const {
        constexpr size_t kHeader = 48;
        constexpr size_t kEntry = 24;
        const uint64_t count = known() ? word(start_ + 20) : 0;
        for (uint64_t i = 0; i < count; ++i) {
            const size_t entry = start_ + kHeader + i * kEntry;
            if (entry + kEntry > bytes_.size()) break;
            if (!f(text_at(start_ + word(entry + 4)), text_at(start_ + word(entry + 8)))) break;
        }
    }
    [[nodiscard]] uint32_t word(size_t at) const {
        uint32_t value = 0;
        if (at + sizeof value <= bytes_.size()) std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }
    // Empty where there is no zero that ends it.
    [[nodiscard]] std::string_view text_at(size_t at) const {
        if (at >= bytes_.size()) return {};
        const void* end = std::memchr(bytes_.data() + at, 0, std::min<size_t>(bytes_.size() - at, 4096));
        return end == nullptr ? std::string_view()
                              : std::string_view(bytes_.data() + at,
                                                 static_cast<size_t>(static_cast<const char*>(end) - bytes_.data()) - at);
    }
    std::vector<char> bytes_;
    size_t start_ = std::string_view::npos;
};

constexpr std::string_view kDefaultFolders = "/lib:/usr/lib:/lib64:/usr/lib64";

// The first file of that name in these folders.
std::filesystem::path in_first(std::string_view folders, const std::string& name) {
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        if (end > at) {
            std::error_code failed;
            std::filesystem::path file = std::filesystem::path(folders.substr(at, end - at)) / name;
            if (std::filesystem::exists(file, failed)) return file;
        }
        at = end + 1;
    }
    return {};
}

}  // namespace

std::vector<std::string> names_of_libraries() {
    std::vector<std::string> names = LinkerCache().names();
    for (const char* folder : {"/lib", "/usr/lib", "/lib64", "/usr/lib64"}) {
        std::string problem;
        for (const std::filesystem::path& name : names_in(folder, problem))
            if (name.native().find(".so") != std::string::npos) names.push_back(name.native());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

struct LibraryPlaces::Index {
    LinkerCache cache;
};
LibraryPlaces::LibraryPlaces() = default;
LibraryPlaces::~LibraryPlaces() = default;

Presence LibraryPlaces::find(const std::string& name, std::span<const std::filesystem::path> run_paths) const {
    std::error_code failed;
    if (name.find('/') != std::string::npos)
        return std::filesystem::exists(name, failed) ? Presence::present : Presence::absent;
    for (const std::filesystem::path& folder : run_paths)
        if (std::filesystem::exists(folder / name, failed)) return Presence::present;
    if (!in_first(environment("LD_LIBRARY_PATH").value_or(""), name).empty()) return Presence::present;
    if (void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD); handle != nullptr) {
        ::dlclose(handle);
        return Presence::present;  // in this process already
    }
    if (!in_first(kDefaultFolders, name).empty()) return Presence::present;
    if (!index_) index_ = std::make_unique<Index>();
    if (!index_->cache.known()) return Presence::unknown;
    return index_->cache.holds(name) ? Presence::present : Presence::absent;
}

Presence find_library(const std::string& name, std::span<const std::filesystem::path> run_paths) {
    return LibraryPlaces().find(name, run_paths);
}

std::vector<std::filesystem::path> LibraryPlaces::of(const std::string& name,
                                                     std::span<const std::filesystem::path> run_paths) const {
    std::vector<std::filesystem::path> files;
    std::error_code failed;
    if (name.find('/') != std::string::npos) {
        if (std::filesystem::exists(name, failed)) files.emplace_back(name);
        return files;
    }
    auto add = [&files](std::filesystem::path file) {
        if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(std::move(file));
    };
    const auto in_run_path = std::find_if(run_paths.begin(), run_paths.end(), [&](const std::filesystem::path& folder) {
        return std::filesystem::exists(folder / name, failed);
    });
    if (in_run_path != run_paths.end()) add(*in_run_path / name);
    add(in_first(environment("LD_LIBRARY_PATH").value_or(""), name));
    add(in_first(kDefaultFolders, name));
    if (!index_) index_ = std::make_unique<Index>();
    constexpr size_t kMost = 8;  // one for each machine and each level of its instruction set
    for (std::filesystem::path& file : index_->cache.files_of(name, kMost)) add(std::move(file));
    return files;
}

}  // namespace backplane::base
