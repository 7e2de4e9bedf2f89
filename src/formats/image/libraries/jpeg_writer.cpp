#include <array>
#include <vector>

#include "formats/image/libraries/jpeg_session.hpp"
#include "formats/image/row_writer.hpp"
#include "formats/image/writers.hpp"

namespace backplane::formats {

namespace {

struct Destination {
    jpeg_destination_mgr manager{};  // first: libjpeg is given its address
    base::ReplacingFile* file = nullptr;
    std::array<JOCTET, 65536> room{};
};

void begin(j_compress_ptr jpeg) {
    auto* to = reinterpret_cast<Destination*>(jpeg->dest);
    to->manager.next_output_byte = to->room.data();
    to->manager.free_in_buffer = to->room.size();
}

boolean empty(j_compress_ptr jpeg) {
    auto* to = reinterpret_cast<Destination*>(jpeg->dest);
    if (!to->file->try_write(std::as_bytes(std::span(to->room)))) ERREXIT(jpeg, JERR_FILE_WRITE);
    begin(jpeg);
    return TRUE;
}

void end(j_compress_ptr jpeg) {
    auto* to = reinterpret_cast<Destination*>(jpeg->dest);
    const auto used = std::span(to->room).first(to->room.size() - to->manager.free_in_buffer);
    if (!to->file->try_write(std::as_bytes(used))) ERREXIT(jpeg, JERR_FILE_WRITE);
}

// A marker counts its parts in one byte.
constexpr std::size_t kMostProfile = std::size_t{255} * 65519;

class JpegWriter final : public RowWriter {
public:
    JpegWriter(const std::filesystem::path& path, const ImageInfo& info, const ImageWriteOptions& options)
        : RowWriter(path, info, "JPEG") {
        jpeg_.err = begin_errors(fault_);
        destination_.file = &file();
        destination_.manager.init_destination = begin;
        destination_.manager.empty_output_buffer = empty;
        destination_.manager.term_destination = end;
        if (info.channels == 4) flat_.resize(std::size_t{info.width} * 3);
        try {
            start(options);
        } catch (...) {
            jpeg_destroy_compress(&jpeg_);
            throw;
        }
    }
    ~JpegWriter() override { jpeg_destroy_compress(&jpeg_); }
    JpegWriter(const JpegWriter&) = delete;
    JpegWriter& operator=(const JpegWriter&) = delete;

private:
    void start(const ImageWriteOptions& options) {
        jpeg_compress_struct* jpeg = &jpeg_;
        jpeg_destination_mgr* to = &destination_.manager;
        const ImageInfo* image = &info();
        const int quality = options.jpeg_quality;
        const bool good = guarded(fault_, [=] {
            jpeg_create_compress(jpeg);
            jpeg->dest = to;
            jpeg->image_width = image->width;
            jpeg->image_height = image->height;
            jpeg->input_components = 3;
            jpeg->in_color_space = JCS_RGB;
            jpeg_set_defaults(jpeg);
            jpeg_set_quality(jpeg, quality, TRUE);
            // Who asks for high quality wants the colours at full resolution too.
            if (quality >= 90) jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
            jpeg_start_compress(jpeg, TRUE);
            const std::size_t profile = image->profile.size();
            if (profile != 0 && profile <= kMostProfile) {
                jpeg_write_icc_profile(jpeg, image->profile.data(), static_cast<unsigned int>(profile));
            }
        });
        if (!good) throw failure("the header", fault_.text);
    }

    void write_row(const uint8_t* row) override {
        if (!flat_.empty()) {
            lay_over_white({row, std::size_t{info().width} * 4}, flat_);
            row = flat_.data();
        }
        jpeg_compress_struct* jpeg = &jpeg_;
        const bool good = guarded(fault_, [jpeg, row] {
            JSAMPROW line = const_cast<JSAMPROW>(row);  // libjpeg only reads it
            static_cast<void>(jpeg_write_scanlines(jpeg, &line, 1));
        });
        if (!good) throw failure(row_name(), fault_.text);
    }

    void finish_rows() override {
        jpeg_compress_struct* jpeg = &jpeg_;
        if (!guarded(fault_, [=] { jpeg_finish_compress(jpeg); })) throw failure("the end", fault_.text);
    }

    JpegFault fault_{};
    Destination destination_;
    jpeg_compress_struct jpeg_{};
    std::vector<uint8_t> flat_;  // one row without alpha
};

}  // namespace

std::unique_ptr<ImageWriter> create_jpeg(const std::filesystem::path& path, const ImageInfo& info,
                                         const ImageWriteOptions& options) {
    return std::make_unique<JpegWriter>(path, info, options);
}

}  // namespace backplane::formats
