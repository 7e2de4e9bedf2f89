// Upscaler: image file to image file through a real (tiny) network on a real device.
#include <gtest/gtest.h>

#include <cmath>

#include "backplane/esrgan.hpp"
#include "esrgan_file.hpp"
#include "image_files.hpp"
#include "support/patience.hpp"

namespace backplane::test {
namespace {

class UpscalerTest : public ::testing::Test {
protected:
    static Device device() {
        ContextOptions options = patient();
        options.module_paths = {std::string(BP_TEST_BINARY_DIR) + "/lib/backplane"};
        options.search_defaults = options.use_environment = false;
        return Context(options).choose("reference");
    }
    static ImageInfo info_of(uint32_t width, uint32_t height, uint32_t channels) { return {width, height, channels, {}}; }

    std::filesystem::path put(const char* name, const ImageInfo& info, const Bytes& pixels) const {
        const auto writer = ImageWriter::create(folder / name, info);
        writer->write(pixels);
        writer->finish();
        return folder / name;
    }
    Bytes upscale(const Bytes& image, uint32_t width, uint32_t height, uint32_t channels,
                  const UpscaleOptions& options = {}) {
        Bytes out(image.size() * 4);
        result = upscaler.run(image, width, height, channels, out, options);
        return out;
    }
    // What run() throws for this input, and that there is no output then.
    Error fails(const std::filesystem::path& in, const char* out, const UpscaleOptions& options = {}) {
        const std::size_t before = folder.count();
        const Error error = error_of([&] { upscaler.run(*ImageReader::open(in), folder / out, options); });
        EXPECT_EQ(folder.count(), before);
        return error;
    }

