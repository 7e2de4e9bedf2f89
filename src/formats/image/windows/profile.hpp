// ICC profiles in files that Windows' encoders wrote, which do not all take one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace backplane::formats {

// The bytes to put behind the header of a PNG (33 bytes), or behind the first marker of a JPEG and what JFIF says there. None where the
// profile is no valid one of RGB or too large: the pixels are good without it.
std::vector<uint8_t> png_profile(std::span<const uint8_t> profile);
std::vector<uint8_t> jpeg_profile(std::span<const uint8_t> profile);

// Where in a JPEG that is.
std::size_t place_in_jpeg(std::span<const uint8_t> file);

}  // namespace backplane::formats
