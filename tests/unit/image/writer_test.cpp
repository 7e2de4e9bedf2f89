#include <cmath>

#include "image_files.hpp"
#include "made_png.hpp"

namespace backplane::test {
namespace {

ImageInfo info_of(uint32_t width, uint32_t height, uint32_t channels) { return {width, height, channels, {}}; }

TEST(ImageWriter, AWriterDestroyedBeforeTheEndLeavesNothing) {
    for (const char* name : {"a.png", "a.jpg"}) {
        const Folder folder;
        {
            const auto writer = ImageWriter::create(folder / name, info_of(8, 8, 3));
            writer->write(pattern(8 * 3 * 4));
        }
        EXPECT_EQ(folder.count(), 0U);
    }
}

TEST(ImageWriter, TheOldFileStaysUntilTheNewOneIsWhole) {
    for (const char* name : {"a.png", "a.jpg"}) {
        const Folder folder;
        folder.put(name, std::string("old"));
        { ImageWriter::create(folder / name, info_of(8, 8, 3))->write(pattern(8 * 3 * 8)); }
        EXPECT_EQ(bytes_of(folder / name), (Bytes{'o', 'l', 'd'}));
        write_picture(folder / name, info_of(8, 8, 3), pattern(8 * 8 * 3));
        EXPECT_EQ(read_picture(folder / name).info.width, 8U);
        EXPECT_EQ(folder.count(), 1U);
    }
}

TEST(ImageWriter, FinishingWithRowsMissingIsInvalidAndLeavesNothing) {
    const Folder folder;
    {
        const auto writer = ImageWriter::create(folder / "a.png", info_of(8, 8, 3));
        writer->write(pattern(8 * 3 * 3));
        const Error error = error_of([&] { writer->finish(); });
        EXPECT_EQ(error.code(), Code::invalid);
        expect_words(error, {"a.png", "3 of 8"});
    }
    EXPECT_EQ(folder.count(), 0U);
}

TEST(ImageWriter, TooManyRowsPartsOfRowsAndWritingAfterTheEndAreInvalid) {
    const Folder folder;
    for (const char* name : {"a.png", "a.jpg"}) {
        const auto writer = ImageWriter::create(folder / name, info_of(8, 2, 3));
        EXPECT_EQ(error_of([&] { writer->write(pattern(8 * 3 * 3)); }).code(), Code::invalid);
        EXPECT_EQ(error_of([&] { writer->write(pattern(8)); }).code(), Code::invalid);
        writer->write(pattern(8 * 3 * 2));
        writer->finish();
        EXPECT_EQ(error_of([&] { writer->finish(); }).code(), Code::invalid);
        EXPECT_EQ(error_of([&] { writer->write({}); }).code(), Code::invalid);
    }
}

TEST(ImageWriter, AnUnknownEndingIsInvalidAndTheErrorListsTheKnownOnes) {
    const Folder folder;
    for (const char* name : {"a.gif", "a", "a.", ".png", "png", "a.png.txt", "a.webp"}) {
        const Error error = error_of([&] { static_cast<void>(ImageWriter::create(folder / name, info_of(8, 8, 3))); });
        EXPECT_EQ(error.code(), Code::invalid) << name;
        expect_words(error, {".png", ".jpg", ".jpeg"});
    }
    EXPECT_EQ(folder.count(), 0U);
}

TEST(ImageWriter, EndingsAreKnownInCapitalsToo) {
    const Folder folder;
    for (const char* name : {"a.PNG", "a.Jpg", "a.JPEG"}) {
        write_picture(folder / name, info_of(3, 2, 3), pattern(18));
        EXPECT_EQ(read_picture(folder / name).info.width, 3U);
    }
    EXPECT_EQ(bytes_of(folder / "a.PNG")[1], 'P');
    EXPECT_EQ(bytes_of(folder / "a.JPEG")[0], 0xff);
}

TEST(ImageWriter, SizesChannelsAndOptionsOutOfRangeAreInvalid) {
    const Folder folder;
    const auto code = [&](const char* name, const ImageInfo& info, const ImageWriteOptions& options = {}) {
        return error_of([&] { static_cast<void>(ImageWriter::create(folder / name, info, options)); }).code();
    };
    EXPECT_EQ(code("a.png", info_of(0, 8, 3)), Code::invalid);
    EXPECT_EQ(code("a.png", info_of(8, 0, 3)), Code::invalid);
    EXPECT_EQ(code("a.png", info_of(65536, 1, 3)), Code::invalid);
    EXPECT_EQ(code("a.jpg", info_of(1, 65501, 3)), Code::invalid);
    EXPECT_EQ(code("a.png", info_of(8, 8, 1)), Code::invalid);
    EXPECT_EQ(code("a.png", info_of(8, 8, 5)), Code::invalid);
    EXPECT_EQ(code("a.jpg", info_of(8, 8, 3), {0, 6}), Code::invalid);
    EXPECT_EQ(code("a.jpg", info_of(8, 8, 3), {101, 6}), Code::invalid);
    EXPECT_EQ(code("a.png", info_of(8, 8, 3), {95, -1}), Code::invalid);
    EXPECT_EQ(code("a.png", info_of(8, 8, 3), {95, 10}), Code::invalid);
    EXPECT_EQ(folder.count(), 0U);
}

TEST(ImageWriter, AMissingFolderIsNotFoundAndAFolderInPlaceOfTheFileIsInvalid) {
    const Folder folder;
    std::filesystem::create_directory(folder / "album.png");
    const Error missing =
        error_of([&] { static_cast<void>(ImageWriter::create(folder / "none" / "a.png", info_of(8, 8, 3))); });
    EXPECT_EQ(missing.code(), Code::not_found);
    expect_words(missing, {"none", "a.png"});
    const Error in_place = error_of([&] { static_cast<void>(ImageWriter::create(folder / "album.png", info_of(8, 8, 3))); });
    EXPECT_EQ(in_place.code(), Code::invalid);
    expect_words(in_place, {"album.png", "folder"});
    folder.put("file", std::string("x"));
    EXPECT_EQ(error_of([&] { static_cast<void>(ImageWriter::create(folder / "file" / "a.png", info_of(8, 8, 3))); }).code(),
              Code::not_found);
}

TEST(ImageWriter, ANameThatIsTooLongIsInvalidBeforeTheWork) {
    const Folder folder;
    EXPECT_EQ(error_of([&] {
                  static_cast<void>(ImageWriter::create(folder / (std::string(300, 'a') + ".png"), info_of(8, 8, 3)));
              }).code(),
              Code::invalid);
    write_picture(folder / (std::string(236, 'a') + ".png"), info_of(3, 2, 3), pattern(18));
    EXPECT_EQ(folder.count(), 1U);
}

TEST(ImageWriter, PngKeepsEveryPixelAndTheProfile) {
    const Folder folder;
    for (const uint32_t channels : {3U, 4U}) {
        for (const auto& [width, height] : {std::pair<uint32_t, uint32_t>{37, 29}, {1, 1}, {1, 50}, {50, 1}, {65535, 1}}) {
            for (const int compression : {0, 6, 9}) {
                ImageInfo info = info_of(width, height, channels);
                info.profile = make_profile("RGB ");
                const Bytes pixels = pattern(std::size_t{width} * height * channels);
                write_picture(folder / "a.png", info, pixels, {95, compression});
                const Picture picture = read_picture(folder / "a.png");
                EXPECT_EQ(picture.info.width, width);
                EXPECT_EQ(picture.info.channels, channels);
                EXPECT_EQ(picture.info.profile, info.profile);
                EXPECT_EQ(picture.pixels, pixels);
            }
        }
    }
}

TEST(ImageWriter, RowsWrittenInAnyPortionsGiveTheSameFile) {
    const Folder folder;
    const Bytes pixels = pattern(11 * 13 * 3);
    for (const std::string name : {".png", ".jpg"}) {
        write_picture(folder / ("whole" + name), info_of(11, 13, 3), pixels);
        const auto writer = ImageWriter::create(folder / ("parts" + name), info_of(11, 13, 3));
        for (std::size_t y = 0; y < 13; y += 3)
            writer->write(std::span(pixels).subspan(y * 33, std::min<std::size_t>(3, 13 - y) * 33));
        writer->finish();
        EXPECT_EQ(bytes_of(folder / ("whole" + name)), bytes_of(folder / ("parts" + name)));
    }
}

TEST(ImageWriter, JpegKeepsThePictureAndTheProfile) {
    const Folder folder;
    Bytes pixels;
    for (uint32_t i = 0; i < 64 * 64; ++i)
        pixels.insert(pixels.end(), {static_cast<uint8_t>(i % 64 * 4), static_cast<uint8_t>(i / 64 * 4), 90});
    ImageInfo info = info_of(64, 64, 3);
    info.profile = make_profile("RGB ");
    info.profile.resize(150000, 3);
    write_picture(folder / "a.jpg", info, pixels);
    const Picture picture = read_picture(folder / "a.jpg");
    EXPECT_EQ(picture.info.profile, info.profile);
    for (std::size_t i = 0; i < pixels.size(); ++i) ASSERT_NEAR(picture.pixels[i], pixels[i], 6);
}

TEST(ImageWriter, JpegLaysTransparencyOverWhite) {
    const Folder folder;
    for (const int alpha : {0, 100, 255}) {
        Bytes pixels;
        for (int i = 0; i < 16 * 16; ++i) pixels.insert(pixels.end(), {200, 60, 0, static_cast<uint8_t>(alpha)});
        write_picture(folder / "a.jpg", info_of(16, 16, 4), pixels, {100, 6});
        const Picture picture = read_picture(folder / "a.jpg");
        EXPECT_EQ(picture.info.channels, 3U);
        const double colours[] = {200, 60, 0};
        for (std::size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(picture.pixels[c], (colours[c] * alpha + 255.0 * (255 - alpha)) / 255, 3);
    }
}

TEST(ImageWriter, ABrokenProfileIsLeftOutAndThePixelsAreKept) {
    const Folder folder;
    ImageInfo info = info_of(3, 2, 3);
    for (const Bytes& profile : {Bytes{1, 2, 3}, Bytes(5000, 0), make_profile("GRAY")}) {
        info.profile = profile;
        write_picture(folder / "a.png", info, pattern(18));
        EXPECT_EQ(read_picture(folder / "a.png").pixels, pattern(18));
        EXPECT_TRUE(read_picture(folder / "a.png").info.profile.empty());
    }
}

TEST(ImageWriter, AnImageCanReplaceTheFileThatItIsReadFrom) {
    const Folder folder;
    write_picture(folder / "a.png", info_of(20, 30, 3), pattern(20 * 30 * 3));
    {
        const auto reader = ImageReader::open(folder / "a.png");
        const auto writer = ImageWriter::create(folder / "a.png", reader->info());
        Bytes row(60);
        for (int y = 0; y < 30; ++y) {
            reader->read(row);
            writer->write(row);
        }
        writer->finish();
    }
    EXPECT_EQ(read_picture(folder / "a.png").pixels, pattern(20 * 30 * 3));
}

}  // namespace
}  // namespace backplane::test
