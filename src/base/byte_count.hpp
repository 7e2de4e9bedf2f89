// Numbers of bytes for people.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace backplane::base {

// "512 B", "3.1 GiB".
inline std::string byte_count(uint64_t bytes) {
    static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
    return text.data();
}

}  // namespace backplane::base
