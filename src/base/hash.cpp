#include "base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <new>

namespace backplane::base {

namespace {

XXH3_state_t& state_in(std::byte* bytes) { return *std::launder(reinterpret_cast<XXH3_state_t*>(bytes)); }
const XXH3_state_t& state_in(const std::byte* bytes) { return *std::launder(reinterpret_cast<const XXH3_state_t*>(bytes)); }

}  // namespace

Hasher::Hasher() noexcept {
    static_assert(sizeof(XXH3_state_t) <= kStateBytes && alignof(XXH3_state_t) <= 64);
    XXH3_128bits_reset(::new (state_.data()) XXH3_state_t);
}

void Hasher::add(std::span<const std::byte> bytes) noexcept {
    if (!bytes.empty()) XXH3_128bits_update(&state_in(state_.data()), bytes.data(), bytes.size());
}

Hash Hasher::result() const noexcept {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_in(state_.data())));
    Hash hash;
    std::memcpy(hash.data(), canonical.digest, hash.size());
    return hash;
}

Hash hash_of(std::string_view text) noexcept {
    Hasher hasher;
    hasher.add(text);
    return hasher.result();
}

std::string hexadecimal(const Hash& hash) {
    std::string digits;
    for (const std::byte byte : hash) {
        digits += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
        digits += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{15})];
    }
    return digits;
}

}  // namespace backplane::base
