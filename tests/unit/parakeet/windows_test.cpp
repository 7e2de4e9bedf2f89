// Windows of a clip: where it is cut, by a voice detector and by energy, and what is in no window.
#include "models/parakeet/windows.hpp"

#include "models/silero/voice_detector.hpp"
#include "tiny_network.hpp"
#include "vad_file.hpp"

namespace backplane::parakeet {
namespace {

using silero::add_hum;
using silero::add_tone;
using silero::Values;
using silero::VoiceDetector;

class WindowsTest : public ::testing::Test {
protected:
    [[nodiscard]] Cutting by_voice() { return {16000, 160000, &voices}; }
    static Cutting by_energy() { return {16000, 160000, nullptr}; }

    // All of a sound that comes in pieces of this many samples; `read` is what the last says that it was.
    std::vector<Window> windows_of(const Values& sound, const Cutting& cutting, size_t piece = 100000) {
        size_t at = 0;
        const SampleSource source = [&](std::span<float> into) {
            const size_t n = std::min({piece, into.size(), sound.size() - at});
            std::copy_n(sound.begin() + static_cast<std::ptrdiff_t>(at), n, into.begin());
            at += n;
            return n;
        };
        Windows windows(source, 3, cutting);
        std::vector<Window> all;
        while (auto window = windows.next(nullptr)) all.push_back(std::move(*window));
        read = windows.read();
        return all;
    }
    // In order, within their length, with the sound's own samples; what is in none and what is in two is what they say.
    void expect_of(const std::vector<Window>& windows, const Values& sound) const {
        EXPECT_EQ(read, sound.size());
        uint64_t end = 0;
        for (const Window& w : windows) {
            EXPECT_EQ(w.clip, 3U);
            EXPECT_LE(w.samples.size(), 160000U);
            EXPECT_EQ(w.start + w.overlap, end + w.passed);
            ASSERT_LE(w.start + w.samples.size(), sound.size());
            EXPECT_TRUE(
                std::equal(w.samples.begin(), w.samples.end(), sound.begin() + static_cast<std::ptrdiff_t>(w.start)));
            end = w.start + w.samples.size();
        }
    }

    TemporaryFolder folder;
    silero::ToneDetector file;
    VoiceDetector voices{{device_of("cpu")}, silero::VoiceNetwork::open(file.write())};
    uint64_t read = 0;
};

// Sentences of 2.6 seconds, 0.8 apart, between which it hums more loudly than they are.
TEST_F(WindowsTest, LoudNoiseBetweenSentencesIsAPauseForTheVoiceDetectorAndNotForEnergy) {
    Values sound;
    for (int i = 0; i < 12; ++i) {
        add_tone(sound, 2.6);
        add_hum(sound, 0.8);
    }
    const auto in_pause = [](uint64_t sample) {  // with what the detector takes to hear it
        const double second = static_cast<double>(sample % 54400) / 16000;
        return second > 2.6 + 0.1 && second < 3.4 - 0.1;
    };
    const std::vector<Window> heard = windows_of(sound, by_voice());
    expect_of(heard, sound);
    ASSERT_GE(heard.size(), 5U);
    for (const Window& w : heard) {
        EXPECT_EQ(w.overlap, 0U);
        EXPECT_EQ(w.passed, 0U);
        const uint64_t end = w.start + w.samples.size();
        EXPECT_TRUE(end == sound.size() || in_pause(end)) << end;
    }
    const std::vector<Window> quietest = windows_of(sound, by_energy());
    expect_of(quietest, sound);
    EXPECT_TRUE(std::any_of(quietest.begin(), quietest.end() - 1, [&](const Window& w) {
        return !in_pause(w.start + w.samples.size());
    })) << "energy is not fooled: the test has lost its point";
}

TEST_F(WindowsTest, LongStretchesWithoutSpeechAreInNoWindowAndAllSpeechIs) {
    Values sound;
    add_hum(sound, 4);
    const size_t first = sound.size();
    add_tone(sound, 3);
    add_hum(sound, 20);
    const size_t second = sound.size();
    add_tone(sound, 3);
    add_hum(sound, 9);
    const std::vector<Window> windows = windows_of(sound, by_voice());
    expect_of(windows, sound);
    ASSERT_EQ(windows.size(), 2U);
    const size_t begins[] = {first, second};
    for (size_t i = 0; i < 2; ++i) {
        const uint64_t from = windows[i].start, to = from + windows[i].samples.size();
        EXPECT_NEAR(static_cast<double>(from), static_cast<double>(begins[i]) - 8000, 1600) << "half a second before";
        EXPECT_NEAR(static_cast<double>(to), static_cast<double>(begins[i]) + 48000 + 8000, 1600) << "half a second behind";
        EXPECT_GT(windows[i].passed, 40000U);
    }
    for (const Window& w : windows_of(sound, by_energy())) EXPECT_EQ(w.passed, 0U) << "energy leaves nothing out";
}

TEST_F(WindowsTest, AClipThatFitsIsOneWindowAndALongOneWithoutSpeechIsNone) {
    Values sound;
    add_hum(sound, 10);
    const std::vector<Window> one = windows_of(sound, by_voice());
    expect_of(one, sound);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].samples.size(), sound.size());
    EXPECT_TRUE(voices.runs().empty()) << "nobody need listen to it";
    add_hum(sound, 31);
    EXPECT_TRUE(windows_of(sound, by_voice()).empty());
    EXPECT_EQ(read, sound.size());
    EXPECT_TRUE(windows_of({}, by_voice()).empty());
    EXPECT_EQ(read, 0U);
}

