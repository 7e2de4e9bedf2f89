// transcribe --format: what a network says may be anything, and stays text in every format.
#include <gtest/gtest.h>

#include <cmath>

#include "parakeet_folder.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

const std::string kExample = std::string(BP_TEST_SOURCE_DIR) + "/models/parakeet-mini/example.flac";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

class TranscriptText : public ::testing::Test {
protected:
    // Every piece is one that would act in one format or another.
    TranscriptText() {
        Json vocabulary = Json::object();
        vocabulary["<unk>"] = 0;
        for (int id = 1; id < 8; ++id) vocabulary["\u2581<b>" + std::to_string(id) + "&\n\n1\n--> \t"] = id;
        network_.tokenizer["model"]["vocab"] = vocabulary;
        for (auto& [name, tensor] : network_.tensors)  // a variance is not below zero
            for (size_t sign = 3; name.ends_with("running_var") && sign < tensor.bytes.size(); sign += 4)
                tensor.bytes[sign] = static_cast<char>(tensor.bytes[sign] & 0x7F);
        network_.write();
    }
    std::string said(const std::vector<std::string>& how) {
        std::vector<std::string> arguments{"transcribe", kExample, "--device", "cpu", "--model", (network_ / "").string()};
        arguments.insert(arguments.end(), how.begin(), how.end());
        const Outcome o = run(place_, arguments);
        EXPECT_EQ(o.exit_code, 0) << o.err;
        return o.out;
    }
    ParakeetFolder network_;
    const Place place_;
};

TEST_F(TranscriptText, NoWordIsMarkupOrATimeOrTheEndOfASubtitle) {
    const std::vector<std::string> srt = lines_of(said({"--format", "srt"})), vtt = lines_of(said({"--format", "vtt"}));
    ASSERT_GE(srt.size(), 4U);
    ASSERT_EQ(srt.size() % 4, 0U) << "a number, times, text, nothing";
    for (size_t i = 0; i < srt.size(); i += 4) {
        EXPECT_EQ(srt[i], std::to_string(i / 4 + 1));
        EXPECT_EQ(srt[i + 1].find(" --> "), 12U) << srt[i + 1];
        EXPECT_EQ(srt[i + 2].rfind("<b>", 0), 0U) << srt[i + 2];
        EXPECT_EQ(srt[i + 3], "");
    }
    ASSERT_EQ(vtt.size(), 2 + srt.size() / 4 * 3);
    for (size_t i = 2; i < vtt.size(); i += 3) {
        EXPECT_EQ(vtt[i].find(" --> "), 12U) << vtt[i];
        EXPECT_EQ(vtt[i + 1].rfind("&lt;b&gt;", 0), 0U) << vtt[i + 1];
        EXPECT_EQ(vtt[i + 1].find_first_of("<>"), std::string::npos) << vtt[i + 1];
        EXPECT_NE(vtt[i + 1].find("&amp;"), std::string::npos) << vtt[i + 1];
    }
    for (const std::string& line : lines_of(said({"--format", "tsv"})))
        EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 3) << line;
    for (const std::string& line : lines_of(said({"--timestamps"}))) EXPECT_EQ(line.rfind("[00:00:0", 0), 0U) << line;
}

TEST_F(TranscriptText, TheShortestWindowIsOneAndNoNumberIsNone) {
    EXPECT_FALSE(said({"--window", "5"}).empty());
    for (const char* window : {"nan", "-nan", "4.9", "1e9", "inf"}) {
        const Outcome o = run(place_, {"transcribe", kExample, "--model", "net.gguf", "--window", window});
        EXPECT_EQ(o.exit_code, 2) << window;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find("--window"), std::string::npos) << o.err;
    }
}

TEST_F(TranscriptText, NumbersOfJsonHaveThreeAndFourDecimals) {
    const Json said_of = Json::parse(said({"--format", "json"}));
    const auto is_rounded = [](const Json& number, double parts) {
        const double scaled = number.get<double>() * parts;
        return std::abs(scaled - std::round(scaled)) < 1e-6;
    };
    EXPECT_TRUE(is_rounded(said_of["seconds"], 1e3)) << said_of["seconds"].dump();
    ASSERT_GT(said_of["words"].size(), 0U);
    for (const Json& word : said_of["words"]) {
        EXPECT_TRUE(is_rounded(word["start"], 1e3) && is_rounded(word["end"], 1e3)) << word.dump();
        EXPECT_TRUE(is_rounded(word["confidence"], 1e4)) << word.dump();
    }
}

TEST_F(TranscriptText, TheNameOfTheOutputSaysItsFormatWhereNothingElseDoes) {
    for (const std::string format : {"srt", "vtt", "tsv", "json"}) {
        said({"--output", place_.at("a." + format)});
        said({"--output", place_.at("b.txt"), "--format", format});
        EXPECT_EQ(content(place_.at("a." + format)), content(place_.at("b.txt"))) << format;
    }
    said({"--output", place_.at("a.srt"), "--format", "text"});
    said({"--output", place_.at("a.txt")});
    said({"--output", place_.at("a")});
    EXPECT_EQ(content(place_.at("a.srt")), content(place_.at("a.txt")));
    EXPECT_EQ(content(place_.at("a")), content(place_.at("a.txt")));
    EXPECT_NE(content(place_.at("a.txt")), content(place_.at("a.vtt")));
    fs::create_directory(place_.at("folder.srt"));
    said({"--output", place_.at("folder.srt")});
    EXPECT_TRUE(fs::exists(place_.at("folder.srt/example.txt")));
}

}  // namespace
}  // namespace backplane::e2e
