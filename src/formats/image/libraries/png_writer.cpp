#include <utility>

#include "formats/image/libraries/png_session.hpp"
#include "formats/image/row_writer.hpp"
#include "formats/image/writers.hpp"

namespace backplane::formats {

namespace {

void write_bytes(png_structp png, png_bytep bytes, std::size_t size) {
    if (!static_cast<base::ReplacingFile*>(png_get_io_ptr(png))->try_write(std::as_bytes(std::span(bytes, size))))
        png_error(png, "the file cannot be written");
}

void flush_nothing(png_structp) {}  // finish() flushes once

class PngWriter final : public RowWriter {
public:
    PngWriter(const std::filesystem::path& path, const ImageInfo& info, const ImageWriteOptions& options)
        : RowWriter(path, info, "PNG") {
        png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &fault_, png_failed, png_warned);
        if (png_ != nullptr) info_struct_ = png_create_info_struct(png_);
        try {
            if (info_struct_ == nullptr) {
                throw Error(Code::no_host_memory,
                            "cannot write a PNG: out of memory or another libpng than this was built with");
            }
            start(options);
        } catch (...) {
            png_destroy_write_struct(&png_, &info_struct_);
            throw;
        }
    }
    ~PngWriter() override { png_destroy_write_struct(&png_, &info_struct_); }
    PngWriter(const PngWriter&) = delete;
    PngWriter& operator=(const PngWriter&) = delete;

private:
    void start(const ImageWriteOptions& options) {
        png_structp png = png_;
        png_infop info_struct = info_struct_;
        base::ReplacingFile* to = &file();
        const ImageInfo* image = &info();
        const int compression = options.png_compression;
        const bool good = guarded(png, [=] {
            png_set_write_fn(png, to, write_bytes, flush_nothing);
            png_set_benign_errors(png, 1);  // a broken profile is left out, the pixels are good without it
            png_set_compression_level(png, compression);
            png_set_IHDR(png, info_struct, image->width, image->height, 8,
                         image->channels == 4 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                         PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
            if (!image->profile.empty()) {
                png_set_iCCP(png, info_struct, "ICC profile", PNG_COMPRESSION_TYPE_BASE, image->profile.data(),
                             static_cast<png_uint_32>(image->profile.size()));
            }
            png_write_info(png, info_struct);
        });
        if (!good) throw failure("the header", fault_.text);
    }

    void write_row(const uint8_t* row) override {
        png_structp png = png_;
        if (!guarded(png, [=] { png_write_row(png, row); })) throw failure(row_name(), fault_.text);
    }

    void finish_rows() override {
        png_structp png = png_;
        if (!guarded(png, [=] { png_write_end(png, nullptr); })) throw failure("the end", fault_.text);
    }

    PngFault fault_;
    png_structp png_ = nullptr;
    png_infop info_struct_ = nullptr;
};

}  // namespace

std::unique_ptr<ImageWriter> create_png(const std::filesystem::path& path, const ImageInfo& info,
                                        const ImageWriteOptions& options) {
    return std::make_unique<PngWriter>(path, info, options);
}

}  // namespace backplane::formats
