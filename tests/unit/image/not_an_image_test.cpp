// The worst inputs first: files that are no image, whatever they are called.
#include "image_files.hpp"
#include "made_jpeg.hpp"
#include "made_png.hpp"

namespace backplane::test {
namespace {

TEST(NotAnImage, AMissingFileIsNotFound) {
    const Folder folder;
    const Error error = error_of([&] { static_cast<void>(ImageReader::open(folder / "none.png")); });
    EXPECT_EQ(error.code(), Code::not_found);
    expect_words(error, {"none.png", "No such file"});
}

TEST(NotAnImage, AFileInAMissingFolderIsNotFound) {
    const Folder folder;
    EXPECT_EQ(error_of([&] { static_cast<void>(ImageReader::open(folder / "none" / "a.png")); }).code(), Code::not_found);
}

TEST(NotAnImage, AFolderIsUnsupportedAndSaysThatItIsOne) {
    const Folder folder;
    std::filesystem::create_directory(folder / "album.png");
    const Error error = error_of([&] { static_cast<void>(ImageReader::open(folder / "album.png")); });
    EXPECT_EQ(error.code(), Code::unsupported);
    expect_words(error, {"album.png", "folder"});
}

TEST(NotAnImage, AnEmptyFileIsCorruptAndSaysThatItIsEmpty) {
    const Folder folder;
    const Error error = error_of([&] { static_cast<void>(ImageReader::open(folder.put("a.png", Bytes{}))); });
    EXPECT_EQ(error.code(), Code::corrupt);
    expect_words(error, {"a.png", "empty"});
}

TEST(NotAnImage, ATextNamedLikeAPngIsUnsupportedAndItsFirstBytesAreShown) {
    const Folder folder;
    const Error error =
        error_of([&] { static_cast<void>(ImageReader::open(folder.put("a.png", std::string("hello, world")))); });
    EXPECT_EQ(error.code(), Code::unsupported);
    expect_words(error, {"a.png", "neither PNG nor JPEG", "68 65 6c 6c 6f"});
}

TEST(NotAnImage, OtherKindsOfImagesAreNamed) {
    const Folder folder;
    const std::pair<std::string, const char*> kinds[] = {
        {std::string("RIFF\x10\0\0\0WEBPVP8 ", 16), "WebP"},
        {"GIF89a..........", "GIF"},
        {std::string("\0\0\0\x1c"
                     "ftypavif",
                     12),
         "AVIF"},
        {std::string("\0\0\0\x1c"
                     "ftypheic",
                     12),
         "HEIC"},
        {std::string("II*\0........", 12), "TIFF"},
        {"BM..............", "BMP"},
        {"<svg xmlns=", "SVG"},
    };
    for (const auto& [bytes, kind] : kinds) {
        const auto path = folder.put("a.jpg", bytes);
        const Error error = error_of([&] { static_cast<void>(ImageReader::open(path)); });
        EXPECT_EQ(error.code(), Code::unsupported);
        expect_words(error, {kind, "convert it"});
    }
}

TEST(NotAnImage, WhatAFileIsItsFirstBytesSayAndNotItsName) {
    const Folder folder;
    const PngKind kind;
    const Picture picture = read_picture(folder.put("really-a-png.jpg", make_png(kind, samples_for(kind))));
    EXPECT_EQ(picture.info.width, kind.width);
    EXPECT_EQ(read_picture(folder.put("a.txt", make_jpeg({}, pattern(24 * 17 * 3)))).info.width, 24U);
}

TEST(NotAnImage, APngOfNoPixelsIsCorruptAndSaysItsSize) {
    const Folder folder;
    for (const auto& [width, height] : {std::pair<uint32_t, uint32_t>{0, 7}, {7, 0}, {0, 0}}) {
        const auto path = folder.put("a.png", png_header(width, height, false));
        const Error error = error_of([&] { static_cast<void>(ImageReader::open(path)); });
        EXPECT_EQ(error.code(), Code::corrupt);
        expect_words(error, {"a.png", (std::to_string(width) + " x " + std::to_string(height)).c_str()});
    }
}

TEST(NotAnImage, APngBeyondTheLargestSizeIsUnsupported) {
    const Folder folder;
    for (const auto& [width, height] : {std::pair<uint32_t, uint32_t>{65536, 1}, {1, 65536}, {0xffffffff, 0xffffffff}}) {
        const auto path = folder.put("a.png", png_header(width, height, false));
        const Error error = error_of([&] { static_cast<void>(ImageReader::open(path)); });
        EXPECT_EQ(error.code(), Code::unsupported);
        expect_words(error, {"65535"});
    }
}

TEST(NotAnImage, AnInterlacedPngOfMoreThanAGibibyteIsRefusedBeforeItIsHeld) {
    const Folder folder;
    const Error error =
        error_of([&] { static_cast<void>(ImageReader::open(folder.put("a.png", png_header(65535, 65535, true)))); });
    EXPECT_EQ(error.code(), Code::no_host_memory);
    expect_words(error, {"interlaced", "12287 MiB"});
}

TEST(NotAnImage, AJpegOfNoRowsIsCorrupt) {
    const Folder folder;
    Bytes file = make_jpeg({}, pattern(24 * 17 * 3));
    for (std::size_t i = 0; i + 6 < file.size(); ++i) {
        if (file[i] == 0xff && file[i + 1] == 0xc0) file[i + 5] = file[i + 6] = 0;
    }
    EXPECT_EQ(error_of([&] { static_cast<void>(ImageReader::open(folder.put("a.jpg", file))); }).code(), Code::corrupt);
}

TEST(NotAnImage, AJpegOf12BitsIsUnsupported) {
    const Folder folder;
    Bytes file = make_jpeg({}, pattern(24 * 17 * 3));
    for (std::size_t i = 0; i + 6 < file.size(); ++i) {
        if (file[i] == 0xff && file[i + 1] == 0xc0) file[i + 4] = 12;
    }
    EXPECT_EQ(error_of([&] { static_cast<void>(ImageReader::open(folder.put("a.jpg", file))); }).code(), Code::unsupported);
}

TEST(NotAnImage, AnErrorIsOneLineWhateverTheNameIs) {
    const Folder folder;
    const Error error = error_of([&] { static_cast<void>(ImageReader::open(folder / "two\nlines.png")); });
    expect_words(error, {"two?lines.png"});
}

}  // namespace
}  // namespace backplane::test
