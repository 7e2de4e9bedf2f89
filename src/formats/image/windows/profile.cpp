#include "formats/image/windows/profile.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "formats/image/checks.hpp"

namespace backplane::formats {

namespace {

void put(std::vector<uint8_t>& to, std::string_view text) { to.insert(to.end(), text.begin(), text.end()); }
void put16(std::vector<uint8_t>& to, std::size_t value) {
    to.push_back(static_cast<uint8_t>(value >> 8));
    to.push_back(static_cast<uint8_t>(value));
}
void put32(std::vector<uint8_t>& to, uint32_t value) {
    put16(to, value >> 16);
    put16(to, value & 0xffff);
}

uint32_t crc32_of(std::span<const uint8_t> bytes) {
    uint32_t crc = 0xffffffff;
    for (const uint8_t byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320 & (0U - (crc & 1)));
    }
    return ~crc;
}

uint32_t adler32_of(std::span<const uint8_t> bytes) {
    uint32_t sum = 1, sum_of_sums = 0;
    for (const uint8_t byte : bytes) {
        sum = (sum + byte) % 65521;
        sum_of_sums = (sum_of_sums + sum) % 65521;
    }
    return sum_of_sums << 16 | sum;
}

// As a zlib stream that is not compressed: profiles are a few kilobytes.
void put_stored(std::vector<uint8_t>& to, std::span<const uint8_t> bytes) {
    put(to, "\x78\x01");
    for (std::size_t at = 0; at < bytes.size(); at += 65535) {
        const auto part = bytes.subspan(at, std::min<std::size_t>(65535, bytes.size() - at));
        to.push_back(at + part.size() == bytes.size() ? 1 : 0);
        for (const std::size_t value : {part.size(), ~part.size()}) {
            to.push_back(static_cast<uint8_t>(value));
            to.push_back(static_cast<uint8_t>(value >> 8));
        }
        to.insert(to.end(), part.begin(), part.end());
    }
    put32(to, adler32_of(bytes));
}

bool is_whole(std::span<const uint8_t> profile) {
    if (!is_rgb_profile(profile)) return false;
    uint32_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | profile[static_cast<std::size_t>(i)];
    return size == profile.size();
}

}  // namespace

std::vector<uint8_t> png_profile(std::span<const uint8_t> profile) {
    constexpr std::size_t kMost = std::size_t{16} << 20;
    if (!is_whole(profile) || profile.size() > kMost) return {};
    std::vector<uint8_t> content;
    put(content, "iCCP");
    put(content, std::string_view("ICC profile\0\0", 13));
    put_stored(content, profile);
    std::vector<uint8_t> chunk;
    put32(chunk, static_cast<uint32_t>(content.size() - 4));
    chunk.insert(chunk.end(), content.begin(), content.end());
    put32(chunk, crc32_of(content));
    return chunk;
}

std::vector<uint8_t> jpeg_profile(std::span<const uint8_t> profile) {
    constexpr std::size_t kPart = 65519;  // of a marker, whose parts are counted in one byte
    if (!is_rgb_profile(profile) || profile.size() > 255 * kPart) return {};
    const std::size_t count = (profile.size() + kPart - 1) / kPart;
    std::vector<uint8_t> markers;
    for (std::size_t i = 0; i < count; ++i) {
        const auto part = profile.subspan(i * kPart, std::min(kPart, profile.size() - i * kPart));
        put(markers, "\xff\xe2");
        put16(markers, part.size() + 16);
        put(markers, std::string_view("ICC_PROFILE\0", 12));
        markers.push_back(static_cast<uint8_t>(i + 1));
        markers.push_back(static_cast<uint8_t>(count));
        markers.insert(markers.end(), part.begin(), part.end());
    }
    return markers;
}

std::size_t place_in_jpeg(std::span<const uint8_t> file) {
    if (file.size() < 6 || file[2] != 0xff || file[3] != 0xe0) return 2;
    return std::min<std::size_t>(file.size(), 4 + (std::size_t{file[4]} << 8 | file[5]));
}

}  // namespace backplane::formats
