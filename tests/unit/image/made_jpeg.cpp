#include "made_jpeg.hpp"

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

namespace backplane::test {

int channels_of(JpegColour colour) {
    switch (colour) {
        case JpegColour::grey: return 1;
        case JpegColour::cmyk:
        case JpegColour::cmyk_without_adobe:
        case JpegColour::ycck: return 4;
        default: return 3;
    }
}

Bytes make_jpeg(const JpegKind& kind, const Bytes& pixels) {
    jpeg_error_mgr errors;
    jpeg_compress_struct jpeg{};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    unsigned char* memory = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&jpeg, &memory, &size);
    jpeg.image_width = kind.width;
    jpeg.image_height = kind.height;
    const int channels = channels_of(kind.colour);
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    if (kind.colour == JpegColour::rgb) jpeg_set_colorspace(&jpeg, JCS_RGB);
    if (kind.colour == JpegColour::ycck) jpeg_set_colorspace(&jpeg, JCS_YCCK);
    if (kind.colour == JpegColour::cmyk_without_adobe) jpeg.write_Adobe_marker = FALSE;
    jpeg_set_quality(&jpeg, kind.quality, TRUE);
    if (kind.colour != JpegColour::subsampled) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    jpeg.restart_in_rows = kind.restart_rows;
    if (kind.progressive) jpeg_simple_progression(&jpeg);
    const jpeg_scan_info scans[3] = {{1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    if (kind.scan_a_channel) {
        jpeg.scan_info = scans;
        jpeg.num_scans = 3;
    }
    jpeg_start_compress(&jpeg, TRUE);
    if (!kind.app1.empty())
        jpeg_write_marker(&jpeg, JPEG_APP0 + 1, kind.app1.data(), static_cast<unsigned>(kind.app1.size()));
    if (!kind.profile.empty())
        jpeg_write_icc_profile(&jpeg, kind.profile.data(), static_cast<unsigned>(kind.profile.size()));
    for (uint32_t y = 0; y < kind.height; ++y) {
        auto* row = const_cast<JSAMPROW>(pixels.data() + std::size_t{y} * kind.width * static_cast<std::size_t>(channels));
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    Bytes file(memory, memory + size);
    std::free(memory);
    return file;
}

Bytes make_exif(int orientation, bool little_endian) {
    Bytes bytes{'E', 'x', 'i', 'f', 0, 0};
    const auto number = [&](uint32_t value, int size) {
        for (int i = 0; i < size; ++i)
            bytes.push_back(static_cast<uint8_t>(value >> 8 * (little_endian ? i : size - 1 - i)));
    };
    const char order = little_endian ? 'I' : 'M';
    bytes.push_back(static_cast<uint8_t>(order));
    bytes.push_back(static_cast<uint8_t>(order));
    number(42, 2);
    number(8, 4);  // the first folder
    number(2, 2);  // entries
    number(0x0106, 2), number(3, 2), number(1, 4), number(2, 2), number(0, 2);
    number(0x0112, 2), number(3, 2), number(1, 4), number(static_cast<uint32_t>(orientation), 2), number(0, 2);
    number(0, 4);  // no other folder
    return bytes;
}

}  // namespace backplane::test
