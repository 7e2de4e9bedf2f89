// upscale: what goes wrong first, then what goes right.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace backplane::e2e {
namespace {

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Fails with exit code 1 and one line that contains `word`; leaves no output.
void expect_refused(const Place& place, std::vector<std::string> arguments, const std::string& out,
                    const std::string& word) {
    arguments.insert(arguments.begin(), "upscale");
    const Outcome o = run(place, arguments);
    EXPECT_EQ(o.exit_code, 1) << o.err;
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
    EXPECT_NE(o.err.find(word), std::string::npos) << o.err;
    EXPECT_FALSE(fs::exists(out));
}

TEST(CliUpscale, EveryBadInputIsOneLineAndNoOutput) {
    const Place p;
    const std::string model = p.model();
    const std::string good = p.picture();
    const std::string out = p.at("out.png");
    const std::string bytes = content(good);
    write(p.at("empty.png"), "");
    write(p.at("text.png"), "this is no picture");
    write(p.at("cut.png"), bytes.substr(0, bytes.size() / 2));
    const size_t before = p.files();
    expect_refused(p, {p.at("missing.png"), out, "--model", model}, out, "missing.png");
    expect_refused(p, {p.at("empty.png"), out, "--model", model}, out, "empty.png");
    expect_refused(p, {p.at("text.png"), out, "--model", model}, out, "text.png");
    expect_refused(p, {p.at("cut.png"), out, "--model", model}, out, "cut.png");
    expect_refused(p, {p.at(""), out, "--model", model}, out, "");
    expect_refused(p, {good, p.at("no/such/folder/out.png"), "--model", model}, p.at("no/such/folder/out.png"), "folder");
    expect_refused(p, {good, p.at("out.bmp"), "--model", model}, p.at("out.bmp"), "bmp");
    expect_refused(p, {good, out, "--model", p.at("none.gguf")}, out, "none.gguf");
    expect_refused(p, {good, out, "--model", good}, out, "GGUF");
    expect_refused(p, {good, out, "--model", "slim", "--models", p.at("")}, out, "fetch-models");
    expect_refused(p, {good, out, "--model", model, "--device", "warp-drive"}, out, "warp-drive");
    EXPECT_EQ(p.files(), before) << "nothing is left behind";
}

TEST(CliUpscale, AModelWhoseOffsetsCountsOrShapesLieIsOneLine) {
    const Place p;
    const std::string good = p.picture();
    const std::string out = p.at("out.png");
    const std::string bytes = content(p.model());
    for (size_t at = 0; at < bytes.size(); at += 7) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 0x5a);
        write(p.at("lying.gguf"), changed);
        const Outcome o = run(p, {"upscale", good, out, "--model", p.at("lying.gguf")});
        ASSERT_TRUE(o.exit_code == 0 || o.exit_code == 1) << "byte " << at << ": exit code " << o.exit_code << "\n" << o.err;
        if (o.exit_code == 1) {
            EXPECT_TRUE(is_one_line(o.err.substr(o.err.find("backplane: ")))) << o.err;
            EXPECT_FALSE(fs::exists(out));
        }
        fs::remove(out);
    }
}

TEST(CliUpscale, AFullDiskLeavesNoFileAndSaysSo) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture("in.png", 300, 300);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit tight{3000, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    const Outcome o = run(p, {"upscale", in, p.at("out.png"), "--model", model});
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(o.exit_code, 1) << o.err;
    EXPECT_NE(o.err.find("out.png"), std::string::npos) << o.err;
    EXPECT_FALSE(fs::exists(p.at("out.png")));
    EXPECT_EQ(p.files(), 2U) << "the model and the input";
}

TEST(CliUpscale, CtrlCHalfWayEndsWith130AndNoFile) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture("in.png", 3000, 3000);
    const Started program(p, {"upscale", in, p.at("out.png"), "--model", model, "--tile", "32"});
    // Far enough to have begun the output; a run takes many seconds.
    for (int i = 0; i < 1000 && p.files() < 5; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    program.signal(SIGINT);
    const Outcome o = program.wait();
    EXPECT_EQ(o.exit_code, 130) << o.err;
    EXPECT_FALSE(fs::exists(p.at("out.png")));
    EXPECT_EQ(p.files(), 2U);
}

TEST(CliUpscale, AnOldFileStaysWhenTheNewOneFails) {
    const Place p;
    const std::string model = p.model();
    write(p.at("out.png"), "old");
    write(p.at("cut.png"), content(p.picture()).substr(0, 200));
    EXPECT_EQ(run(p, {"upscale", p.at("cut.png"), p.at("out.png"), "--model", model}).exit_code, 1);
    EXPECT_EQ(content(p.at("out.png")), "old");
}

TEST(CliUpscale, PixelsAreRepeatedByTheTinyNetworkWhateverTheTile) {
    const Place p;
    const std::string model = p.model();
    for (const uint32_t channels : {3U, 4U}) {
        const std::string in = p.picture("in.png", 37, 23, channels);
        const std::vector<uint8_t> source = Place::pixels(37, 23, channels);
        for (const char* tile : {"8", "16", "64"}) {
            const Outcome o = run(p, {"upscale", in, p.at("out.png"), "--model", model, "--tile", tile, "--json"});
            ASSERT_EQ(o.exit_code, 0) << o.err;
            const auto json = nlohmann::json::parse(o.out);
            EXPECT_EQ(json["width"], 74);
            EXPECT_EQ(json["device"], "cpu:0");
            ImageInfo info;
            const std::vector<uint8_t> result = read_image(p.at("out.png"), info);
            ASSERT_EQ(info.width, 74U);
            ASSERT_EQ(info.channels, channels);
            for (uint32_t y = 0; y < 46; ++y)
                for (uint32_t x = 0; x < 74; ++x)
                    for (uint32_t c = 0; c < 3; ++c)
                        ASSERT_EQ(result[(size_t{y} * 74 + x) * channels + c],
                                  source[(size_t{y} / 2 * 37 + x / 2) * channels + c])
                            << tile << ' ' << x << ' ' << y;
        }
    }
}

TEST(CliUpscale, JpegInAndOutAndAComparison) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture("in.jpg");
    const Outcome o =
        run(p, {"upscale", in, p.at("out.jpg"), "--model", model, "--compare", p.at("both.png"), "--quality", "80"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    ImageInfo info;
    read_image(p.at("both.png"), info);
    EXPECT_EQ(info.width, 74U * 2 + 8);
    EXPECT_EQ(info.height, 46U);
    EXPECT_EQ(o.out.find("\033["), std::string::npos) << "no colours into a file";
}

TEST(CliUpscale, OnePixelWorks) {
    const Place p;
    EXPECT_EQ(run(p, {"upscale", p.picture("in.png", 1, 1), p.at("out.png"), "--model", p.model()}).exit_code, 0);
}

}  // namespace
}  // namespace backplane::e2e
