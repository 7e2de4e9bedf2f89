// SHA-512 (FIPS 180-4): whether a file is the one that somebody else wrote down.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace backplane::base {

class Sha512 {
public:
    void add(std::span<const std::byte> bytes) noexcept;
    [[nodiscard]] std::string hexadecimal();  // 128 digits, of all that was added; the last call

private:
    void block(const std::byte* bytes) noexcept;

    std::array<uint64_t, 8> state_{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                   0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    std::array<std::byte, 128> waiting_{};
    uint64_t bytes_ = 0;
};

// Of a file. Throws Error as base::File, and denied.
std::string sha512_of_file(const std::filesystem::path& path);

}  // namespace backplane::base
