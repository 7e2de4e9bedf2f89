// FNV-1a, 64 bits: names files by what they are about, and guards nothing: whoever reads such a file compares the text itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace backplane::base {

inline uint64_t fnv1a(std::string_view text, uint64_t start = 0xcbf29ce484222325) noexcept {
    for (const char c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return start;
}

// 16 digits.
inline std::string hexadecimal(uint64_t number) {
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[number >> shift & 15];
    return digits;
}

}  // namespace backplane::base
