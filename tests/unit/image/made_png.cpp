#include "made_png.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace backplane::test {

namespace {

void put32(Bytes& bytes, std::size_t at, uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

void append32(Bytes& bytes, uint32_t value) {
    bytes.resize(bytes.size() + 4);
    put32(bytes, bytes.size() - 4, value);
}

uint32_t crc_of(std::span<const uint8_t> bytes) {
    uint32_t crc = 0xffffffff;
    for (const uint8_t byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320 & (0U - (crc & 1)));
    }
    return ~crc;
}

void append_chunk(Bytes& file, std::string_view name, const Bytes& content) {
    append32(file, static_cast<uint32_t>(content.size()));
    const std::size_t start = file.size();
    file.insert(file.end(), name.begin(), name.end());
    file.insert(file.end(), content.begin(), content.end());
    append32(file, crc_of(std::span(file).subspan(start)));
}

// A zlib stream of stored blocks.
Bytes stored(const Bytes& bytes) {
    Bytes out{0x78, 0x01};
    uint32_t sum = 1, sum_of_sums = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 65535) {
        const std::size_t size = std::min<std::size_t>(65535, bytes.size() - at);
        out.push_back(at + size == bytes.size() ? 1 : 0);
        for (const std::size_t value : {size, ~size}) {
            out.push_back(static_cast<uint8_t>(value));
            out.push_back(static_cast<uint8_t>(value >> 8));
        }
        for (std::size_t i = at; i < at + size; ++i) {
            out.push_back(bytes[i]);
            sum = (sum + bytes[i]) % 65521;
            sum_of_sums = (sum_of_sums + sum) % 65521;
        }
    }
    append32(out, sum_of_sums << 16 | sum);
    return out;
}

// Which of three neighbours (left, above, above left) is nearest to left + above - above left.
int paeth(int left, int above, int corner) {
    const int guess = left + above - corner;
    const int to_left = std::abs(guess - left), to_above = std::abs(guess - above), to_corner = std::abs(guess - corner);
    if (to_left <= to_above && to_left <= to_corner) return left;
    return to_above <= to_corner ? above : corner;
}

// One row behind its filter; `above`: the row before it, zeros for the first.
void append_filtered(Bytes& to, int filter, const Bytes& row, const Bytes& above, std::size_t pixel) {
    to.push_back(static_cast<uint8_t>(filter));
    for (std::size_t i = 0; i < row.size(); ++i) {
        const int left = i < pixel ? 0 : row[i - pixel], corner = i < pixel ? 0 : above[i - pixel];
        const int guesses[] = {0, left, above[i], (left + above[i]) / 2, paeth(left, above[i], corner)};
        to.push_back(static_cast<uint8_t>(row[i] - guesses[filter]));
    }
}

struct Pass {
    uint32_t x, y, step_x, step_y;
};
constexpr Pass one_pass[] = {{0, 0, 1, 1}};
constexpr Pass adam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

// All rows in the file's order, each filter in turn.
Bytes filtered(const PngKind& kind, const std::vector<uint16_t>& samples) {
    const auto channels = static_cast<std::size_t>(channels_of(kind.colour)), bits = static_cast<std::size_t>(kind.bits);
    Bytes out;
    for (const Pass& pass : kind.interlaced ? std::span<const Pass>(adam7) : std::span<const Pass>(one_pass)) {
        if (pass.x >= kind.width || pass.y >= kind.height) continue;
        const std::size_t across = (kind.width - pass.x + pass.step_x - 1) / pass.step_x;
        Bytes above((across * channels * bits + 7) / 8);
        int filter = 0;
        for (uint32_t y = pass.y; y < kind.height; y += pass.step_y, filter = (filter + 1) % 5) {
            Bytes row(above.size());
            for (std::size_t i = 0; i < across * channels; ++i) {
                const std::size_t x = pass.x + i / channels * pass.step_x, bit = i * bits;
                const uint16_t value = samples[(y * std::size_t{kind.width} + x) * channels + i % channels];
                if (bits == 16) {
                    row[bit / 8] = static_cast<uint8_t>(value >> 8);
                    row[bit / 8 + 1] = static_cast<uint8_t>(value);
                } else {
                    row[bit / 8] |= static_cast<uint8_t>(value << (8 - bits - bit % 8));
                }
            }
            append_filtered(out, filter, row, above, std::max<std::size_t>(1, channels * bits / 8));
            above = row;
        }
    }
    return out;
}

