// What the tests of the kernel cache share: a cache in a folder of the test's own, texts as bytes, what the log was told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <optional>

#include "cache/folder.hpp"
#include "cache/kernel_cache.hpp"
#include "unit/files/folder.hpp"

namespace backplane::cache::testing {

namespace fs = std::filesystem;
using base::testing::Folder;
using base::testing::text_in;

inline constexpr const char* kScope = "fake 1.0 build 0123";

inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// A value whose every byte depends on `seed`.
inline std::string value_of(size_t size, unsigned seed) {
    std::string value(size, '\0');
    for (char& c : value) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
    return value;
}

class Cache {
public:
    explicit Cache(const fs::path& folder, uint64_t limit = kDefaultLimit)
        : cache_(Settings{folder, limit, {}}, [this](LogLevel level, std::string_view text) {
              const std::lock_guard lock(mutex_);
              (level == LogLevel::warning ? warnings_ : remarks_).emplace_back(text);
          }) {}

    [[nodiscard]] std::optional<std::string> get(std::string_view key, std::string_view scope = kScope) {
        const auto lease = cache_.get(scope, bytes_of(key));
        return lease ? std::optional(text_of(lease->value())) : std::nullopt;
    }
    void put(std::string_view key, std::string_view value, std::string_view scope = kScope) {
        cache_.put(scope, bytes_of(key), bytes_of(value));
    }
    void reject(std::string_view key) { cache_.reject(kScope, bytes_of(key)); }

    [[nodiscard]] KernelCache& object() { return cache_; }
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
    [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
    [[nodiscard]] fs::path path_of(std::string_view key, std::string_view scope = kScope) const {
        return cache_.folder() / file_name(scope, bytes_of(key));
    }

private:
    std::mutex mutex_;
    std::vector<std::string> warnings_, remarks_;
    KernelCache cache_;
};

inline void write_file(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(text.data(), static_cast<std::streamsize>(text.size()));
}

inline void make_older(const fs::path& path, std::chrono::seconds by) {
    fs::last_write_time(path, fs::last_write_time(path) - by);
}

inline bool is_there(const fs::path& path) { return fs::symlink_status(path).type() != fs::file_type::not_found; }

}  // namespace backplane::cache::testing
