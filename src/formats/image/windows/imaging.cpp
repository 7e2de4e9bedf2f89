#include "formats/image/windows/imaging.hpp"

#include <array>
#include <cstdio>
#include <span>
#include <utility>

#include "formats/image/checks.hpp"

namespace backplane::formats::windows {

namespace {

unsigned scaled(unsigned value, unsigned bits) {
    const unsigned most = (1U << bits) - 1;
    return (value * 255 + most / 2) / most;
}

unsigned sample(const uint8_t* row, std::size_t index, unsigned bits) {
    if (bits == 16) return unsigned{row[index * 2]} | unsigned{row[index * 2 + 1]} << 8;
    if (bits == 8) return row[index];
    const std::size_t bit = index * bits;
    return row[bit / 8] >> (8 - bits - bit % 8) & ((1U << bits) - 1);
}

}  // namespace

std::string hex_of(HRESULT result) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%08lx", static_cast<unsigned long>(result));
    return text.data();
}

Ref<IWICImagingFactory> imaging_factory(const std::string& what) {
    HRESULT result = S_OK;
    auto factory = made<IWICImagingFactory>(result, [](IWICImagingFactory** into) {
        return ::CoCreateInstance(CLSID_WICImagingFactory, nullptr, CLSCTX_INPROC_SERVER, IID_IWICImagingFactory,
                                  reinterpret_cast<void**>(into));
    });
    if (factory == nullptr) {
        throw Error(Code::unsupported, what + ": Windows' imaging component (windowscodecs.dll) does not start (" +
                                           hex_of(result) + "); repair Windows with 'sfc /scannow'");
    }
    return factory;
}

Picture::Picture(const std::vector<uint8_t>& file, const GUID& container, uint32_t width, uint32_t height, std::string name)
    : name_(std::move(name)), width_(width), height_(height), factory_(imaging_factory("cannot read " + name_)) {
    HRESULT result = S_OK;
    stream_ = made<IWICStream>(result, [&](IWICStream** into) { return factory_->CreateStream(into); });
    // The stream only reads what it is given.
    if (stream_ != nullptr)
        result = stream_->InitializeFromMemory(const_cast<BYTE*>(file.data()), static_cast<DWORD>(file.size()));
    if (FAILED(result)) throw fault("its file", result);
    decoder_ = made<IWICBitmapDecoder>(
        result, [&](IWICBitmapDecoder** into) { return factory_->CreateDecoder(container, nullptr, into); });
    if (decoder_ != nullptr) result = decoder_->Initialize(stream_.get(), WICDecodeMetadataCacheOnDemand);
    if (FAILED(result)) throw fault("its header", result);
    frame_ = made<IWICBitmapFrameDecode>(result, [&](IWICBitmapFrameDecode** into) { return decoder_->GetFrame(0, into); });
    UINT real_width = 0, real_height = 0;
    if (frame_ != nullptr) result = frame_->GetSize(&real_width, &real_height);
    if (FAILED(result)) throw fault("its header", result);
    if (real_width != width || real_height != height) throw fault("its size", WINCODEC_ERR_BADHEADER);
    find_kind();
}

void Picture::find_kind() {
    struct Format {
        const GUID& guid;
        Kind kind;
        unsigned bits, samples;
    };
    const std::array<Format, 16> formats{{{GUID_WICPixelFormat24bppBGR, Kind::bgr, 8, 3},
                                          {GUID_WICPixelFormat32bppBGR, Kind::bgr, 8, 4},
                                          {GUID_WICPixelFormat32bppBGRA, Kind::bgra, 8, 4},
                                          {GUID_WICPixelFormat24bppRGB, Kind::rgb, 8, 3},
                                          {GUID_WICPixelFormat32bppRGBA, Kind::rgba, 8, 4},
                                          {GUID_WICPixelFormat48bppRGB, Kind::rgb, 16, 3},
                                          {GUID_WICPixelFormat64bppRGBA, Kind::rgba, 16, 4},
                                          {GUID_WICPixelFormat32bppCMYK, Kind::inks, 8, 4},
                                          {GUID_WICPixelFormatBlackWhite, Kind::grey, 1, 1},
                                          {GUID_WICPixelFormat2bppGray, Kind::grey, 2, 1},
                                          {GUID_WICPixelFormat4bppGray, Kind::grey, 4, 1},
                                          {GUID_WICPixelFormat8bppGray, Kind::grey, 8, 1},
                                          {GUID_WICPixelFormat16bppGray, Kind::grey, 16, 1},
                                          {GUID_WICPixelFormat1bppIndexed, Kind::indexed, 1, 1},
                                          {GUID_WICPixelFormat2bppIndexed, Kind::indexed, 2, 1},
                                          {GUID_WICPixelFormat4bppIndexed, Kind::indexed, 4, 1}}};
    WICPixelFormatGUID guid{};
    const HRESULT result = frame_->GetPixelFormat(&guid);
    if (FAILED(result)) throw fault("its kind of pixels", result);
    bool known = ::IsEqualGUID(guid, GUID_WICPixelFormat8bppIndexed) != 0;
    if (known) kind_ = Kind::indexed, bits_ = 8, samples_ = 1;
    for (const Format& format : formats) {
        if (::IsEqualGUID(guid, format.guid) == 0) continue;
        kind_ = format.kind, bits_ = format.bits, samples_ = format.samples;
        known = true;
    }
    if (!known)
        throw Error(Code::unsupported,
                    "cannot read " + name_ + ": its pixels are of a kind that is not known; save it as RGB");
    if (kind_ == Kind::indexed) keep_palette();
}

