// PNG and JPEG, row by row: an image larger than memory can be read and written. 8 bits a channel; 16-bit PNGs are rounded to 8.
//
// Greyscale, palette and 1/2/4-bit images are widened to RGB; transparency (alpha channel or tRNS) makes RGBA. JPEG: greyscale, YCbCr
// and CMYK become RGB; the orientation that a camera wrote is applied. An object is used from one thread at a time. On Windows, whose own
// component does it, pictures are read whole, up to 1 GiB, and a broken file is refused by open().
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backplane/error.hpp"

namespace backplane {

struct ImageInfo {
    uint32_t width = 0, height = 0;  // pixels, 1 to 65535 x 65535
    uint32_t channels = 0;           // 3: RGB, 4: RGBA (not premultiplied)
    std::vector<uint8_t> profile;    // ICC, of an RGB space; empty: none
};

// Reads top to bottom. Rows of an interlaced PNG or a turned JPEG are held in memory at once, others one at a time.
class ImageReader {
public:
    // What the file is, its first bytes say, not its name. Throws Error(not_found, denied, unsupported: neither PNG nor JPEG, corrupt).
    static std::unique_ptr<ImageReader> open(const std::filesystem::path& path);
    virtual ~ImageReader() = default;
    [[nodiscard]] virtual const ImageInfo& info() const noexcept = 0;
    // The next rows: into.size() is rows * width * channels. Throws Error(corrupt) naming file and row for a truncated or broken file,
    // Error(invalid) past the last row.
    virtual void read(std::span<uint8_t> into) = 0;
};

struct ImageWriteOptions {
    int jpeg_quality = 95;  // 1 to 100
    // 0 to 9: how long to look for what comes again. Where hardly anything does, as in photographs, all but 0 look for runs alone. Not on Windows.
    int png_compression = 4;
};

// Writes top to bottom, by the ending of the name: .png, .jpg, .jpeg (JPEG has no alpha: it is laid over white). The file appears under
// its name when finish() returned, whole; a writer destroyed before leaves nothing.
class ImageWriter {
public:
    // Throws the Error(invalid) that create() throws for an ending it cannot write. Looks at the name only.
    static void check_name(const std::filesystem::path& path);
    // Throws Error(invalid) for another ending or no pixels, Error(denied, not_found) when the folder cannot be written to.
    static std::unique_ptr<ImageWriter> create(const std::filesystem::path& path, const ImageInfo& info,
                                               const ImageWriteOptions& options = {});
    virtual ~ImageWriter() = default;
    virtual void write(
        std::span<const uint8_t> rows) = 0;  // whole rows. Throws Error(denied): the disk is full, with what it says
    virtual void finish() = 0;               // Throws Error: invalid (rows are missing), denied
};

}  // namespace backplane
