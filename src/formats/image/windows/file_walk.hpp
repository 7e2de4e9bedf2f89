// What a picture file says of itself, read from its chunks or markers before Windows' own decoder sees it: that decoder is bounded by
// nothing, takes what is cut off for a picture, and tells neither orientation nor, in every version, a JPEG's profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace backplane::formats {

struct PngFacts {
    uint32_t width = 0, height = 0;
    bool alpha = false;
};

struct JpegFacts {
    uint32_t width = 0, height = 0;  // as the file has them, not as they are shown
    int orientation = 1;
    std::vector<uint8_t> profile;
    std::size_t size = 0;  // of the file without what follows its end
};

// Both throw, before anything of that size is held: Error(corrupt) where the file ends before it says that it does or its parts do not
// follow each other, Error(unsupported) for a kind of JPEG that is neither baseline nor progressive with 8 bits and for more than
// kLongestSide, Error(no_host_memory) for more than kMostHeld. `name`: "the PNG 'a.png'".
PngFacts walk_png(std::span<const uint8_t> file, const std::string& name);
JpegFacts walk_jpeg(std::span<const uint8_t> file, const std::string& name);

}  // namespace backplane::formats
