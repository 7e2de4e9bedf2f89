// FNV-1a of 64 bits (draft-eastlake-fnv): for keys and fingerprints, where nobody has an interest in a collision.
#pragma once

#include <cstdint>
#include <string_view>

namespace backplane::backend {

constexpr uint64_t hash_of(std::string_view text) {
    uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
}

}  // namespace backplane::backend
