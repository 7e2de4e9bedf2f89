#include "formats/audio/lengths.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace backplane::formats {

namespace {

constexpr size_t kTagHeader = 10;  // of ID3v2

uint32_t big_endian(std::span<const std::byte> bytes, size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint32_t>(bytes[at + i]);
    return value;
}

bool has(std::span<const std::byte> bytes, size_t at, std::string_view text) {
    return at + text.size() <= bytes.size() && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

// Bytes of the tag at the beginning: its length has seven bits a byte.
size_t tag_bytes(std::span<const std::byte> file) {
    if (!has(file, 0, "ID3") || file.size() < kTagHeader) return 0;
    size_t size = 0;
    for (size_t i = 6; i < kTagHeader; ++i) size = size << 7 | (static_cast<size_t>(file[i]) & 0x7F);
    const bool footer = (static_cast<unsigned>(file[5]) & 0x10) != 0;
    return kTagHeader + size + (footer ? kTagHeader : 0);
}

std::span<const std::byte> behind_tags(std::span<const std::byte> file) {
    while (const size_t tag = tag_bytes(file)) file = file.subspan(std::min(tag, file.size()));
    return file;
}

// A frame's first four bytes: eleven bits that are set, and a version, layer, bit rate and sample rate that there are.
bool is_frame(uint32_t header) {
    return header >> 21 == 0x7FF && (header >> 19 & 3) != 1 && (header >> 17 & 3) != 0 && (header >> 12 & 15) != 15 &&
           (header >> 10 & 3) != 3;
}

constexpr size_t kPageHeader = 27;
constexpr size_t kMostPage = kPageHeader + 255 + 255 * 255;

// Bytes of the page that begins there; 0: none does, or it goes beyond the file.
size_t page_bytes(std::span<const std::byte> file, size_t at) {
    if (!has(file, at, std::string_view("OggS\0", 5)) || at + kPageHeader > file.size()) return 0;
    const auto segments = static_cast<size_t>(file[at + kPageHeader - 1]);
    size_t size = kPageHeader + segments;
    if (at + size > file.size()) return 0;
    for (size_t i = 0; i < segments; ++i) size += static_cast<size_t>(file[at + kPageHeader + i]);
    return at + size > file.size() ? 0 : size;
}

}  // namespace

bool is_mpeg(std::span<const std::byte> file) {
    file = behind_tags(file);
    return file.size() >= 4 && is_frame(big_endian(file, 0));
}

bool is_other_sound(std::span<const std::byte> file) {
    file = behind_tags(file);
    constexpr std::array<std::string_view, 9> kBegins{"RIFF", "RIFX", "RF64", "riff", "FORM",
                                                      "fLaC", "OggS", ".snd", "caff"};
    return std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begins) { return has(file, 0, begins); });
}

bool may_be_mpeg(std::span<const std::byte> begins) { return has(begins, 0, "ID3") || is_mpeg(begins); }

bool ogg_has_its_end(std::span<const std::byte> file) {
    if (!has(file, 0, "OggS")) return true;
    constexpr unsigned kEndOfStream = 4;
    // What looks like the beginning of a page can be sound; what fits another page behind it, or the end of the file, cannot.
    for (size_t back = kPageHeader; back <= std::min(file.size(), 2 * kMostPage); ++back) {
        const size_t at = file.size() - back;
        if (page_bytes(file, at) == back) return (static_cast<unsigned>(file[at + 5]) & kEndOfStream) != 0;
    }
    return false;
}

std::optional<Mp3Length> mp3_length(std::span<const std::byte> file) {
    const size_t begin = tag_bytes(file);
    if (begin + 4 > file.size()) return {};
    const uint32_t header = big_endian(file, begin);
    const uint32_t layer = header >> 17 & 3;
    if (header >> 21 != 0x7FF || layer != 1) return {};  // layer III
    const bool first_version = (header >> 19 & 3) == 3;  // MPEG-1, not 2 or 2.5
    const bool mono = (header >> 6 & 3) == 3;
    const bool checked = (header >> 16 & 1) == 0;  // two bytes of CRC
    const size_t side = first_version ? (mono ? 17 : 32) : (mono ? 9 : 17);
    size_t at = begin + 4 + (checked ? 2 : 0) + side;
    if (!has(file, at, "Xing") && !has(file, at, "Info")) {
        at = begin + 4 + side;  // what some write in spite of the CRC
        if (!has(file, at, "Xing") && !has(file, at, "Info")) return {};
    }
    constexpr uint32_t kFrames = 1, kBytes = 2;
    if (at + 16 > file.size()) return {};
    const uint32_t flags = big_endian(file, at + 4);
    if ((flags & kBytes) == 0) return {};
    return Mp3Length{big_endian(file, at + 8 + ((flags & kFrames) != 0 ? 4 : 0)), file.size() - begin};
}

}  // namespace backplane::formats
