#include "made_png.hpp"

#include <png.h>
#include <zlib.h>

#include <cstring>

namespace backplane::test {

namespace {

void append(png_structp png, png_bytep bytes, std::size_t size) {
    auto* to = static_cast<Bytes*>(png_get_io_ptr(png));
    to->insert(to->end(), bytes, bytes + size);
}

void put32(Bytes& bytes, std::size_t at, uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

Bytes packed(const PngKind& kind, const std::vector<uint16_t>& samples) {
    const std::size_t a_row = std::size_t{kind.width} * static_cast<std::size_t>(channels_of(kind.colour));
    const std::size_t row_bytes = (a_row * static_cast<std::size_t>(kind.bits) + 7) / 8;
    Bytes rows(row_bytes * kind.height);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        uint8_t* row = rows.data() + i / a_row * row_bytes;
        const std::size_t bit = i % a_row * static_cast<std::size_t>(kind.bits);
        if (kind.bits == 16) {
            row[bit / 8] = static_cast<uint8_t>(samples[i] >> 8);
            row[bit / 8 + 1] = static_cast<uint8_t>(samples[i]);
        } else {
            row[bit / 8] |= static_cast<uint8_t>(samples[i] << (8 - kind.bits - static_cast<int>(bit % 8)));
        }
    }
    return rows;
}

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
    Bytes file;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &file, append, [](png_structp) {});
    png_set_IHDR(png, info, kind.width, kind.height, kind.bits, kind.colour,
                 kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    std::vector<png_color> palette;
    for (const auto& colour : kind.palette) palette.push_back({colour[0], colour[1], colour[2]});
    if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
    if (!kind.palette_alpha.empty()) {
        png_set_tRNS(png, info, kind.palette_alpha.data(), static_cast<int>(kind.palette_alpha.size()), nullptr);
    }
    if (kind.clear) {
        png_color_16 clear{};
        clear.red = clear.green = clear.blue = clear.gray = *kind.clear;
        png_set_tRNS(png, info, nullptr, 0, &clear);
    }
    if (!kind.profile.empty()) {
        png_set_iCCP(png, info, "profile", 0, kind.profile.data(), static_cast<png_uint_32>(kind.profile.size()));
    }
    png_write_info(png, info);
    Bytes rows = packed(kind, samples);
    std::vector<png_bytep> pointers;
    for (uint32_t y = 0; y < kind.height; ++y) pointers.push_back(rows.data() + y * (rows.size() / kind.height));
    png_write_image(png, pointers.data());
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
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
    Bytes file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
    file.resize(33);
    put32(file, 16, width);
    put32(file, 20, height);
    file[24] = 8;
    file[25] = 2;
    file[28] = interlaced ? 1 : 0;
    put32(file, 29, static_cast<uint32_t>(crc32(0, file.data() + 12, 17)));
    const Bytes first_data{0, 0, 0, 1, 'I', 'D', 'A', 'T', 0x78};
    file.insert(file.end(), first_data.begin(), first_data.end());
    return file;
}

}  // namespace backplane::test
