#include "formats/image/libraries/png_packing.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "formats/image/libraries/png_session.hpp"

namespace backplane::formats {

namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

void count_bytes(png_structp png, png_bytep, png_size_t size) { *static_cast<size_t*>(png_get_io_ptr(png)) += size; }

struct Sample {
    std::vector<uint8_t> pixels;
    uint32_t width = 0, height = 0, channels = 0;
};

// Pieces of 64 pixels, from the left to the right, of the last of the rows.
Sample sample_of(std::span<const uint8_t> rows, const ImageInfo& info) {
    constexpr uint32_t kRows = 32, kPieces = 4, kPixels = 64;
    const size_t row = size_t{info.width} * info.channels;
    Sample sample;
    sample.channels = info.channels;
    sample.height = static_cast<uint32_t>(std::min<size_t>(rows.size() / row, kRows));
    sample.width = std::min(info.width, kPieces * kPixels);
    const uint32_t pieces = sample.width < kPieces * kPixels ? 1 : kPieces, pixels = sample.width / pieces;
    for (size_t y = rows.size() / row - sample.height; y < rows.size() / row; ++y)
        for (uint32_t piece = 0; piece < pieces; ++piece) {
            const size_t first = pieces == 1 ? 0 : size_t{info.width - pixels} * piece / (pieces - 1);
            const auto part = rows.subspan(y * row + first * info.channels, size_t{pixels} * info.channels);
            sample.pixels.insert(sample.pixels.end(), part.begin(), part.end());
        }
    return sample;
}

// Bytes of a PNG of it; kNone: libpng gave up.
size_t packed(const Sample& sample, int compression, int strategy) {
    PngFault fault;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &fault, png_failed, png_warned);
    png_infop about = png != nullptr ? png_create_info_struct(png) : nullptr;
    size_t bytes = 0;
    const auto write = [&, png, about] {
        png_set_write_fn(png, &bytes, count_bytes, [](png_structp) {});
        png_set_compression_level(png, compression);
        png_set_compression_strategy(png, strategy);
        png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_PAETH);
        png_set_IHDR(png, about, sample.width, sample.height, 8,
                     sample.channels == 4 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        png_write_info(png, about);
        const uint8_t* row = sample.pixels.data();
        for (uint32_t y = 0; y < sample.height; ++y, row += size_t{sample.width} * sample.channels) png_write_row(png, row);
        png_write_end(png, nullptr);
    };
    const bool good = about != nullptr && guarded(png, write);
    png_destroy_write_struct(&png, &about);
    return good ? bytes : kNone;
}

}  // namespace

bool packs_as_well_by_runs(std::span<const uint8_t> rows, const ImageInfo& info, int compression) {
    if (compression == 0 || rows.empty()) return false;
    const Sample sample = sample_of(rows, info);
    const size_t by_runs = packed(sample, compression, Z_RLE);
    // What is next to nothing, a margin, says nothing of what follows.
    if (by_runs == kNone || by_runs < sample.pixels.size() / 32) return false;
    const size_t whole = packed(sample, compression, Z_FILTERED);
    constexpr int kFast = 4;  // up to which time counts more than a hundredth of the size
    return by_runs <= (compression <= kFast && whole != kNone ? whole + whole / 100 : whole);
}

}  // namespace backplane::formats
