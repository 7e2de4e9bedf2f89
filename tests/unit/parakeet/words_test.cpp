// Words of tokens, words of windows that overlap, and where windows are cut.
#include "models/parakeet/words.hpp"

#include "models/parakeet/pauses.hpp"
#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

Word word(const char* text, double start) { return {text, start, start + 0.3, 1}; }

std::string joined(std::vector<Word> all, std::vector<Word> next, double from, double to) {
    append_overlapping(all, std::move(next), from, to);
    for (size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].start, all[i].start);
    return text_of(all);
}

TEST(Words, BeginWithASpaceAndHaveTheTimesOfTheirTokens) {
    const TemporaryFolder folder;
    write_random_network(folder / "tiny.gguf", tiny_config(), {});
    const ModelFile file = ModelFile::open(folder / "tiny.gguf");
    // Pieces by turns begin a word or do not: 1 "_b", 2 "c", 3 "_d".
    const std::vector<Token> tokens{{2, 1, 1, 0.5F}, {1, 3, 2, 1}, {2, 5, 1, 0.5F}, {3, 9, 0, 0.25F}};
    const std::vector<Word> words = words_of(file, tokens, 0.08, 100, 0.75);
    ASSERT_EQ(words.size(), 3U);
    EXPECT_EQ(text_of(words), "c bc d");
    EXPECT_NEAR(words[1].start, 100.24, 1e-9);
    EXPECT_NEAR(words[1].end, 100.48, 1e-9);
    EXPECT_NEAR(words[1].confidence, 0.75, 1e-9);
    EXPECT_NEAR(words[2].start, 100.72, 1e-9);
    EXPECT_NEAR(words[2].end, 100.75, 1e-9) << "no word ends behind the clip";
    EXPECT_TRUE(words_of(file, std::span<const Token>(), 0.08, 0, 1).empty());
}

TEST(Words, OfWindowsThatShareAPauseFollowEachOther) {
    EXPECT_EQ(joined({word("a", 1), word("b", 2)}, {word("c", 5)}, 4, 4), "a b c");
    EXPECT_EQ(joined({}, {word("c", 5)}, 0, 0), "c");
    EXPECT_EQ(joined({word("a", 1)}, {}, 4, 4), "a");
    EXPECT_EQ(joined({word("a", 3.9)}, {word("a", 4)}, 4, 4), "a a") << "a pause is between them: it was said twice";
}

TEST(Words, ThatTwoWindowsHeardAreThereOnce) {
    // Both heard all of it.
    EXPECT_EQ(joined({word("a", 8), word("b", 10.2), word("c", 11), word("d", 12)},
                     {word("b", 10.3), word("c", 11.1), word("d", 11.9), word("e", 14)}, 10, 13),
              "a b c d e");
    // The edges of windows are heard wrongly.
    EXPECT_EQ(joined({word("a", 8), word("b", 10.2), word("c", 11.4), word("dog", 12.8)},
                     {word("ee", 10.0), word("c", 11.5), word("d", 12.7), word("e", 14)}, 10, 13),
              "a b c d e");
    // Nothing alike: each has its half.
    EXPECT_EQ(
        joined({word("a", 8), word("b", 10.2), word("x", 12)}, {word("y", 10.3), word("d", 12), word("e", 14)}, 10, 13),
        "a b d e");
    // A word across the middle, which one places before it and the other behind, heard differently.
    EXPECT_EQ(joined({word("a", 8), word("their", 11.3)}, {word("there", 11.4), word("e", 14)}, 10, 13), "a their e");
    // One of them heard nothing there.
    EXPECT_EQ(joined({word("a", 8)}, {word("e", 14)}, 10, 13), "a e");
    // A word said twice within the overlap stays twice.
    EXPECT_EQ(joined({word("no", 10.5), word("no", 11.5)}, {word("no", 10.5), word("no", 11.5), word("e", 14)}, 10, 13),
              "no no e");
}

TEST(Pauses, AreFoundWhereNothingIsSaid) {
    std::vector<float> sound = random_sound(16000 * 10, 1);
    std::fill(sound.begin() + 16000 * 6, sound.begin() + 16000 * 7, 0.0F);
    const Cut cut = quietest(sound, 16000, 16000 * 5, 16000 * 9);
    EXPECT_TRUE(cut.quiet);
    EXPECT_GE(cut.at, 16000U * 6 + 2000);
    EXPECT_LE(cut.at, 16000U * 7 - 2000);
    // Not where it may not be cut.
    EXPECT_GE(quietest(sound, 16000, 16000 * 8, 16000 * 9).at, 16000U * 8);
}

TEST(Pauses, AreNotSeenWhereSoundGoesOn) {
    std::vector<float> sound(16000 * 10);
    for (size_t i = 0; i < sound.size(); ++i) sound[i] = 0.3F * std::sin(0.1F * static_cast<float>(i));
    const Cut cut = quietest(sound, 16000, 16000 * 5, 16000 * 9);
    EXPECT_FALSE(cut.quiet);
    EXPECT_GE(cut.at, 16000U * 5);
    EXPECT_LE(cut.at, 16000U * 9);
}

TEST(Pauses, AtBothEndsAreMeasuredAndAllIsQuietWhereNothingIsLoud) {
    std::vector<float> sound(16000 * 3);
    const std::vector<float> voice = random_sound(16000, 2);
    std::copy(voice.begin(), voice.end(), sound.begin() + 16000);
    const Quiet quiet = quiet_ends(sound, 16000);
    EXPECT_NEAR(static_cast<double>(quiet.lead), 16000, 2400);
    EXPECT_NEAR(static_cast<double>(quiet.trail), 16000, 2400);
    const std::vector<float> nothing(8000);
    EXPECT_EQ(quiet_ends(nothing, 16000).lead, 8000U);
    EXPECT_EQ(quiet_ends(std::span<const float>(), 16000).lead, 0U);
}

}  // namespace
}  // namespace backplane::parakeet
