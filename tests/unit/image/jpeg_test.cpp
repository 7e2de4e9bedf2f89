#include <cmath>

#include "every.hpp"
#include "image_files.hpp"
#include "made_jpeg.hpp"
#include "made_png.hpp"

namespace backplane::test {
namespace {

// Smooth, so that JPEG keeps it: `channels` ramps of different directions.
Bytes ramps(uint32_t width, uint32_t height, int channels) {
    Bytes pixels;
    for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
            const uint32_t values[] = {20 + x * 200 / width, 30 + y * 200 / height, 220 - x * 90 / width - y * 90 / height,
                                       200 - y * 100 / height};
            for (int c = 0; c < channels; ++c) pixels.push_back(static_cast<uint8_t>(values[c]));
        }
    }
    return pixels;
}

void expect_close(const Bytes& got, const Bytes& want, int most, const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    int worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(int{got[i]} - int{want[i]}));
    EXPECT_LE(worst, most) << what;
}

TEST(Jpeg, EveryKindBecomesRgb) {
    const Folder folder;
    for (const JpegColour colour : {JpegColour::grey, JpegColour::ycc, JpegColour::subsampled, JpegColour::rgb}) {
        for (const bool progressive : {false, true}) {
            for (const auto& [width, height] : {std::pair<uint32_t, uint32_t>{40, 33}, {1, 1}, {1, 30}, {30, 1}}) {
                JpegKind kind;
                kind.width = width, kind.height = height, kind.colour = colour, kind.progressive = progressive;
                const int channels = channels_of(colour);
                const Bytes pixels = ramps(width, height, channels);
                Bytes want;
                for (std::size_t i = 0; i < pixels.size(); ++i) want.insert(want.end(), channels == 1 ? 3 : 1, pixels[i]);
                const Picture picture = read_picture(folder.put("a.jpg", make_jpeg(kind, pixels)));
                EXPECT_EQ(picture.info.width, width);
                EXPECT_EQ(picture.info.height, height);
                EXPECT_EQ(picture.info.channels, 3U);
                expect_close(picture.pixels, want, colour == JpegColour::subsampled ? 14 : 4,
                             "kind " + std::to_string(static_cast<int>(colour)));
            }
        }
    }
}

TEST(Jpeg, InksBecomeRgbWhicheverWayRoundTheyAre) {
    const Folder folder;
    for (const JpegColour colour : {JpegColour::cmyk, JpegColour::ycck, JpegColour::cmyk_without_adobe}) {
        JpegKind kind;
        kind.width = 40, kind.height = 33, kind.colour = colour;
        const Bytes inks = ramps(40, 33, 4);
        const bool none_is_255 = colour != JpegColour::cmyk_without_adobe;  // Adobe's way
        Bytes want;
        for (std::size_t i = 0; i < inks.size(); i += 4) {
            for (std::size_t c = 0; c < 3; ++c) {
                const double light = none_is_255 ? inks[i + c] / 255.0 : 1 - inks[i + c] / 255.0;
                const double without_black = none_is_255 ? inks[i + 3] / 255.0 : 1 - inks[i + 3] / 255.0;
                want.push_back(static_cast<uint8_t>(std::lround(255 * light * without_black)));
            }
        }
        expect_close(read_picture(folder.put("a.jpg", make_jpeg(kind, inks))).pixels, want, 5, "inks");
    }
}

