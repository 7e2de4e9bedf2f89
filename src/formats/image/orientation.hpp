// How a camera was held: the orientation of EXIF (CIPA DC-008, tag 0x0112; the same as TIFF 6.0's).
#pragma once

#include <cstdint>
#include <span>

namespace backplane::formats {

// 1 to 8, from the content of an APP1 marker; 1 (upright) where there is none or it is broken.
int orientation_of(std::span<const uint8_t> app1) noexcept;

[[nodiscard]] constexpr bool swaps_sides(int orientation) noexcept { return orientation >= 5; }

// Row `y` of the upright image, from the whole image as it is stored: width * height pixels of RGB.
void upright_row(std::span<const uint8_t> stored, uint32_t width, uint32_t height, int orientation, uint32_t y,
                 std::span<uint8_t> row);

}  // namespace backplane::formats