TEST_F(WindowsTest, SpeechWithoutAPauseIsInWindowsThatShareThreeSeconds) {
    Values sound;
    add_tone(sound, 27);
    const std::vector<Window> windows = windows_of(sound, by_voice());
    expect_of(windows, sound);
    ASSERT_GE(windows.size(), 3U);
    for (size_t i = 1; i < windows.size(); ++i) EXPECT_EQ(windows[i].overlap, 48000U);
}

// The least windows there are, cut as early as can be: what they share must not reach back before their beginning.
TEST_F(WindowsTest, ShortWindowsWithoutAPauseGoOn) {
    Values sound;
    add_tone(sound, 27);
    for (size_t i = 0; i < sound.size(); ++i) sound[i] *= i % 41600 > 36000 ? 0.6F : 1.0F;
    for (const size_t most : {80000U, 81000U, 96000U, 112000U})
        for (Cutting cutting : {by_voice(), by_energy()}) {
            cutting.most = most;
            const std::vector<Window> windows = windows_of(sound, cutting);
            expect_of(windows, sound);
            ASSERT_GE(windows.size(), 4U);
            EXPECT_LE(windows.size(), 27 * 16000 / (most / 4) + 1);
            for (size_t i = 0; i < windows.size(); ++i) {
                EXPECT_LE(windows[i].samples.size(), most);
                EXPECT_LE(windows[i].overlap, std::min<size_t>(48000, windows[i].samples.size()));
                EXPECT_TRUE(i == 0 || windows[i].overlap > 0) << i << " of " << most;
            }
        }
}

TEST_F(WindowsTest, DoNotDependOnThePiecesThatSamplesComeIn) {
    Values sound;
    for (int i = 0; i < 7; ++i) {
        add_tone(sound, 1.7 + i);
        add_hum(sound, 0.4 + i);
    }
    const std::vector<Window> whole = windows_of(sound, by_voice(), sound.size());
    expect_of(whole, sound);
    for (const size_t piece : {777U, 16000U, 160001U}) {
        const std::vector<Window> windows = windows_of(sound, by_voice(), piece);
        ASSERT_EQ(windows.size(), whole.size()) << piece;
        for (size_t i = 0; i < whole.size(); ++i) {
            EXPECT_EQ(windows[i].start, whole[i].start);
            EXPECT_EQ(windows[i].samples, whole[i].samples);
        }
    }
}

TEST_F(WindowsTest, ASampleThatIsNoNumberIsNamedByItsPlaceInTheClip) {
    Values sound;
    add_tone(sound, 15);
    sound[200123] = std::numeric_limits<float>::infinity();
    for (const Cutting& cutting : {by_voice(), by_energy()})
        expect_error([&] { windows_of(sound, cutting); }, Code::invalid, "sample 200123 is no finite number");
}

}  // namespace
}  // namespace backplane::parakeet