    Folder folder;
    std::shared_ptr<const Esrgan> model = std::make_shared<const Esrgan>(EsrganFile().open());
    Upscaler upscaler{device(), model};
    UpscaleResult result;
};

TEST_F(UpscalerTest, WithoutADeviceOrAModelItIsInvalid) {
    EXPECT_EQ(error_of([&] { Upscaler(Device(), model); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { Upscaler(device(), nullptr); }).code(), Code::invalid);
}

TEST_F(UpscalerTest, AFileThatIsCutLeavesNoOutputAndTheOldOneAlone) {
    const auto in = put("in.png", info_of(60, 50, 3), pattern(60 * 50 * 3));
    std::filesystem::resize_file(in, std::filesystem::file_size(in) / 2);
    EXPECT_EQ(fails(in, "out.png").code(), Code::corrupt);
    folder.put("out.png", std::string("old"));
    EXPECT_EQ(fails(in, "out.png").code(), Code::corrupt);
    EXPECT_EQ(bytes_of(folder / "out.png"), (Bytes{'o', 'l', 'd'}));
}

TEST_F(UpscalerTest, CancellingLeavesNoOutput) {
    const auto in = put("in.png", info_of(60, 50, 3), pattern(60 * 50 * 3));
    std::atomic<uint32_t> cancel{0};
    UpscaleOptions options;
    options.tile = 16;
    options.cancel = &cancel;
    options.progress = [&](double done) { cancel = done > 0.4 ? 1 : 0; };
    EXPECT_EQ(fails(in, "out.png", options).code(), Code::cancelled);
    options.progress = nullptr;
    EXPECT_EQ(fails(in, "out.png", options).code(), Code::cancelled);  // before anything was done
    cancel = 0;
    EXPECT_GT(upscaler.run(*ImageReader::open(in), folder / "out.png", options).tiles, 1);
}

TEST_F(UpscalerTest, AnOutputThatCannotBeWrittenIsAnErrorBeforeTheWork) {
    const auto in = put("in.png", info_of(6, 5, 3), pattern(6 * 5 * 3));
    UpscaleOptions options;
    options.progress = [](double) { ADD_FAILURE() << "a tile was computed"; };
    EXPECT_EQ(fails(in, "out.gif", options).code(), Code::invalid);
    EXPECT_EQ(fails(in, "none/out.png", options).code(), Code::not_found);
    const auto wide = put("wide.png", info_of(40000, 1, 3), pattern(40000 * 3));
    expect_words(fails(wide, "out.png", options), {"80000 x 2", "65535"});
    expect_words(fails(put("less-wide.png", info_of(32760, 1, 3), pattern(32760 * 3)), "out.jpg", options), {".png"});
}

TEST_F(UpscalerTest, TilesAndOverlapsThatCannotBeAreInvalid) {
    const Bytes image = pattern(60 * 50 * 3);
    const auto code = [&](int64_t tile, int64_t overlap) {
        UpscaleOptions options;
        options.tile = tile;
        options.overlap = overlap;
        return error_of([&] { upscale(image, 60, 50, 3, options); }).code();
    };
    EXPECT_EQ(code(-1, 0), Code::invalid);
    EXPECT_EQ(code(0, -1), Code::invalid);
    EXPECT_EQ(code(16, 8), Code::invalid);
    EXPECT_EQ(code(16, INT64_MAX), Code::invalid);
}

TEST_F(UpscalerTest, PixelsThatAreNotWhatWasSaidAreInvalid) {
    Bytes in(30), out(120);
    const auto code = [&](std::size_t in_size, uint32_t width, uint32_t height, uint32_t channels, std::size_t out_size) {
        in.resize(in_size), out.resize(out_size);
        return error_of([&] { upscaler.run(in, width, height, channels, out); }).code();
    };
    EXPECT_EQ(code(30, 0, 5, 3, 120), Code::invalid);
    EXPECT_EQ(code(30, 2, 0, 3, 120), Code::invalid);
    EXPECT_EQ(code(30, 2, 5, 2, 120), Code::invalid);
    EXPECT_EQ(code(29, 2, 5, 3, 120), Code::invalid);
    EXPECT_EQ(code(30, 2, 5, 3, 119), Code::invalid);
    EXPECT_EQ(code(30, 0xffffffff, 0xffffffff, 4, 120), Code::invalid);
}

TEST_F(UpscalerTest, ComputesWhatTheNetworkSays) {
    for (const auto& [width, height] : {std::pair<uint32_t, uint32_t>{21, 13}, {1, 1}, {1, 30}, {30, 1}}) {
        const Bytes image = pattern(std::size_t{width} * height * 3);
        const std::vector<float> want = upscale_exactly(*model, height, width, {image.begin(), image.end()});
        const Bytes got = upscale(image, width, height, 3);
        ASSERT_EQ(got.size(), want.size());
        int inside = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
            ASSERT_NEAR(got[i], std::clamp(want[i], 0.0F, 255.0F), 0.51);
            inside += got[i] > 0 && got[i] < 255 ? 1 : 0;
        }
        EXPECT_GT(inside, 0);
        EXPECT_EQ(result.tiles, 1);
        EXPECT_EQ(result.width, width * 2);
        EXPECT_EQ(result.height, height * 2);
        EXPECT_EQ(result.channels, 3U);
    }
}

TEST_F(UpscalerTest, TilesThatOverlapByTwiceTheRadiusGiveTheWholeImage) {
    ASSERT_GT(model->radius(), 0);
    for (const auto& [width, height] : {std::pair<uint32_t, uint32_t>{70, 45}, {17, 70}, {1, 70}, {70, 1}}) {
        const Bytes image = pattern(std::size_t{width} * height * 3);
        const Bytes whole = upscale(image, width, height, 3);
        EXPECT_EQ(result.tiles, 1);
        UpscaleOptions options;
        options.tile = 20;
        options.overlap = 2 * model->radius();
        EXPECT_EQ(upscale(image, width, height, 3, options), whole);
        EXPECT_GT(result.tiles, 1);
        EXPECT_EQ(result.tile, 20);
    }
}

TEST_F(UpscalerTest, FilesGiveWhatMemoryGives) {
    const Bytes image = pattern(40 * 30 * 4);
    const Bytes want = upscale(image, 40, 30, 4);
    ImageInfo info = info_of(40, 30, 4);
    const auto in = put("in.png", info, image);
    UpscaleOptions options;
    options.tile = 16;
    options.overlap = 2 * model->radius();
    const UpscaleResult done = upscaler.run(*ImageReader::open(in), folder / "out.png", options);
    EXPECT_GT(done.tiles, 1);
    const Picture out = read_picture(folder / "out.png");
    EXPECT_EQ(out.info.width, 80U);
    EXPECT_EQ(out.info.height, 60U);
    EXPECT_EQ(out.info.channels, 4U);
    EXPECT_EQ(out.pixels, want);
    EXPECT_EQ(upscaler.run(*ImageReader::open(in), folder / "out.jpg").tiles, 1);
    EXPECT_EQ(read_picture(folder / "out.jpg").info.width, 80U);
}

TEST_F(UpscalerTest, ManyImagesOfManySizesOneAfterTheOther) {
    for (uint32_t size = 1; size <= 12; ++size) {
        for (const uint32_t other : {3U, 13U - size}) {
            const Bytes image = pattern(std::size_t{size} * other * 3);
            const std::vector<float> want = upscale_exactly(*model, other, size, {image.begin(), image.end()});
            const Bytes got = upscale(image, size, other, 3);
            for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], std::clamp(want[i], 0.0F, 255.0F), 0.51);
        }
    }
}

}  // namespace
}  // namespace backplane::test
