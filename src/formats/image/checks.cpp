#include "formats/image/checks.hpp"

#include <cstring>

namespace backplane::formats {

uint32_t rows_in(std::size_t size, const ImageInfo& info, uint32_t next_row, std::string_view what) {
    const std::size_t row = std::size_t{info.width} * info.channels;
    if (size % row != 0) {
        throw Error(Code::invalid, "cannot " + std::string(what) + ": " + std::to_string(size) +
                                       " bytes are no whole rows of " + std::to_string(row) + " bytes");
    }
    if (size / row > info.height - next_row) {
        throw Error(Code::invalid, "cannot " + std::string(what) + ": " + std::to_string(size / row) + " rows asked for, " +
                                       std::to_string(info.height - next_row) + " of " + std::to_string(info.height) +
                                       " are left");
    }
    return static_cast<uint32_t>(size / row);
}

void check_size(const ImageInfo& info, std::string_view name) {
    const std::string size = std::to_string(info.width) + " x " + std::to_string(info.height);
    if (info.width == 0 || info.height == 0) {
        throw Error(Code::corrupt, "cannot read " + std::string(name) + ": it says it has " + size +
                                       " pixels; it is damaged: get it again");
    }
    if (info.width > kLongestSide || info.height > kLongestSide) {
        throw Error(Code::unsupported, "cannot read " + std::string(name) + ": it says it has " + size + " pixels, " +
                                           std::to_string(kLongestSide) + " a side is the most; cut it into parts");
    }
}

bool is_rgb_profile(std::span<const uint8_t> profile) noexcept {
    return profile.size() >= 128 && std::memcmp(profile.data() + 16, "RGB ", 4) == 0;
}

}  // namespace backplane::formats
