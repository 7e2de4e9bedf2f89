#include "formats/image/orientation.hpp"

#include "image_files.hpp"
#include "made_jpeg.hpp"

namespace backplane::test {
namespace {

constexpr uint32_t kStoredWidth = 48, kStoredHeight = 32;

// As the specification's table puts it: which side of the picture the first row and the first column of the file are.
enum class Side { top, bottom, left, right };
struct Row {
    Side first_row, first_column;
};
constexpr Row table[8] = {{Side::top, Side::left},     {Side::top, Side::right},  {Side::bottom, Side::right},
                          {Side::bottom, Side::left},  {Side::left, Side::top},   {Side::right, Side::top},
                          {Side::right, Side::bottom}, {Side::left, Side::bottom}};

// The picture that the file's rows make, laid out by the table.
Bytes laid_out(const Bytes& stored, int orientation) {
    const Row row = table[orientation - 1];
    const bool swapped = row.first_row == Side::left || row.first_row == Side::right;
    const uint32_t across = swapped ? kStoredHeight : kStoredWidth, down = swapped ? kStoredWidth : kStoredHeight;
    Bytes picture(stored.size());
    for (uint32_t r = 0; r < kStoredHeight; ++r) {
        for (uint32_t c = 0; c < kStoredWidth; ++c) {
            uint32_t x = 0, y = 0;
            const auto place = [&](Side side, uint32_t distance) {
                switch (side) {
                    case Side::top: y = distance; break;
                    case Side::bottom: y = down - 1 - distance; break;
                    case Side::left: x = distance; break;
                    case Side::right: x = across - 1 - distance; break;
                }
            };
            place(row.first_row, r);
            place(row.first_column, c);
            for (uint32_t k = 0; k < 3; ++k) picture[(y * across + x) * 3 + k] = stored[(r * kStoredWidth + c) * 3 + k];
        }
    }
    return picture;
}

TEST(Orientation, EachOfTheEightIsApplied) {
    const Folder folder;
    const Bytes pixels = pattern(kStoredWidth * kStoredHeight * 3);
    JpegKind kind;
    kind.width = kStoredWidth, kind.height = kStoredHeight;
    const Bytes stored = read_picture(folder.put("a.jpg", make_jpeg(kind, pixels))).pixels;
    for (int orientation = 1; orientation <= 8; ++orientation) {
        for (const bool little_endian : {false, true}) {
            kind.app1 = make_exif(orientation, little_endian);
            const Picture picture = read_picture(folder.put("a.jpg", make_jpeg(kind, pixels)));
            EXPECT_EQ(picture.info.width, orientation < 5 ? kStoredWidth : kStoredHeight) << orientation;
            EXPECT_EQ(picture.info.height, orientation < 5 ? kStoredHeight : kStoredWidth) << orientation;
            EXPECT_EQ(picture.pixels, laid_out(stored, orientation)) << orientation;
        }
    }
}

TEST(Orientation, WhatIsNoValidExifMeansUpright) {
    EXPECT_EQ(formats::orientation_of({}), 1);
    EXPECT_EQ(formats::orientation_of(make_exif(0, true)), 1);
    EXPECT_EQ(formats::orientation_of(make_exif(9, true)), 1);
    const Bytes good = make_exif(6, true);
    EXPECT_EQ(formats::orientation_of(good), 6);
    for (std::size_t size = 0; size < good.size() - 6; ++size) {
        EXPECT_EQ(formats::orientation_of(std::span(good).first(size)), 1) << size;
    }
    Bytes far = good;  // the folder lies beyond the end
    far[10] = far[11] = far[12] = far[13] = 0xff;
    EXPECT_EQ(formats::orientation_of(far), 1);
    Bytes wrong_type = good;
    wrong_type[6 + 8 + 2 + 12 + 2] = 4;
    EXPECT_EQ(formats::orientation_of(wrong_type), 1);
}

}  // namespace
}  // namespace backplane::test
