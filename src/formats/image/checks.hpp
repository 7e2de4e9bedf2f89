// Checks that every reader and writer of images makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backplane/image.hpp"

namespace backplane::formats {

inline constexpr uint32_t kLongestSide = 65535;      // pixels, of include/backplane/image.hpp
inline constexpr uint32_t kLongestJpegSide = 65500;  // what libjpeg and Windows write and read
inline constexpr int kMostScans = 500;  // a progressive file of a few kilobytes can ask for the work of thousands of images
inline constexpr uint64_t kMostHeld =
    uint64_t{1} << 30;  // bytes of an image that has to be held whole: interlaced, progressive or turned

// How many rows `size` bytes are. Throws Error(invalid) when they are no whole rows or more than follow `next_row`.
uint32_t rows_in(std::size_t size, const ImageInfo& info, uint32_t next_row, std::string_view what);

// Throws Error(corrupt) for no pixels, Error(unsupported) for more than kLongestSide. `name`: "the PNG 'a.png'".
void check_size(const ImageInfo& info, std::string_view name);

// Whether an ICC profile is one of RGB: pixels are RGB here whatever the file had, and another profile would no longer fit them.
bool is_rgb_profile(std::span<const uint8_t> profile) noexcept;

}  // namespace backplane::formats
