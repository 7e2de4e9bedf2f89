#include "backplane/image.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/file_error.hpp"
#include "formats/image/checks.hpp"
#include "formats/image/input_file.hpp"
#include "formats/image/readers.hpp"
#include "formats/image/writers.hpp"

namespace backplane {

namespace {

using namespace formats;

struct Signature {
    std::size_t offset;
    std::string_view bytes;
    const char* kind;
};

// Images that people have and this library does not read: saying which one it is spares a search.
constexpr std::array<Signature, 12> others{{
    {0, "GIF8", "a GIF"},
    {8, "WEBP", "a WebP file"},
    {0, "BM", "a BMP file"},
    {0, std::string_view("II*\0", 4), "a TIFF file"},
    {0, std::string_view("MM\0*", 4), "a TIFF file"},
    {8, "heic", "an HEIC file"},
    {8, "mif1", "an HEIC file"},
    {8, "avif", "an AVIF file"},
    {0, std::string_view("\xff\x0a", 2), "a JPEG XL file"},
    {4, "JXL ", "a JPEG XL file"},
    {0, "%PDF", "a PDF"},
    {0, "<svg", "an SVG"},
}};

bool begins(std::span<const uint8_t> head, std::string_view with, std::size_t offset = 0) {
    return head.size() >= offset + with.size() &&
           std::equal(with.begin(), with.end(), head.begin() + static_cast<std::ptrdiff_t>(offset),
                      [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Error unknown(const InputFile& file) {
    const std::string text = "cannot read the image " + base::quoted(file.path()) + ": ";
    if (file.head().empty()) return {Code::corrupt, text + "the file is empty; get it again"};
    for (const Signature& other : others) {
        if (!begins(file.head(), other.bytes, other.offset)) continue;
        return {Code::unsupported, text + "it is " + other.kind + "; convert it to PNG or JPEG"};
    }
    std::string bytes;
    for (const uint8_t byte : file.head().first(std::min<std::size_t>(file.head().size(), 8))) {
        std::array<char, 4> hex{};
        std::snprintf(hex.data(), hex.size(), " %02x", byte);
        bytes += hex.data();
    }
    return {Code::unsupported,
            text + "it is neither PNG nor JPEG, whatever its name says: it begins with" + bytes + "; give a PNG or JPEG"};
}

// Whether the name asks for a JPEG, else a PNG.
bool names_jpeg(const std::filesystem::path& path) {
    std::string ending = path.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (ending == ".jpg" || ending == ".jpeg") return true;
    if (ending == ".png") return false;
    throw Error(Code::invalid, "cannot write the image " + base::quoted(path) + ": the ending '" + ending +
                                   "' names no format that can be written; end the name in .png, .jpg or .jpeg");
}

void check(const std::filesystem::path& path, const ImageInfo& info, const ImageWriteOptions& options) {
    const std::string text = "cannot write the image " + base::quoted(path) + ": ";
    const std::string size = std::to_string(info.width) + " x " + std::to_string(info.height);
    if (info.width == 0 || info.height == 0) throw Error(Code::invalid, text + size + " pixels are no image");
    if (info.width > kLongestSide || info.height > kLongestSide) {
        throw Error(Code::invalid,
                    text + "it would have " + size + " pixels, " + std::to_string(kLongestSide) + " a side is the most");
    }
    if (info.channels != 3 && info.channels != 4) {
        throw Error(Code::invalid, text + std::to_string(info.channels) + " channels; 3 (RGB) or 4 (RGBA) can be written");
    }
    if (options.jpeg_quality < 1 || options.jpeg_quality > 100) {
        throw Error(Code::invalid, text + "JPEG quality " + std::to_string(options.jpeg_quality) + " is not 1 to 100");
    }
    if (options.png_compression < 0 || options.png_compression > 9) {
        throw Error(Code::invalid, text + "PNG compression " + std::to_string(options.png_compression) + " is not 0 to 9");
    }
}

}  // namespace

std::unique_ptr<ImageReader> ImageReader::open(const std::filesystem::path& path) {
    auto file = std::make_unique<InputFile>(path);
    if (begins(file->head(), "\x89PNG\r\n\x1a\n")) return open_png(std::move(file));
    if (begins(file->head(), "\xff\xd8\xff")) return open_jpeg(std::move(file));
    throw unknown(*file);
}

void ImageWriter::check_name(const std::filesystem::path& path) { static_cast<void>(names_jpeg(path)); }

std::unique_ptr<ImageWriter> ImageWriter::create(const std::filesystem::path& path, const ImageInfo& info,
                                                 const ImageWriteOptions& options) {
    const bool jpeg = names_jpeg(path);
    check(path, info, options);
    if (jpeg && std::max(info.width, info.height) > kLongestJpegSide) {
        throw Error(Code::invalid, "cannot write the image " + base::quoted(path) + ": a JPEG has at most " +
                                       std::to_string(kLongestJpegSide) + " pixels a side, this has " +
                                       std::to_string(info.width) + " x " + std::to_string(info.height) +
                                       "; end the name in .png");
    }
    return jpeg ? create_jpeg(path, info, options) : create_png(path, info, options);
}

}  // namespace backplane
