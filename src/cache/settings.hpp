// Whether there is a kernel cache, where, and how large: what the application says, then the environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "backplane/context.hpp"

namespace backplane::cache {

inline constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

struct Settings {
    std::filesystem::path folder;  // absolute; empty: no cache
    uint64_t limit = kDefaultLimit;
    std::string problem;  // what was asked for and cannot be; a sentence
};

// ContextOptions::use_cache, cache_folder, options["host.cache-limit"]; BACKPLANE_CACHE_DIR, BACKPLANE_CACHE_LIMIT.
Settings settings_for(const ContextOptions& options);

// Bytes: "0", "65536", "64M", "64MiB", "1G"; K, M, G and T are powers of 1024. Nothing for anything else.
std::optional<uint64_t> parse_size(std::string_view text);

}  // namespace backplane::cache
