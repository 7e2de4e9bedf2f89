// upscale: what goes wrong first, then what goes right.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/json.hpp"
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
    expect_refused(p, {good, out, "--model", "slim", "--models", p.at("")}, out, "`backplane model fetch esrgan-slim`");
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
    program.wait_until([&] { return p.files() >= 5; });
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

TEST(CliUpscale, TheInputIsNeverWrittenOverUnasked) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture();
    const std::string bytes = content(in);
    fs::create_symlink(in, p.at("link.png"));
    fs::create_hard_link(in, p.at("hard.png"));
    for (const std::string& out : {in, p.at("./in.png"), p.at("link.png"), p.at("hard.png")}) {
        const Outcome o = run(p, {"upscale", in, out, "--model", model});
        EXPECT_EQ(o.exit_code, 2) << out;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find("--force"), std::string::npos) << o.err;
        EXPECT_EQ(content(in), bytes) << out;
    }
    // A comparison that would take the place of the input or of the result, whatever is forced.
    const std::string out = p.at("out.png");
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{"--compare", in},
                                               {"--compare", out},
                                               {"--compare", p.at("link.png"), "--force"},
                                               {"--compare", p.at("./out.png"), "--force"}}) {
        std::vector<std::string> arguments{"upscale", in, out, "--model", model};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 2) << more[1];
        EXPECT_NE(o.err.find("--compare"), std::string::npos) << o.err;
        EXPECT_EQ(content(in), bytes);
        EXPECT_FALSE(fs::exists(out));
    }
}

TEST(CliUpscale, WithForceTheInputIsReplacedAndComparedAsItWas) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture();
    const Outcome o = run(p, {"upscale", in, in, "--model", model, "--force", "--compare", p.at("both.png")});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    ImageInfo info;
    read_image(in, info);
    EXPECT_EQ(info.width, 74U);
    // The network repeats pixels: the two halves are the same picture.
    const std::vector<uint8_t> both = read_image(p.at("both.png"), info);
    ASSERT_EQ(info.width, 74U * 2 + 8);
    for (uint32_t y = 0; y < info.height; ++y) {
        const auto row = both.begin() + static_cast<std::ptrdiff_t>(size_t{y} * info.width * 3);
        ASSERT_TRUE(std::equal(row, row + 74 * 3, row + (74 + 8) * 3)) << "row " << y;
    }
}

TEST(CliUpscale, AReadOnlyFileIsReplacedOnlyByForceAndOthersAsEver) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture();
    write(p.at("out.png"), "old");
    ::chmod(p.at("out.png").c_str(), 0444);
    const Outcome o = run(p, {"upscale", in, p.at("out.png"), "--model", model});
    EXPECT_EQ(o.exit_code, 2) << o.err;
    EXPECT_NE(o.err.find("read-only"), std::string::npos) << o.err;
    EXPECT_EQ(content(p.at("out.png")), "old");
    EXPECT_EQ(run(p, {"upscale", in, p.at("out.png"), "--model", model, "--force"}).exit_code, 0);
    struct stat s {};
    ASSERT_EQ(::stat(p.at("out.png").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777U, 0444U) << "as it was";
    ::chmod(p.at("out.png").c_str(), 0644);
    EXPECT_EQ(run(p, {"upscale", in, p.at("out.png"), "--model", model}).exit_code, 0);
}

TEST(CliUpscale, RootLeavesAUsersFileToTheUser) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
    const Place p;
    write(p.at("out.png"), "old");
    if (::chown(p.at("out.png").c_str(), 1234, 1235) != 0) GTEST_SKIP() << "no right to give files away here";
    ASSERT_EQ(run(p, {"upscale", p.picture(), p.at("out.png"), "--model", p.model()}).exit_code, 0);
    struct stat s {};
    ASSERT_EQ(::stat(p.at("out.png").c_str(), &s), 0);
    EXPECT_EQ(s.st_uid, 1234U);
    EXPECT_EQ(s.st_gid, 1235U);
}

// Nothing of it is read: neither the picture nor the model is there.
TEST(CliUpscale, TheEndingOfTheOutputIsJudgedBeforeAnythingIsLoaded) {
    const Place p;
    for (const std::vector<std::string>& names :
         std::vector<std::vector<std::string>>{{p.at("out.webp")}, {p.at("out.png"), "--compare", p.at("both.webp")}}) {
        std::vector<std::string> arguments{"upscale", p.at("none.png")};
        arguments.insert(arguments.end(), names.begin(), names.end());
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 1);
        EXPECT_NE(o.err.find(".webp"), std::string::npos) << o.err;
    }
}

TEST(CliUpscale, ASignalLeavesNoFileAndItsOwnExitCode) {
    for (const int number : {SIGTERM, SIGHUP}) {
        const Place p;
        const std::string model = p.model();
        const std::string in = p.picture("in.png", 3000, 3000);
        const Started program(p, {"upscale", in, p.at("out.png"), "--model", model, "--tile", "32", "--json"});
        program.wait_until([&] { return p.files() >= 5; });
        program.signal(number);
        const Outcome o = program.wait();
        EXPECT_EQ(o.exit_code, 128 + number) << o.err;
        EXPECT_EQ(o.err, "backplane: cancelled: nothing was written\n");
        EXPECT_NE(o.out.find("\"cancelled\""), std::string::npos) << o.out;
        EXPECT_EQ(p.files(), 2U);
    }
}

