#include "formats/image/readers.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "base/file_error.hpp"
#include "formats/image/checks.hpp"
#include "formats/image/libraries/jpeg_session.hpp"
#include "formats/image/orientation.hpp"

namespace backplane::formats {

namespace {

// How libjpeg gets bytes. Where the file ends early it gets an error, not the end marker that its own source would invent.
struct Source {
    jpeg_source_mgr manager{};  // first: libjpeg is given its address
    InputFile* file = nullptr;
    std::array<JOCTET, 16384> room{};
};

boolean fill(j_decompress_ptr jpeg) {
    auto* source = reinterpret_cast<Source*>(jpeg->src);
    const std::size_t size = source->file->read(source->room.data(), source->room.size());
    if (size == 0) ERREXIT(jpeg, JERR_INPUT_EOF);
    source->manager.next_input_byte = source->room.data();
    source->manager.bytes_in_buffer = size;
    return TRUE;
}

void skip(j_decompress_ptr jpeg, long count) {
    while (count > static_cast<long>(jpeg->src->bytes_in_buffer)) {
        count -= static_cast<long>(jpeg->src->bytes_in_buffer);
        fill(jpeg);
    }
    if (count <= 0) return;
    jpeg->src->next_input_byte += count;
    jpeg->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

void count_scans(j_common_ptr jpeg) {
    if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMostScans) ERREXIT(jpeg, JERR_EOI_EXPECTED);
}

bool is_unsupported(int code) {
    switch (code) {
        case JERR_ARITH_NOTIMPL:
        case JERR_BAD_PRECISION:
        case JERR_CCIR601_NOTIMPL:
        case JERR_COMPONENT_COUNT:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL:
        case JERR_NOTIMPL:
        case JERR_SOF_UNSUPPORTED: return true;
        default: return false;
    }
}

class JpegReader final : public ImageReader {
public:
    explicit JpegReader(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
        jpeg_.err = begin_errors(fault_);
        source_.file = file_.get();
        source_.manager.fill_input_buffer = fill;
        source_.manager.skip_input_data = skip;
        source_.manager.resync_to_restart = jpeg_resync_to_restart;
        source_.manager.init_source = source_.manager.term_source = [](j_decompress_ptr) {};
        progress_.progress_monitor = count_scans;
        try {
            start();
        } catch (...) {
            jpeg_destroy_decompress(&jpeg_);
            throw;
        }
    }
    ~JpegReader() override { jpeg_destroy_decompress(&jpeg_); }
    JpegReader(const JpegReader&) = delete;
    JpegReader& operator=(const JpegReader&) = delete;

    [[nodiscard]] const ImageInfo& info() const noexcept override { return info_; }

    void read(std::span<uint8_t> into) override {
        const uint32_t count = rows_in(into.size(), info_, next_row_, "read from " + name());
        if (broken_) throw Error(Code::invalid, "cannot read " + name() + " on: it already failed");
        if (orientation_ != 1) decode_whole();
        const std::size_t row_bytes = std::size_t{info_.width} * 3;
        for (uint32_t i = 0; i < count; ++i, ++next_row_) {
            const std::span<uint8_t> row = into.subspan(i * row_bytes, row_bytes);
            if (orientation_ == 1) {
                decode(row.data());
            } else {
                upright_row(pixels_, jpeg_.output_width, jpeg_.output_height, orientation_, next_row_, row);
            }
        }
        if (next_row_ == info_.height && !ended_) end();
    }

private:
    [[nodiscard]] std::string name() const { return "the JPEG " + base::quoted(file_->path()); }

    void start() {
        jpeg_decompress_struct* jpeg = &jpeg_;
        jpeg_source_mgr* source = &source_.manager;
        jpeg_progress_mgr* progress = &progress_;
        const bool good = guarded(fault_, [=] {
            jpeg_create_decompress(jpeg);
            jpeg->src = source;
            jpeg->progress = progress;
            jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
            jpeg_save_markers(jpeg, JPEG_APP0 + 2, 0xffff);
            static_cast<void>(jpeg_read_header(jpeg, TRUE));
        });
        if (!good) throw fault("its header");
        check_memory();
        keep_markers();
        const bool inks = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
        jpeg_.out_color_space = inks ? JCS_CMYK : JCS_RGB;
        if (!guarded(fault_, [=] { static_cast<void>(jpeg_start_decompress(jpeg)); })) throw fault("its first row");
        if (inks) inks_.resize(std::size_t{jpeg_.output_width} * 4);
    }

    void check_memory() {
        info_.width = jpeg_.image_width;
        info_.height = jpeg_.image_height;
        info_.channels = 3;
        check_size(info_, name());
        uint64_t held = 0;
        if (jpeg_has_multiple_scans(&jpeg_) != 0) {
            for (int i = 0; i < jpeg_.num_components; ++i) {
                const jpeg_component_info& component = jpeg_.comp_info[i];
                held += uint64_t{component.width_in_blocks} * component.height_in_blocks * sizeof(JBLOCK);
            }
        }
        refuse_above(held, "progressive");
        for (jpeg_saved_marker_ptr marker = jpeg_.marker_list; marker != nullptr; marker = marker->next) {
            if (marker->marker != JPEG_APP0 + 1 || orientation_ != 1) continue;
            orientation_ = orientation_of({marker->data, marker->data_length});
        }
        if (orientation_ != 1) refuse_above(uint64_t{info_.width} * info_.height * 3, "turned (EXIF orientation)");
        if (swaps_sides(orientation_)) std::swap(info_.width, info_.height);
    }