Bytes header_of(uint32_t width, uint32_t height, int bits, int colour, bool interlaced) {
    Bytes header;
    append32(header, width);
    append32(header, height);
    header.insert(header.end(), {static_cast<uint8_t>(bits), static_cast<uint8_t>(colour), 0, 0,
                                 static_cast<uint8_t>(interlaced ? 1 : 0)});
    return header;
}

constexpr uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

}  // namespace

int channels_of(int colour) {
    switch (colour) {
        case 2: return 3;
        case 4: return 2;
        case 6: return 4;
        default: return 1;
    }
}

std::vector<uint16_t> samples_for(const PngKind& kind) {
    const std::size_t count = std::size_t{kind.width} * kind.height * static_cast<std::size_t>(channels_of(kind.colour));
    const Bytes random = pattern(count * 2);
    std::vector<uint16_t> samples(count);
    const auto most = kind.colour == 3 ? static_cast<uint32_t>(kind.palette.size()) - 1 : (1U << kind.bits) - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const uint32_t value = uint32_t{random[2 * i]} << 8 | random[2 * i + 1];
        samples[i] = static_cast<uint16_t>(i == 0 ? 0 : i == 1 ? most : value % (most + 1));
    }
    return samples;
}

Bytes make_png(const PngKind& kind, const std::vector<uint16_t>& samples) {
    Bytes file(std::begin(signature), std::end(signature));
    append_chunk(file, "IHDR", header_of(kind.width, kind.height, kind.bits, kind.colour, kind.interlaced));
    if (!kind.profile.empty()) {
        constexpr std::string_view name("profile\0\0", 9);
        Bytes content(name.begin(), name.end());
        const Bytes profile = stored(kind.profile);
        content.insert(content.end(), profile.begin(), profile.end());
        append_chunk(file, "iCCP", content);
    }
    Bytes palette;
    for (const auto& colour : kind.palette) palette.insert(palette.end(), colour.begin(), colour.end());
    if (!palette.empty()) append_chunk(file, "PLTE", palette);
    if (!kind.palette_alpha.empty()) append_chunk(file, "tRNS", kind.palette_alpha);
    if (kind.clear) {
        Bytes clear;
        for (int channel = 0; channel < (kind.colour == 2 ? 3 : 1); ++channel)
            clear.insert(clear.end(), {static_cast<uint8_t>(*kind.clear >> 8), static_cast<uint8_t>(*kind.clear)});
        append_chunk(file, "tRNS", clear);
    }
    append_chunk(file, "IDAT", stored(filtered(kind, samples)));
    append_chunk(file, "IEND", {});
    return file;
}

Bytes make_profile(const char* space) {
    // The tag's content does not compress: libpng takes a chunk that is shorter than a profile's header for a broken one.
    Bytes profile(144, 0);
    const Bytes content = pattern(256);
    profile.insert(profile.end(), content.begin(), content.end());
    put32(profile, 0, 400);
    profile[8] = 2;  // version
    std::memcpy(profile.data() + 12, "mntr", 4);
    std::memcpy(profile.data() + 16, space, 4);
    std::memcpy(profile.data() + 20, "XYZ ", 4);
    std::memcpy(profile.data() + 36, "acsp", 4);
    put32(profile, 68, 0xf6d6);  // the white of D50
    put32(profile, 72, 0x10000);
    put32(profile, 76, 0xd32d);
    put32(profile, 128, 1);  // tags
    std::memcpy(profile.data() + 132, "cprt", 4);
    put32(profile, 136, 144);
    put32(profile, 140, 256);
    std::memcpy(profile.data() + 144, "text", 4);
    return profile;
}

Bytes png_header(uint32_t width, uint32_t height, bool interlaced) {
    Bytes file(std::begin(signature), std::end(signature));
    append_chunk(file, "IHDR", header_of(width, height, 8, 2, interlaced));
    const Bytes first_data{0, 0, 0, 1, 'I', 'D', 'A', 'T', 0x78};
    file.insert(file.end(), first_data.begin(), first_data.end());
    return file;
}

}  // namespace backplane::test
