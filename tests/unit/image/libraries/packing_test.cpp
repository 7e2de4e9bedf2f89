// How a PNG is packed depends on what the picture is like, and what is read of it never does.
#include <random>

#include "../image_files.hpp"

namespace backplane::test {
namespace {

ImageInfo picture_of(uint32_t width, uint32_t height, uint32_t channels) { return {width, height, channels, {}}; }

// As a photograph is: neighbours are alike, and nothing comes twice.
Bytes photograph(const ImageInfo& info) {
    std::mt19937 random(7);
    Bytes pixels;
    for (uint32_t y = 0; y < info.height; ++y)
        for (uint32_t x = 0; x < info.width * info.channels; ++x)
            pixels.push_back(static_cast<uint8_t>(x / 8 + y / 2 + random() % 12));
    return pixels;
}

// As letters are: the same sign of 16 x 12 pixels again and again, below a margin.
Bytes letters(const ImageInfo& info, uint32_t margin) {
    std::mt19937 random(3);
    Bytes sign(12 * 16);
    for (uint8_t& dot : sign) dot = random() % 3 == 0 ? 20 : 250;
    Bytes pixels;
    for (uint32_t y = 0; y < info.height; ++y)
        for (uint32_t x = 0; x < info.width; ++x)
            pixels.insert(pixels.end(), info.channels, y < margin ? 255 : sign[y % 12 * 16 + x % 16]);
    return pixels;
}

size_t size_of(const ImageInfo& info, const Bytes& pixels, int compression) {
    const Folder folder;
    ImageWriteOptions options;
    options.png_compression = compression;
    const auto writer = ImageWriter::create(folder / "a.png", info, options);
    writer->write(pixels);
    writer->finish();
    EXPECT_EQ(read_picture(folder / "a.png").pixels, pixels);
    return bytes_of(folder / "a.png").size();
}

TEST(PngPacking, AsPhotographsAreNoFileIsLargerThanOneThatTakesLongest) {
    const ImageInfo info = picture_of(300, 200, 3);
    const Bytes pixels = photograph(info);
    EXPECT_LE(size_of(info, pixels, 4), size_of(info, pixels, 9) * 102 / 100);
}

TEST(PngPacking, LettersArePackedByWhatComesAgainEvenBelowAMargin) {
    const ImageInfo info = picture_of(300, 400, 3);
    for (const uint32_t margin : {0U, 100U}) {
        const Bytes pixels = letters(info, margin);
        EXPECT_LT(size_of(info, pixels, 4), pixels.size() / 30) << margin;
    }
}

TEST(PngPacking, PixelsAreWhatWasWrittenHoweverManyRowsThereAre) {
    for (const uint32_t height : {1U, 2U, 63U, 64U, 65U, 130U})
        for (const uint32_t channels : {3U, 4U})
            for (const uint32_t width : {1U, 7U, 6000U}) {
                if (width == 6000 && height > 2) continue;  // a row is more than is looked at
                const ImageInfo info = picture_of(width, height, channels);
                for (const int compression : {0, 4}) {
                    size_of(info, photograph(info), compression);
                    size_of(info, letters(info, 0), compression);
                }
            }
}

}  // namespace
}  // namespace backplane::test
