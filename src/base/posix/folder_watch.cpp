#include "base/folder_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace backplane::base {

FolderWatch::FolderWatch(const std::filesystem::path& folder) : descriptor_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    if (descriptor_ >= 0) ::inotify_add_watch(descriptor_, folder.c_str(), IN_OPEN);
}

FolderWatch::~FolderWatch() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<uint64_t> FolderWatch::opened() const {
    if (descriptor_ < 0) return std::nullopt;
    uint64_t count = 0;
    alignas(inotify_event) std::array<char, 16384> room{};
    for (ssize_t size = 0; (size = ::read(descriptor_, room.data(), room.size())) > 0;)
        for (const char* at = room.data(); at < room.data() + size;) {
            inotify_event event{};
            std::memcpy(&event, at, sizeof event);
            if ((event.mask & IN_OPEN) != 0 && (event.mask & IN_ISDIR) == 0) ++count;
            at += sizeof event + event.len;
        }
    return count;
}

std::optional<uint64_t> bytes_read() {
    std::ifstream file("/proc/self/io");
    for (std::string name; file >> name;) {
        uint64_t value = 0;
        if (!(file >> value)) break;
        if (name == "rchar:") return value;
    }
    return std::nullopt;
}

std::optional<uint64_t> bytes_mapped_of(const std::filesystem::path& folder) {
    std::ifstream maps("/proc/self/maps");
    if (!maps) return std::nullopt;
    uint64_t bytes = 0;
    for (std::string line; std::getline(maps, line);) {
        uint64_t first = 0;
        uint64_t end = 0;
        if (line.find(folder.string() + "/") != std::string::npos && std::sscanf(line.c_str(), "%lx-%lx", &first, &end) == 2)
            bytes += end - first;
    }
    return bytes;
}

}  // namespace backplane::base
