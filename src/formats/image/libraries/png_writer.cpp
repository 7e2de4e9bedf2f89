#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "formats/image/libraries/png_packing.hpp"
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
        : RowWriter(path, info, "PNG"), compression_(options.png_compression) {
        png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &fault_, png_failed, png_warned);
        if (png_ != nullptr) info_struct_ = png_create_info_struct(png_);
        try {
            if (info_struct_ == nullptr) {
                throw Error(Code::no_host_memory,
                            "cannot write a PNG: out of memory or another libpng than this was built with");
            }
            start();
        } catch (...) {
            png_destroy_write_struct(&png_, &info_struct_);
            throw;
        }
    }
    ~PngWriter() override { png_destroy_write_struct(&png_, &info_struct_); }
    PngWriter(const PngWriter&) = delete;
    PngWriter& operator=(const PngWriter&) = delete;

private:
    void start() {
        png_structp png = png_;
        png_infop info_struct = info_struct_;
        base::ReplacingFile* to = &file();
        const ImageInfo* image = &info();
        const int compression = compression_;
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

    // The first rows are held until they are enough to say how all are packed.
    void write_row(const uint8_t* row) override {
        if (begun_) return pass_on(row);
        const size_t bytes = row_bytes();
        held_.insert(held_.end(), row, row + bytes);
        if (held_.size() >= std::min(kHeldBytes, kHeldRows * bytes)) begin();
    }

    void begin() {
        begun_ = true;
        if (packs_as_well_by_runs(held_, info(), compression_)) {
            png_set_compression_strategy(png_, Z_RLE);
            png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FILTER_PAETH);
        }
        for (size_t at = 0; at < held_.size(); at += row_bytes()) pass_on(held_.data() + at);
        held_ = {};
    }

    void pass_on(const uint8_t* row) {
        png_structp png = png_;
        if (!guarded(png, [=] { png_write_row(png, row); })) throw failure(row_name(), fault_.text);
    }

    void finish_rows() override {
        if (!begun_) begin();
        png_structp png = png_;
        if (!guarded(png, [=] { png_write_end(png, nullptr); })) throw failure("the end", fault_.text);
    }

    [[nodiscard]] size_t row_bytes() const { return size_t{info().width} * info().channels; }

    static constexpr size_t kHeldRows = 64, kHeldBytes = size_t{1} << 20;

    const int compression_;
    bool begun_ = false;  // to pass rows on
    std::vector<uint8_t> held_;
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
