#include "formats/image/readers.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "base/file_error.hpp"
#include "formats/image/checks.hpp"
#include "formats/image/libraries/png_session.hpp"

namespace backplane::formats {

namespace {

void read_bytes(png_structp png, png_bytep into, std::size_t size) {
    if (static_cast<InputFile*>(png_get_io_ptr(png))->read(into, size) != size) png_error(png, "the file ends early");
}

uint32_t big_endian(const uint8_t* p) { return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3]; }

class PngReader final : public ImageReader {
public:
    explicit PngReader(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
        check_header();
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &fault_, png_failed, png_warned);
        if (png_ != nullptr) info_struct_ = png_create_info_struct(png_);
        if (info_struct_ == nullptr) {
            png_destroy_read_struct(&png_, &info_struct_, nullptr);
            throw Error(Code::no_host_memory,
                        "cannot read " + name() + ": out of memory or another libpng than this was built with");
        }
        try {
            start();
        } catch (...) {
            png_destroy_read_struct(&png_, &info_struct_, nullptr);
            throw;
        }
    }
    ~PngReader() override { png_destroy_read_struct(&png_, &info_struct_, nullptr); }
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;

    [[nodiscard]] const ImageInfo& info() const noexcept override { return info_; }

    void read(std::span<uint8_t> into) override {
        const uint32_t count = rows_in(into.size(), info_, next_row_, "read from " + name());
        if (broken_) throw Error(Code::invalid, "cannot read " + name() + " on: it already failed");
        if (interlaced_) decode_interlaced();
        for (uint32_t i = 0; i < count; ++i, ++next_row_) {
            uint8_t* row = into.data() + i * row_bytes();
            if (interlaced_) {
                std::memcpy(row, pixels_.data() + next_row_ * row_bytes(), row_bytes());
            } else {
                decode(row, next_row_);
            }
        }
        if (next_row_ == info_.height && !ended_) end();
    }

private:
    [[nodiscard]] std::string name() const { return "the PNG " + base::quoted(file_->path()); }
    [[nodiscard]] std::size_t row_bytes() const { return std::size_t{info_.width} * info_.channels; }

    // Width and height before libpng sees them: its own words for these faults name neither.
    void check_header() {
        const std::span<const uint8_t> head = file_->head();
        if (head.size() < 24) throw corrupt("its header", "the file ends early");
        if (std::memcmp(head.data() + 12, "IHDR", 4) != 0) throw corrupt("its header", "it does not begin with IHDR");
        info_.width = big_endian(head.data() + 16);
        info_.height = big_endian(head.data() + 20);
        check_size(info_, name());
    }

    void start() {
        png_structp png = png_;
        png_infop info = info_struct_;
        InputFile* file = file_.get();
        int passes = 1;
        int* passes_out = &passes;
        const bool good = guarded(png, [=] {
            png_set_read_fn(png, file, read_bytes);
            png_set_user_limits(png, kLongestSide, kLongestSide);
            png_read_info(png, info);
            png_set_expand(png);  // palette to RGB, 1/2/4 bits to 8, tRNS to alpha
            png_set_scale_16(png);
            png_set_gray_to_rgb(png);
            *passes_out = png_set_interlace_handling(png);
            png_read_update_info(png, info);
        });
        if (!good) throw corrupt("its header", fault_.text);
        info_.channels = png_get_channels(png_, info_struct_);
        if ((info_.channels != 3 && info_.channels != 4) || png_get_rowbytes(png_, info_struct_) != row_bytes()) {
            throw Error(Code::unsupported, "cannot read " + name() + ": its pixels are of a kind that is not known");
        }
        interlaced_ = passes > 1;
        passes_ = passes;
        if (interlaced_ && row_bytes() * info_.height > kMostHeld) {
            throw Error(Code::no_host_memory, "cannot read " + name() + ": it is interlaced and would need " +
                                                  std::to_string((row_bytes() * info_.height) >> 20) +
                                                  " MiB at once, 1024 is the most; save it without interlacing");
        }
        keep_profile();
    }

    void keep_profile() {
        png_charp profile_name = nullptr;
        int compression = 0;
        png_bytep profile = nullptr;
        png_uint_32 size = 0;
        if (png_get_iCCP(png_, info_struct_, &profile_name, &compression, &profile, &size) == 0) return;
        if (is_rgb_profile({profile, size})) info_.profile.assign(profile, profile + size);
    }

    void decode(uint8_t* row, uint32_t number) {
        png_structp png = png_;
        if (!guarded(png, [=] { png_read_row(png, row, nullptr); })) {
            throw corrupt("row " + std::to_string(number) + " of " + std::to_string(info_.height), fault_.text);
        }
    }

    void decode_interlaced() {
        if (!pixels_.empty()) return;
        try {
            pixels_.resize(row_bytes() * info_.height);
        } catch (const std::bad_alloc&) {
            throw Error(Code::no_host_memory, "cannot read " + name() +
                                                  ": it is interlaced and there is no memory to hold it; save it "
                                                  "without interlacing");
        }
        for (int pass = 0; pass < passes_; ++pass) {
            for (uint32_t y = 0; y < info_.height; ++y) decode(pixels_.data() + y * row_bytes(), y);
        }
    }

    void end() {
        ended_ = true;
        png_structp png = png_;
        if (!guarded(png, [=] { png_read_end(png, nullptr); })) throw corrupt("what follows its last row", fault_.text);
        pixels_ = {};
    }

    [[nodiscard]] Error corrupt(const std::string& part, const std::string& why) {
        broken_ = true;
        if (file_->fault() != 0) return base::file_error("cannot read", file_->path(), file_->fault());
        const bool ended = file_->ended_early() || file_->head().size() < 24;
        return {Code::corrupt,
                "cannot read " + part + " of " + name() + ": " + why +
                    (ended ? "; it was cut off: copy or download it again" : "; it is damaged: get it again")};
    }

    std::unique_ptr<InputFile> file_;
    PngFault fault_;
    png_structp png_ = nullptr;
    png_infop info_struct_ = nullptr;
    ImageInfo info_;
    int passes_ = 1;
    uint32_t next_row_ = 0;
    bool interlaced_ = false, ended_ = false, broken_ = false;
    std::vector<uint8_t> pixels_;  // of an interlaced image
};

}  // namespace

std::unique_ptr<ImageReader> open_png(std::unique_ptr<InputFile> file) {
    return std::make_unique<PngReader>(std::move(file));
}

}  // namespace backplane::formats
