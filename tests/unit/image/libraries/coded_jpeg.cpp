// By libjpeg, and what it wrote is kept for systems that have none (kept_jpegs.hpp).
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include "../kept_jpegs.hpp"
#include "../made_jpeg.hpp"

namespace backplane::test {

namespace {

// Each coded JPEG of this size is among the kept ones: BACKPLANE_WRITE=1 writes the file anew, of the tests that run.
void keep(const JpegKind& kind, const Bytes& pixels, const Bytes& file) {
    static KeptJpegs kept = std::getenv("BACKPLANE_WRITE") != nullptr ? KeptJpegs() : read_kept_jpegs();
    if (file.size() > kMostKept || !kept.emplace(key_of(kind, pixels), file).second) return;
    if (std::getenv("BACKPLANE_WRITE") != nullptr) {
        write_kept_jpegs(kept);
    } else {
        ADD_FAILURE() << "this JPEG is not kept for Windows: run with BACKPLANE_WRITE=1";
    }
}

}  // namespace

Bytes coded_jpeg(const JpegKind& kind, const Bytes& pixels) {
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
    for (uint32_t y = 0; y < kind.height; ++y) {
        auto* row = const_cast<JSAMPROW>(pixels.data() + std::size_t{y} * kind.width * static_cast<std::size_t>(channels));
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    Bytes file(memory, memory + size);
    std::free(memory);
    keep(kind, pixels, file);
    return file;
}

}  // namespace backplane::test
