// XXH3-128: names what is kept by what it is about, and finds damage. It guards nothing against who means harm.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace backplane::base {

using Hash = std::array<std::byte, 16>;  // canonical (big-endian): the same on every machine

// Of bytes that come in pieces; how they are cut makes no difference.
class Hasher {
public:
    Hasher() noexcept;
    void add(std::span<const std::byte> bytes) noexcept;
    void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
    [[nodiscard]] Hash result() const noexcept;

private:
    static constexpr size_t kStateBytes = 576;  // of the library, whose header stays out of this one
    alignas(64) std::array<std::byte, kStateBytes> state_;
};

Hash hash_of(std::string_view text) noexcept;

std::string hexadecimal(const Hash& hash);  // 32 digits

}  // namespace backplane::base
