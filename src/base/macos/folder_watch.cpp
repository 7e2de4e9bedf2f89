// Written by Apple's documentation; not built or run by this project's checks yet.
#include "base/folder_watch.hpp"

namespace backplane::base {

FolderWatch::FolderWatch(const std::filesystem::path&) {}
FolderWatch::~FolderWatch() = default;
std::optional<uint64_t> FolderWatch::opened() const { return std::nullopt; }
std::optional<uint64_t> bytes_read() { return std::nullopt; }
std::optional<uint64_t> bytes_mapped_of(const std::filesystem::path&) { return std::nullopt; }

}  // namespace backplane::base