TEST(Jpeg, AFileCutAnywhereIsCorruptAndTheErrorSaysSo) {
    const Folder folder;
    for (const bool progressive : {false, true}) {
        JpegKind kind;
        kind.progressive = progressive, kind.quality = 60, kind.restart_rows = 1, kind.profile = make_profile("RGB ");
        const Bytes file = make_jpeg(kind, pattern(24 * 17 * 3));
        for (std::size_t size = 3; size < file.size(); size += kEvery) {
            const auto path = folder.put("a.jpg", Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
            const Error error = error_of([&] { read_picture(path); });
            EXPECT_EQ(error.code(), Code::corrupt) << size << " of " << file.size();
            expect_words(error, {"a.jpg", "cut off"});
        }
    }
}

TEST(Jpeg, AnyChangedByteGivesAPictureOrAnErrorAndPrintsNothing) {
    const Folder folder;
    ::testing::internal::CaptureStderr();
    for (const bool progressive : {false, true}) {
        JpegKind kind;
        kind.progressive = progressive, kind.quality = 40, kind.app1 = make_exif(6, true),
        kind.profile = make_profile("RGB ");
        const Bytes file = make_jpeg(kind, pattern(24 * 17 * 3));
        int refused = 0;
        for (std::size_t at = 0; at < file.size(); at += kEvery) {
            for (const uint8_t flip : {0x01, 0x80, 0xff}) {
                Bytes changed = file;
                changed[at] ^= flip;
                try {
                    read_picture(folder.put("a.jpg", changed));
                } catch (const Error&) {
                    ++refused;
                }
            }
        }
        EXPECT_GT(refused, 100 / static_cast<int>(kEvery));
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Jpeg, BytesAfterTheEndAreIgnored) {
    const Folder folder;
    Bytes file = make_jpeg({}, pattern(24 * 17 * 3));
    const Bytes before = read_picture(folder.put("a.jpg", file)).pixels;
    file.insert(file.end(), 5000, 0x41);
    EXPECT_EQ(read_picture(folder.put("a.jpg", file)).pixels, before);
}

TEST(Jpeg, AFileOfThousandsOfScansIsRefused) {
    const Folder folder;
    JpegKind kind;
    kind.scan_a_channel = true;
    const Bytes file = make_jpeg(kind, pattern(24 * 17 * 3));
    std::vector<std::ptrdiff_t> scans;
    for (std::size_t i = 0; i + 1 < file.size(); ++i) {
        if (file[i] == 0xff && file[i + 1] == 0xda) scans.push_back(static_cast<std::ptrdiff_t>(i));
    }
    ASSERT_EQ(scans.size(), 3U);
    const auto repeated = [&](int times) {
        Bytes bomb(file.begin(), file.begin() + scans[2]);
        for (int i = 0; i < times; ++i) bomb.insert(bomb.end(), file.begin() + scans[2], file.end() - 2);
        bomb.insert(bomb.end(), file.end() - 2, file.end());
        return folder.put("a.jpg", bomb);
    };
    EXPECT_EQ(read_picture(repeated(3)).pixels, read_picture(folder.put("b.jpg", file)).pixels);
    EXPECT_EQ(error_of([&] { read_picture(repeated(2000)); }).code(), Code::corrupt);
}

TEST(Jpeg, AProgressiveFileOfMoreThanAGibibyteIsRefusedBeforeItIsHeld) {
    const Folder folder;
    JpegKind kind;
    kind.progressive = true;
    Bytes file = make_jpeg(kind, pattern(24 * 17 * 3));
    for (std::size_t i = 0; i + 8 < file.size(); ++i) {
        if (file[i] == 0xff && file[i + 1] == 0xc2) {
            file[i + 5] = file[i + 7] = 0xea;
            break;
        }
    }
    const Error error = error_of([&] { static_cast<void>(ImageReader::open(folder.put("a.jpg", file))); });
    EXPECT_EQ(error.code(), Code::no_host_memory);
    expect_words(error, {"progressive", "MiB"});
}

TEST(Jpeg, AProfileOfRgbIsCarriedAndOneOfAnotherSpaceIsNot) {
    const Folder folder;
    JpegKind kind;
    kind.profile = make_profile("RGB ");
    kind.profile.resize(100000, 7);  // two markers
    EXPECT_EQ(read_picture(folder.put("a.jpg", make_jpeg(kind, pattern(24 * 17 * 3)))).info.profile, kind.profile);
    kind.profile = make_profile("GRAY");
    EXPECT_TRUE(read_picture(folder.put("a.jpg", make_jpeg(kind, pattern(24 * 17 * 3)))).info.profile.empty());
}

}  // namespace
}  // namespace backplane::test
