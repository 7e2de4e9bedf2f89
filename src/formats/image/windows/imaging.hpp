// Windows' imaging component (WIC): COM without a word of it outside these files.
#pragma once

#include <windows.h>

#include <wincodec.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backplane/image.hpp"

namespace backplane::formats::windows {

struct Release {
    void operator()(IUnknown* object) const noexcept { object->Release(); }
};
template <class T>
using Ref = std::unique_ptr<T, Release>;

// What `make` puts into the pointer it is given; empty where it fails. `result` has the reason.
template <class T, class Make>
Ref<T> made(HRESULT& result, const Make& make) {
    T* object = nullptr;
    result = make(&object);
    return Ref<T>(FAILED(result) ? nullptr : object);
}

// COM, for any thread, as long as this lives, without a say in how the application's threads use it: they may have begun otherwise or not
// at all, and objects of WIC may be used and released on each of them.
class Com {
public:
    Com() : good_(SUCCEEDED(::CoIncrementMTAUsage(&cookie_))) {}
    ~Com() {
        if (good_) ::CoDecrementMTAUsage(cookie_);
    }
    Com(const Com&) = delete;
    Com& operator=(const Com&) = delete;

private:
    CO_MTA_USAGE_COOKIE cookie_{};
    bool good_;
};

// Throws Error(unsupported): this system has none. `what`: "cannot read the PNG 'a.png'".
Ref<IWICImagingFactory> imaging_factory(const std::string& what);

std::string hex_of(HRESULT result);  // "0x88982f50", which Microsoft's pages list

// The rows of a picture, of whichever kind its decoder gives, as RGB or RGBA of 8 bits each.
class Picture {
public:
    // `file` stays where it is as long as this lives. Throws Error(corrupt) where the decoder takes it for no picture of this size.
    Picture(const std::vector<uint8_t>& file, const GUID& container, uint32_t width, uint32_t height, std::string name);
    void rows(uint32_t first, uint32_t count, uint32_t channels, uint8_t* into);
    [[nodiscard]] std::vector<uint8_t> profile();  // ICC of an RGB space; empty: none

private:
    enum class Kind { indexed, grey, bgr, bgra, rgb, rgba, inks };

    void find_kind();
    void keep_palette();
    void widen(const uint8_t* row, uint32_t channels, uint8_t* into) const;
    [[nodiscard]] Error fault(const std::string& part, HRESULT result) const;

    std::string name_;
    uint32_t width_, height_;
    Com com_;  // before what needs it
    Ref<IWICImagingFactory> factory_;
    Ref<IWICStream> stream_;
    Ref<IWICBitmapDecoder> decoder_;
    Ref<IWICBitmapFrameDecode> frame_;
    Kind kind_ = Kind::bgr;
    unsigned bits_ = 8, samples_ = 3;  // of a sample; samples of a pixel
    std::vector<uint32_t> palette_;    // 0xAARRGGBB
    std::vector<uint8_t> band_;
};

}  // namespace backplane::formats::windows
