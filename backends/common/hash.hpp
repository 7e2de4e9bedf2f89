// FNV-1a of 64 bits (draft-eastlake-fnv): for keys and fingerprints, where nobody has an interest in a collision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace backplane::backend {

// `seed`: the hash of what comes before.
inline uint64_t hash_of(const void* data, size_t size, uint64_t seed = 0xcbf29ce484222325U) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) seed = (seed ^ bytes[i]) * 0x100000001b3U;
    return seed;
}

// The same, eight bytes at a time: another hash, and an eighth of the time. Only the high half of a product knows all of it, so the halves change places.
inline uint64_t hash_of_words(const void* data, size_t size, uint64_t seed = 0xcbf29ce484222325U) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (; size >= sizeof seed; size -= sizeof seed, bytes += sizeof seed) {
        uint64_t word = 0;
        std::memcpy(&word, bytes, sizeof word);
        seed = (seed ^ word) * 0x100000001b3U;
        seed = seed << 32 | seed >> 32;
    }
    return hash_of(bytes, size, seed);
}

inline uint64_t hash_of(std::string_view text) { return hash_of(text.data(), text.size()); }

// Sixteen digits.
inline std::string hexadecimal(uint64_t value) {
    std::string out(16, '0');
    for (size_t i = 16; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
    return out;
}

}  // namespace backplane::backend
