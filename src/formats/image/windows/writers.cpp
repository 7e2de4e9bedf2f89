#include "formats/image/writers.hpp"

#include <objbase.h>

#include <utility>
#include <vector>

#include "base/file_error.hpp"
#include "formats/image/row_writer.hpp"
#include "formats/image/windows/imaging.hpp"
#include "formats/image/windows/profile.hpp"

namespace backplane::formats {

namespace {

using windows::made;
using windows::Ref;

// The encoder writes into memory, as it may go back in what it has written; the file gets all of it at the end, and the profile.
class WicWriter final : public RowWriter {
public:
    WicWriter(const std::filesystem::path& path, const ImageInfo& info, bool jpeg, const ImageWriteOptions& options)
        : RowWriter(path, info, jpeg ? "JPEG" : "PNG"),
          jpeg_(jpeg),
          channels_(jpeg ? 3 : info.channels),
          factory_(windows::imaging_factory("cannot write the image " + base::quoted(path))) {
        HRESULT result = S_OK;
        memory_ = made<IStream>(result, [](IStream** into) { return ::CreateStreamOnHGlobal(nullptr, TRUE, into); });
        if (SUCCEEDED(result)) {
            const GUID& container = jpeg ? GUID_ContainerFormatJpeg : GUID_ContainerFormatPng;
            encoder_ = made<IWICBitmapEncoder>(
                result, [&](IWICBitmapEncoder** into) { return factory_->CreateEncoder(container, nullptr, into); });
        }
        if (SUCCEEDED(result)) result = encoder_->Initialize(memory_.get(), WICBitmapEncoderNoCache);
        if (SUCCEEDED(result)) result = begin_frame(options);
        if (FAILED(result)) throw failure("the header", windows::hex_of(result).c_str());
        row_.resize(std::size_t{info.width} * channels_);
    }

private:
    HRESULT begin_frame(const ImageWriteOptions& options) {
        HRESULT result = S_OK;
        Ref<IPropertyBag2> properties;
        frame_ = made<IWICBitmapFrameEncode>(result, [&](IWICBitmapFrameEncode** into) {
            IPropertyBag2* bag = nullptr;
            const HRESULT made = encoder_->CreateNewFrame(into, &bag);
            properties.reset(bag);
            return made;
        });
        // An encoder that does not know an option writes as it thinks best.
        if (SUCCEEDED(result) && jpeg_ && properties != nullptr) set_quality(*properties, options.jpeg_quality);
        if (SUCCEEDED(result)) result = frame_->Initialize(properties.get());
        if (SUCCEEDED(result)) result = frame_->SetSize(info().width, info().height);
        const WICPixelFormatGUID wanted = channels_ == 4 ? GUID_WICPixelFormat32bppBGRA : GUID_WICPixelFormat24bppBGR;
        WICPixelFormatGUID format = wanted;
        if (SUCCEEDED(result)) result = frame_->SetPixelFormat(&format);
        if (SUCCEEDED(result) && ::IsEqualGUID(format, wanted) == 0) result = WINCODEC_ERR_UNSUPPORTEDPIXELFORMAT;
        return result;
    }

    static void set_quality(IPropertyBag2& properties, int quality) {
        const auto set = [&](const wchar_t* name, VARIANT& value) {
            PROPBAG2 option{};
            option.pstrName = const_cast<wchar_t*>(name);  // it only reads it
            static_cast<void>(properties.Write(1, &option, &value));
        };
        VARIANT value{};
        value.vt = VT_R4;
        value.fltVal = static_cast<float>(quality) / 100;
        set(L"ImageQuality", value);
        // Who asks for high quality wants the colours at full resolution too.
        value = {};
        value.vt = VT_UI1;
        value.bVal = quality >= 90 ? WICJpegYCrCbSubsampling444 : WICJpegYCrCbSubsampling420;
        set(L"JpegYCrCbSubsampling", value);
    }

    void write_row(const uint8_t* row) override {
        const std::size_t pixels = info().width;
        if (jpeg_ && info().channels == 4) {
            lay_over_white({row, pixels * 4}, row_);
            row = row_.data();
        }
        for (std::size_t at = 0; at < row_.size(); at += channels_) {
            const uint8_t red = row[at], blue = row[at + 2];
            row_[at] = blue, row_[at + 1] = row[at + 1], row_[at + 2] = red;
            if (channels_ == 4) row_[at + 3] = row[at + 3];
        }
        const auto size = static_cast<UINT>(row_.size());
        const HRESULT result = frame_->WritePixels(1, size, size, row_.data());
        if (FAILED(result)) throw failure(row_name(), windows::hex_of(result).c_str());
    }

    void finish_rows() override {
        HRESULT result = frame_->Commit();
        if (SUCCEEDED(result)) result = encoder_->Commit();
        HGLOBAL memory = nullptr;
        STATSTG facts{};
        if (SUCCEEDED(result)) result = memory_->Stat(&facts, STATFLAG_NONAME);
        if (SUCCEEDED(result)) result = ::GetHGlobalFromStream(memory_.get(), &memory);
        const auto* bytes = SUCCEEDED(result) ? static_cast<const uint8_t*>(::GlobalLock(memory)) : nullptr;
        if (bytes == nullptr) throw failure("the end", windows::hex_of(result).c_str());
        const std::span<const uint8_t> all(bytes, static_cast<std::size_t>(facts.cbSize.QuadPart));
        const std::size_t place = jpeg_ ? place_in_jpeg(all) : std::min<std::size_t>(33, all.size());
        const std::vector<uint8_t> profile = jpeg_ ? jpeg_profile(info().profile) : png_profile(info().profile);
        const bool good = file().try_write(std::as_bytes(all.first(place))) &&
                          file().try_write(std::as_bytes(std::span(profile))) &&
                          file().try_write(std::as_bytes(all.subspan(place)));
        ::GlobalUnlock(memory);
        if (!good) throw failure("the end", "the file cannot be written");
    }

    bool jpeg_;
    std::size_t channels_;
    windows::Com com_;  // before what needs it
    Ref<IWICImagingFactory> factory_;
    Ref<IStream> memory_;
    Ref<IWICBitmapEncoder> encoder_;
    Ref<IWICBitmapFrameEncode> frame_;
    std::vector<uint8_t> row_;  // blue first
};

}  // namespace

std::unique_ptr<ImageWriter> create_png(const std::filesystem::path& path, const ImageInfo& info,
                                        const ImageWriteOptions& options) {
    return std::make_unique<WicWriter>(path, info, false, options);
}

std::unique_ptr<ImageWriter> create_jpeg(const std::filesystem::path& path, const ImageInfo& info,
                                         const ImageWriteOptions& options) {
    return std::make_unique<WicWriter>(path, info, true, options);
}

}  // namespace backplane::formats