void Picture::keep_palette() {
    HRESULT result = S_OK;
    const auto palette = made<IWICPalette>(result, [&](IWICPalette** into) { return factory_->CreatePalette(into); });
    if (palette != nullptr) result = frame_->CopyPalette(palette.get());
    palette_.assign(256, 0xff000000);  // what a file's pixels name and its palette does not have is black
    UINT count = 0;
    if (SUCCEEDED(result)) result = palette->GetColors(256, palette_.data(), &count);
    if (FAILED(result)) throw fault("its palette", result);
}

void Picture::rows(uint32_t first, uint32_t count, uint32_t channels, uint8_t* into) {
    const std::size_t stride = (std::size_t{width_} * samples_ * bits_ + 7) / 8;
    // As many rows at a time as 4 MiB hold.
    const auto most = static_cast<uint32_t>(std::max<std::size_t>(1, (std::size_t{4} << 20) / stride));
    for (uint32_t done = 0; done < count;) {
        const uint32_t some = std::min(most, count - done);
        band_.resize(stride * some);
        const WICRect part{0, static_cast<INT>(first + done), static_cast<INT>(width_), static_cast<INT>(some)};
        const HRESULT result =
            frame_->CopyPixels(&part, static_cast<UINT>(stride), static_cast<UINT>(band_.size()), band_.data());
        if (FAILED(result)) throw fault("row " + std::to_string(first + done) + " of " + std::to_string(height_), result);
        for (uint32_t y = 0; y < some; ++y, ++done)
            widen(band_.data() + y * stride, channels, into + std::size_t{done} * width_ * channels);
    }
}

void Picture::widen(const uint8_t* row, uint32_t channels, uint8_t* into) const {
    for (std::size_t x = 0; x < width_; ++x, into += channels) {
        std::array<unsigned, 4> pixel{0, 0, 0, 255};
        const auto at = [&](std::size_t c) { return sample(row, x * samples_ + c, bits_); };
        switch (kind_) {
            case Kind::indexed: {
                const uint32_t colour = palette_[at(0)];
                pixel = {colour >> 16 & 255, colour >> 8 & 255, colour & 255, colour >> 24};
                break;
            }
            case Kind::grey: pixel[0] = pixel[1] = pixel[2] = scaled(at(0), bits_); break;
            case Kind::bgr: pixel = {at(2), at(1), at(0), 255}; break;
            case Kind::bgra: pixel = {at(2), at(1), at(0), at(3)}; break;
            case Kind::rgb:
                for (std::size_t c = 0; c < 3; ++c) pixel[c] = scaled(at(c), bits_);
                break;
            case Kind::rgba:
                for (std::size_t c = 0; c < 4; ++c) pixel[c] = scaled(at(c), bits_);
                break;
            case Kind::inks:  // 0 is none
                for (std::size_t c = 0; c < 3; ++c) pixel[c] = ((255 - at(c)) * (255 - at(3)) + 127) / 255;
                break;
        }
        for (std::size_t c = 0; c < channels; ++c) into[c] = static_cast<uint8_t>(pixel[c]);
    }
}

std::vector<uint8_t> Picture::profile() {
    HRESULT result = S_OK;
    const auto context =
        made<IWICColorContext>(result, [&](IWICColorContext** into) { return factory_->CreateColorContext(into); });
    IWICColorContext* first = context.get();
    UINT count = 0, size = 0;
    WICColorContextType type = WICColorContextUninitialized;
    if (first == nullptr || FAILED(frame_->GetColorContexts(1, &first, &count)) || count == 0) return {};
    if (FAILED(context->GetType(&type)) || type != WICColorContextProfile) return {};
    if (FAILED(context->GetProfileBytes(0, nullptr, &size))) return {};
    std::vector<uint8_t> bytes(size);
    if (FAILED(context->GetProfileBytes(size, bytes.data(), &size)) || size != bytes.size() || !is_rgb_profile(bytes))
        return {};
    return bytes;
}

Error Picture::fault(const std::string& part, HRESULT result) const {
    const bool memory = result == E_OUTOFMEMORY;
    return {memory ? Code::no_host_memory : Code::corrupt,
            "cannot read " + part + " of " + name_ +
                (memory ? ": out of memory"
                        : ": Windows' decoder does not take it (" + hex_of(result) + "); it is damaged: get it again")};
}

}  // namespace backplane::formats::windows