    void refuse_above(uint64_t held, const char* why) const {
        if (held <= kMostHeld) return;
        throw Error(Code::no_host_memory, "cannot read " + name() + ": it is " + why + " and would need " +
                                              std::to_string(held >> 20) + " MiB at once, " +
                                              std::to_string(kMostHeld >> 20) +
                                              " is the most; save it upright and as a baseline JPEG or a PNG");
    }

    void keep_markers() {
        jpeg_decompress_struct* jpeg = &jpeg_;
        JOCTET* profile = nullptr;
        unsigned int size = 0;
        JOCTET** profile_out = &profile;
        unsigned int* size_out = &size;
        // A profile that does not fit together is left out, as viewers do: the pixels are good without it.
        if (!guarded(fault_, [=] { static_cast<void>(jpeg_read_icc_profile(jpeg, profile_out, size_out)); })) return;
        const std::unique_ptr<JOCTET, decltype(&std::free)> owner(profile, &std::free);
        if (is_rgb_profile({profile, size})) info_.profile.assign(profile, profile + size);
    }

    void decode(uint8_t* row) {
        jpeg_decompress_struct* jpeg = &jpeg_;
        JSAMPROW line = inks_.empty() ? row : inks_.data();
        const uint32_t number = jpeg_.output_scanline;
        const bool good = guarded(fault_, [jpeg, line] {
            JSAMPROW one = line;
            static_cast<void>(jpeg_read_scanlines(jpeg, &one, 1));
        });
        if (!good) {
            throw fault("row " + std::to_string(number) + " of " + std::to_string(jpeg_.image_height));
        }
        if (!inks_.empty()) to_rgb(row);
    }

    // Adobe writes inks inverted (255: none); its marker says that it was Adobe.
    void to_rgb(uint8_t* row) const {
        const unsigned flip = jpeg_.saw_Adobe_marker != 0 ? 0 : 255;
        for (std::size_t x = 0; x < jpeg_.output_width; ++x) {
            const uint8_t* ink = inks_.data() + x * 4;
            const unsigned black = ink[3] ^ flip;
            for (std::size_t c = 0; c < 3; ++c) row[x * 3 + c] = static_cast<uint8_t>(((ink[c] ^ flip) * black + 127) / 255);
        }
    }

    void decode_whole() {
        if (!pixels_.empty()) return;
        const std::size_t row_bytes = std::size_t{jpeg_.output_width} * 3;
        try {
            pixels_.resize(row_bytes * jpeg_.output_height);
        } catch (const std::bad_alloc&) {
            throw Error(Code::no_host_memory, "cannot read " + name() +
                                                  ": it is turned (EXIF orientation) and there is no memory to hold "
                                                  "it; save it upright");
        }
        for (uint32_t y = 0; y < jpeg_.output_height; ++y) decode(pixels_.data() + y * row_bytes);
    }

    void end() {
        ended_ = true;
        jpeg_decompress_struct* jpeg = &jpeg_;
        if (!guarded(fault_, [=] { static_cast<void>(jpeg_finish_decompress(jpeg)); }))
            throw fault("what follows its last row");
        pixels_ = {};
    }

    [[nodiscard]] Error fault(const std::string& part) {
        broken_ = true;
        if (file_->fault() != 0) return base::file_error("cannot read", file_->path(), file_->fault());
        const std::string text = "cannot read " + part + " of " + name() + ": ";
        if (fault_.code == JERR_INPUT_EOF) {
            return {Code::corrupt, text + "the file ends early; it was cut off: copy or download it again"};
        }
        if (fault_.code == JERR_OUT_OF_MEMORY) return {Code::no_host_memory, text + "out of memory"};
        if (fault_.code == JERR_IMAGE_TOO_BIG) {
            return {Code::unsupported,
                    text + "it has more than " + std::to_string(JPEG_MAX_DIMENSION) + " pixels a side; cut it into parts"};
        }
        if (fault_.code == JERR_EMPTY_IMAGE) {
            return {Code::corrupt, text + "it says it has no pixels; it is damaged: get it again"};
        }
        if (is_unsupported(fault_.code)) {
            return {Code::unsupported, text + fault_.text + "; save it as a plain JPEG or a PNG"};
        }
        return {Code::corrupt, text + fault_.text + "; it is damaged: get it again"};
    }

    std::unique_ptr<InputFile> file_;
    JpegFault fault_{};
    Source source_;
    jpeg_progress_mgr progress_{};
    jpeg_decompress_struct jpeg_{};
    ImageInfo info_;
    int orientation_ = 1;
    uint32_t next_row_ = 0;
    bool ended_ = false, broken_ = false;
    std::vector<uint8_t> inks_;    // one row of CMYK
    std::vector<uint8_t> pixels_;  // of a turned image
};

}  // namespace

std::unique_ptr<ImageReader> open_jpeg(std::unique_ptr<InputFile> file) {
    return std::make_unique<JpegReader>(std::move(file));
}

}  // namespace backplane::formats
