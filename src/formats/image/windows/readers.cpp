#include "formats/image/readers.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/file_error.hpp"
#include "formats/image/checks.hpp"
#include "formats/image/orientation.hpp"
#include "formats/image/windows/file_walk.hpp"
#include "formats/image/windows/imaging.hpp"

namespace backplane::formats {

namespace {

std::vector<uint8_t> whole(InputFile& file, const std::string& name) {
    std::vector<uint8_t> bytes;
    constexpr std::size_t kStep = std::size_t{1} << 20;
    try {
        while (!file.ended_early()) {
            const std::size_t before = bytes.size();
            if (before > kMostHeld)
                throw Error(Code::no_host_memory,
                            "cannot read " + name + ": its file has more than 1024 MiB; cut it into parts");
            bytes.resize(before + kStep);
            bytes.resize(before + file.read(bytes.data() + before, kStep));
        }
    } catch (const std::bad_alloc&) {
        throw Error(Code::no_host_memory, "cannot read " + name + ": there is no memory to hold its file");
    }
    if (file.fault() != 0) throw base::file_error("cannot read", file.path(), file.fault());
    return bytes;
}

class WicReader final : public ImageReader {
public:
    WicReader(std::string name, std::vector<uint8_t> file, const GUID& container, ImageInfo info, int orientation)
        : name_(std::move(name)),
          info_(std::move(info)),
          file_(std::move(file)),
          picture_(file_, container, info_.width, info_.height, name_),
          orientation_(orientation) {
        if (::IsEqualGUID(container, GUID_ContainerFormatPng) != 0) info_.profile = picture_.profile();
        if (swaps_sides(orientation_)) std::swap(info_.width, info_.height);
    }

    [[nodiscard]] const ImageInfo& info() const noexcept override { return info_; }

    void read(std::span<uint8_t> into) override {
        const uint32_t count = rows_in(into.size(), info_, next_row_, "read from " + name_);
        if (broken_) throw Error(Code::invalid, "cannot read " + name_ + " on: it already failed");
        if (count == 0) return;
        broken_ = true;  // stays so when a row fails
        if (orientation_ == 1) {
            picture_.rows(next_row_, count, info_.channels, into.data());
            next_row_ += count;
        } else {
            read_turned(into, count);
        }
        broken_ = false;
        if (next_row_ == info_.height) turned_ = {};
    }

private:
    void read_turned(std::span<uint8_t> into, uint32_t count) {
        const bool swapped = swaps_sides(orientation_);
        const uint32_t width = swapped ? info_.height : info_.width, height = swapped ? info_.width : info_.height;
        if (turned_.empty()) {
            try {
                turned_.resize(std::size_t{width} * height * 3);
            } catch (const std::bad_alloc&) {
                throw Error(Code::no_host_memory,
                            "cannot read " + name_ +
                                ": it is turned (EXIF orientation) and there is no memory to hold it; save it upright");
            }
            picture_.rows(0, height, 3, turned_.data());
        }
        const std::size_t row = std::size_t{info_.width} * 3;
        for (uint32_t i = 0; i < count; ++i, ++next_row_)
            upright_row(turned_, width, height, orientation_, next_row_, into.subspan(i * row, row));
    }

    std::string name_;
    ImageInfo info_;
    std::vector<uint8_t> file_;
    windows::Picture picture_;  // of file_
    int orientation_;
    uint32_t next_row_ = 0;
    bool broken_ = false;
    std::vector<uint8_t> turned_;  // a picture that is turned, as the file has it
};

}  // namespace

std::unique_ptr<ImageReader> open_png(std::unique_ptr<InputFile> file) {
    std::string name = "the PNG " + base::quoted(file->path());
    std::vector<uint8_t> bytes = whole(*file, name);
    const PngFacts facts = walk_png(bytes, name);
    return std::make_unique<WicReader>(std::move(name), std::move(bytes), GUID_ContainerFormatPng,
                                       ImageInfo{facts.width, facts.height, facts.alpha ? 4U : 3U, {}}, 1);
}

std::unique_ptr<ImageReader> open_jpeg(std::unique_ptr<InputFile> file) {
    std::string name = "the JPEG " + base::quoted(file->path());
    std::vector<uint8_t> bytes = whole(*file, name);
    JpegFacts facts = walk_jpeg(bytes, name);
    bytes.resize(facts.size);
    return std::make_unique<WicReader>(std::move(name), std::move(bytes), GUID_ContainerFormatJpeg,
                                       ImageInfo{facts.width, facts.height, 3, std::move(facts.profile)}, facts.orientation);
}

}  // namespace backplane::formats
