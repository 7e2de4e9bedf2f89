#include "batch/inputs.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "backplane/error.hpp"
#include "support/system.hpp"

namespace backplane::batch {
namespace {

namespace fs = std::filesystem;

class Inputs : public testing::Test {
protected:
    ~Inputs() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    std::string add(const std::string& name, const std::string& text = "x") const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return (folder_ / name).string();
    }
    std::string list(const std::string& text) const { return add("list.txt", text); }
    Error refused(const std::string& text) const {
        try {
            listed_inputs(list(text));
        } catch (const Error& error) {
            return error;
        }
        ADD_FAILURE() << "not refused: " << text;
        return {Code::ok, ""};
    }

    const fs::path folder_ = test::make_temporary_folder();
    static constexpr std::string_view kEndings[] = {".wav", ".mp3"};
    const Kind kind_{kEndings, "audio", "WAV or MP3"};
};

TEST_F(Inputs, AListThatIsNoneIsRefusedByItsLine) {
    EXPECT_EQ(refused("").code(), Code::corrupt);
    EXPECT_EQ(refused("\n# nothing\n\n").code(), Code::corrupt);
    for (const char* line :
         {"{", "{}", "{\"audio_filepath\":7}", "{\"file\":\"a\",\"duration\":\"long\"}", "{\"file\":\"a\"} x"}) {
        const Error error = refused("a.wav\n" + std::string(line) + "\n");
        EXPECT_EQ(error.code(), Code::corrupt) << line;
        EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
    EXPECT_EQ(refused(std::string("RIFF\0\0\0", 7)).code(), Code::corrupt) << "a file of sound where the list should be";
    EXPECT_THROW(listed_inputs((folder_ / "none").string()), Error);
    EXPECT_THROW(listed_inputs(folder_.string()), Error);
}

TEST_F(Inputs, AListHasPathsOrJsonRelativeToItself) {
    const auto found = listed_inputs(
        list("a.wav\r\n\n# no\nsub/b c.wav\n{\"audio_filepath\": \"c.wav\", \"duration\": 2.5, \"text\": \"x\"}\n"
             "{\"file\":\"/abs/d.wav\"}\nlast.wav"));
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(fs::path(found[0].name), folder_ / "a.wav");
    EXPECT_EQ(fs::path(found[1].name), folder_ / "sub/b c.wav");
    EXPECT_EQ(fs::path(found[2].name), folder_ / "c.wav");
    EXPECT_EQ(found[2].work, 2.5);
    EXPECT_EQ(fs::path(found[4].name), folder_ / "last.wav");
}

TEST_F(Inputs, AFolderIsItsFilesOfTheKindAndNoOthers) {
    add("b.WAV");
    add("a.mp3");
    add("c.txt");
    add(".hidden.wav");
    fs::create_directory(folder_ / "folder.wav");
    const auto found = named_inputs({folder_.string(), "named.txt", "-"}, kind_);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(fs::path(found[0].name), folder_ / "a.mp3");
    EXPECT_EQ(fs::path(found[1].name), folder_ / "b.WAV");
    EXPECT_EQ(found[2].name, "named.txt") << "who names a file means it";
    EXPECT_EQ(found[3].name, "-");
    fs::create_directory(folder_ / "empty");
    EXPECT_THROW(named_inputs({(folder_ / "empty").string()}, kind_), Error);
    const auto others = named_inputs({(folder_ / "empty").string(), "named.txt"}, kind_);
    ASSERT_EQ(others.size(), 2U) << "an empty folder is a bad file among others, and does not end them";
    EXPECT_EQ(fs::path(others[0].name), folder_ / "empty");
}

}  // namespace
}  // namespace backplane::batch
