// PNG files of every kind, written here and by no library: nothing compressed, each filter in turn.
#pragma once

#include <array>
#include <span>

#include "image_files.hpp"

namespace backplane::test {

struct PngKind {
    uint32_t width = 5, height = 4;
    int bits = 8;
    int colour = 2;  // PNG's number: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
    bool interlaced = false;
    std::vector<std::array<uint8_t, 3>> palette{};
    Bytes palette_alpha{};            // tRNS of a palette
    std::optional<uint16_t> clear{};  // tRNS of grey or RGB: this value in each channel is transparent
    Bytes profile{};
};

// `samples`: width * height * channels values of `bits` bits.
Bytes make_png(const PngKind& kind, const std::vector<uint16_t>& samples);

int channels_of(int colour);
std::vector<uint16_t> samples_for(const PngKind& kind);  // a pattern that uses the whole range

// An ICC profile that libpng takes: header and one tag. `space`: "RGB " or "GRAY".
Bytes make_profile(const char* space);

// Signature, IHDR with a right checksum, and nothing else.
Bytes png_header(uint32_t width, uint32_t height, bool interlaced);

}  // namespace backplane::test
