// libpng and libjpeg read row by row: a picture that is cut off is good as far as it goes, and none is held whole without need. Quality is theirs,
// too: Wine's encoder knows one alone.
#include "../image_files.hpp"
#include "../made_jpeg.hpp"
#include "../made_png.hpp"

namespace backplane::test {
namespace {

TEST(Png, AFileCutInItsPixelsIsReadAsFarAsTheRowThatTheErrorNames) {
    const Folder folder;
    PngKind kind;
    kind.width = 200, kind.height = 100;
    const std::vector<uint16_t> samples = samples_for(kind);
    Bytes file = make_png(kind, samples);
    file.resize(file.size() / 2);
    const auto reader = ImageReader::open(folder.put("a.png", file));
    Bytes row(600);
    uint32_t good = 0;
    const Error error = error_of([&] {
        for (; good < kind.height; ++good) {
            reader->read(row);
            EXPECT_EQ(row, Bytes(samples.begin() + good * 600, samples.begin() + (good + 1) * 600));
        }
    });
    EXPECT_GT(good, 10U);
    expect_words(error, {("row " + std::to_string(good) + " of 100").c_str()});
    EXPECT_EQ(error_of([&] { reader->read(row); }).code(), Code::invalid);
}

TEST(Jpeg, AFileCutInItsPixelsNamesTheRow) {
    const Folder folder;
    JpegKind kind;
    kind.width = 300, kind.height = 200;
    Bytes file = make_jpeg(kind, pattern(300 * 200 * 3));
    file.resize(file.size() / 2);
    const auto reader = ImageReader::open(folder.put("a.jpg", file));
    Bytes row(900);
    uint32_t good = 0;
    const Error error = error_of([&] {
        for (; good < kind.height; ++good) reader->read(row);
    });
    EXPECT_GT(good, 50U);
    EXPECT_LT(good, 150U);
    expect_words(error, {("row " + std::to_string(good) + " of 200").c_str()});
}

TEST(NotAnImage, APngThatClaimsTheLargestSizeOpensWithoutThatMemoryAndFailsAtItsFirstRow) {
    const Folder folder;
    const auto reader = ImageReader::open(folder.put("a.png", png_header(65535, 65535, false)));
    Bytes row(std::size_t{65535} * 3);
    const Error error = error_of([&] { reader->read(row); });
    EXPECT_EQ(error.code(), Code::corrupt);
    expect_words(error, {"row 0 of 65535", "cut off"});
}

TEST(Orientation, ATurnedFileThatIsCutIsCorruptAtItsFirstRead) {
    const Folder folder;
    JpegKind kind;
    kind.width = 48, kind.height = 32, kind.app1 = make_exif(6, false);
    Bytes file = make_jpeg(kind, pattern(48 * 32 * 3));
    file.resize(file.size() / 2);
    const auto reader = ImageReader::open(folder.put("a.jpg", file));
    Bytes row(32 * 3);
    EXPECT_EQ(error_of([&] { reader->read(row); }).code(), Code::corrupt);
}

TEST(ImageWriter, QualityIsTheSizeOfAJpeg) {
    const Folder folder;
    const auto info_of = [](uint32_t width, uint32_t height, uint32_t channels) {
        return ImageInfo{width, height, channels, {}};
    };
    write_picture(folder / "small.jpg", info_of(64, 64, 3), pattern(64 * 64 * 3), {10, 6});
    write_picture(folder / "large.jpg", info_of(64, 64, 3), pattern(64 * 64 * 3), {100, 6});
    EXPECT_LT(std::filesystem::file_size(folder / "small.jpg") * 3, std::filesystem::file_size(folder / "large.jpg"));
}

}  // namespace
}  // namespace backplane::test
