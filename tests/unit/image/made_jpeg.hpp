// JPEG files of every kind, written by libjpeg, here or earlier (kept_jpegs.hpp).
#pragma once

#include "image_files.hpp"

namespace backplane::test {

enum class JpegColour { grey, ycc, subsampled, rgb, cmyk, cmyk_without_adobe, ycck };

struct JpegKind {
    uint32_t width = 24, height = 17;
    JpegColour colour = JpegColour::ycc;
    bool progressive = false;
    bool scan_a_channel = false;  // sequential, each channel in a scan of its own
    int restart_rows = 0;
    int quality = 100;
    Bytes app1{};
    Bytes profile{};
};

int channels_of(JpegColour colour);

// `pixels`: width * height pixels of 1 (grey), 3 or 4 (inks; 255 is full ink or none, as the file means it) bytes.
Bytes make_jpeg(const JpegKind& kind, const Bytes& pixels);

// The same without app1 and profile.
Bytes coded_jpeg(const JpegKind& kind, const Bytes& pixels);

// Content of an APP1 marker: EXIF with an orientation between other fields.
Bytes make_exif(int orientation, bool little_endian);

}  // namespace backplane::test