TEST(CliUpscale, WhatAKilledRunLeftTheNextOneSweeps) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture("in.png", 3000, 3000);
    const std::vector<std::string> arguments{"upscale", in, p.at("out.png"), "--model", model, "--tile", "32"};
    const Started killed(p, arguments);
    killed.wait_until([&] { return p.files() >= 5; });
    killed.signal(SIGKILL);
    EXPECT_EQ(killed.wait().exit_code, 128 + SIGKILL);
    ASSERT_EQ(p.files(), 3U) << "the model, the input, and what was being written";
    EXPECT_EQ(run(p, {"upscale", p.picture("small.png"), p.at("other.png"), "--model", model}).exit_code, 0);
    EXPECT_EQ(p.files(), 4U) << "the model, two inputs, one output";
}

TEST(CliUpscale, ProgressIsLinesWhereItIsAskedForAndThereIsNoTerminal) {
    const Place p;
    const std::vector<std::string> arguments{"upscale", p.picture(), p.at("out.png"), "--model", p.model(), "--tile", "8"};
    EXPECT_EQ(run(p, arguments).err, "");
    std::vector<std::string> asked = arguments;
    asked.emplace_back("--progress");
    const Outcome o = run(p, asked);
    EXPECT_NE(o.err.find("upscaling: 100%, "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(" tiles"), std::string::npos) << o.err;
    EXPECT_LE(std::count(o.err.begin(), o.err.end(), '\n'), 10);
    EXPECT_EQ(o.err.find('\033'), std::string::npos);
}

TEST(CliUpscale, WeightsThatAreNotThereAreSoughtWhereAProgramMayHaveThem) {
    const Place p;
    fs::create_directories(p.at("usr/bin"));
    fs::copy_file(BP_TEST_CLI, p.at("usr/bin/backplane"));
    const std::string err = run(p, {"tune", "--models", p.at("none")}).err;
    EXPECT_NE(err.find("esrgan-medium-x2.gguf"), std::string::npos) << "the default of upscale: " << err;
    for (const std::string& command : {std::string("upscale in.png out.png"), std::string("tune")}) {
        const Outcome o = shell(p, "cd " + p.at("usr") + " && " + (command[0] == 'u' ? "cp " + p.picture() + " . && " : "") +
                                       "./bin/backplane " + command);
        EXPECT_EQ(o.exit_code, 1);
        EXPECT_EQ(o.err.find(" " + p.at("models") + ";"), std::string::npos)
            << "not two folders above an installed program: " << o.err;
        EXPECT_EQ(o.err.find("scripts/"), std::string::npos) << "users of a package have none: " << o.err;
        EXPECT_NE(o.err.find("`backplane model fetch esrgan-"), std::string::npos) << o.err;
    }
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
            const auto json = base::Json::parse(o.out);
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

TEST(CliUpscale, WhatMakesNoSenseForManyIsRefusedBeforeAnythingIsDone) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture();
    fs::create_directories(p.at("a"));
    fs::create_directories(p.at("b"));
    fs::create_directories(p.at("out"));
    p.picture("a/x.png");
    p.picture("b/x.png");
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{in},
                                               {in, p.at("b/x.png"), p.at("out")},
                                               {in, "--output", p.at("missing")},
                                               {in, "--output", in},
                                               {in, "--output", p.at("")},
                                               {p.at("a"), p.at("b"), "--output", p.at("out")},
                                               {p.at("a"), "--output", p.at("a")},
                                               {p.at("a"), "--output", p.at("out"), "--compare", p.at("both.png")},
                                               {"--output", p.at("out")},
                                               {"--manifest", in}}) {
        std::vector<std::string> all{"upscale", "--model", model};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const Outcome o = run(p, all);
        EXPECT_EQ(o.exit_code, 2) << o.err;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
    EXPECT_TRUE(fs::is_empty(p.at("out")));
    fs::create_directory(p.at("empty"));
    EXPECT_EQ(run(p, {"upscale", p.at("empty"), "--output", p.at("out"), "--model", model}).exit_code, 1);
    EXPECT_TRUE(fs::is_empty(p.at("out")));
}

TEST(CliUpscale, TwoAtOnceInOneFolderAreTwoTooMany) {
    const Place p;
    const std::string model = p.model();
    fs::create_directories(p.at("in"));
    fs::create_directories(p.at("out"));
    p.picture("in/large.png", 3000, 3000);
    const Place other;
    const Started first(other, {"upscale", p.at("in"), "--output", p.at("out"), "--model", model, "--tile", "32"});
    first.wait_until([&] { return !fs::is_empty(p.at("out")); });
    const Outcome second = run(p, {"upscale", p.at("in"), "--output", p.at("out"), "--model", model});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_NE(second.err.find("another process"), std::string::npos) << second.err;
    first.signal(SIGINT);
    const Outcome o = first.wait();
    EXPECT_EQ(o.exit_code, 130) << o.err;
    EXPECT_NE(o.err.find("the file is not done"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace backplane::e2e
