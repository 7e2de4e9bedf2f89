// Windows' decoder gets whole files alone: what is cut off, or would be too large to hold, is refused before.
#include <windows.h>

#include <objbase.h>

#include "../image_files.hpp"
#include "../made_jpeg.hpp"
#include "../made_png.hpp"

namespace backplane::test {
namespace {

// As a program that uses COM has it: without, each picture that is opened would start it anew.
class ComForAll : public ::testing::Environment {
    void SetUp() override { ASSERT_TRUE(SUCCEEDED(::CoIncrementMTAUsage(&cookie_))); }
    void TearDown() override { static_cast<void>(::CoDecrementMTAUsage(cookie_)); }

    CO_MTA_USAGE_COOKIE cookie_{};
};
[[maybe_unused]] const auto* const com = ::testing::AddGlobalTestEnvironment(new ComForAll);

TEST(WholePictures, AFileCutInItsPixelsIsRefusedWhenItIsOpened) {
    const Folder folder;
    const auto expect_refused = [&](Bytes file) {
        file.resize(file.size() / 2);
        const Error error = error_of([&] { static_cast<void>(ImageReader::open(folder.put("a", file))); });
        EXPECT_EQ(error.code(), Code::corrupt);
        expect_words(error, {"cut off"});
    };
    PngKind png;
    png.width = 200, png.height = 100;
    expect_refused(make_png(png, samples_for(png)));
    JpegKind jpeg;
    for (const int orientation : {1, 6}) {
        jpeg.app1 = make_exif(orientation, false);
        expect_refused(make_jpeg(jpeg, pattern(24 * 17 * 3)));
    }
}

TEST(WholePictures, APngThatClaimsTheLargestSizeIsRefusedBeforeItIsHeld) {
    const Folder folder;
    const Error error =
        error_of([&] { static_cast<void>(ImageReader::open(folder.put("a.png", png_header(65535, 65535, false)))); });
    EXPECT_EQ(error.code(), Code::no_host_memory);
    expect_words(error, {"12287 MiB", "cut it into parts"});
}

}  // namespace
}  // namespace backplane::test
