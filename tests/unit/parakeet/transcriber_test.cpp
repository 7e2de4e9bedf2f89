// Transcriber: windows, batches, streams and sources give one text; the device that is asked for runs the network.
#include "backplane/transcriber.hpp"

#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

class TranscriberTest : public ::testing::Test {
protected:
    TranscriberTest() {
        write_random_network(folder / "tiny.gguf", tiny_transducer({0, 1, 2, 3, 4}), {.seed = 21, .blank = 1});
    }
    [[nodiscard]] Transcriber transcriber(TranscriberOptions options = {}, const char* device = "cpu") const {
        return {{device_of(device)}, folder / "tiny.gguf", options};
    }
    // Bursts of sound with half a second of nothing between them.
    static std::vector<float> bursts(int count) {
        std::vector<float> all;
        for (int i = 0; i < count; ++i) {
            const std::vector<float> one = random_sound(16000 * 2, static_cast<unsigned>(i));
            all.insert(all.end(), one.begin(), one.end());
            all.resize(all.size() + 8000);
        }
        return all;
    }
    static void expect_same(const Transcript& a, const Transcript& b) {
        EXPECT_EQ(a.text, b.text);
        ASSERT_EQ(a.words.size(), b.words.size());
        for (size_t i = 0; i < a.words.size(); ++i) EXPECT_NEAR(a.words[i].start, b.words[i].start, 1e-9);
        EXPECT_NEAR(a.seconds, b.seconds, 1e-9);
    }

    TemporaryFolder folder;
};

TEST_F(TranscriberTest, ASourceOfAnyPiecesAndBatchesOfAnySizeGiveTheSameWords) {
    const std::vector<float> sound = bursts(12);
    const Transcript whole = transcriber({.window = 6}).transcribe(sound);
    EXPECT_NEAR(whole.seconds, 30, 1e-9);
    EXPECT_GT(whole.words.size(), 3U);
    for (size_t i = 1; i < whole.words.size(); ++i) EXPECT_LE(whole.words[i - 1].start, whole.words[i].start);
    for (const size_t piece : {1000U, 16001U, 1000000U}) {
        size_t at = 0;
        expect_same(transcriber({.window = 6}).transcribe([&](std::span<float> into) {
            const size_t n = std::min({piece, into.size(), sound.size() - at});
            std::copy_n(sound.begin() + static_cast<std::ptrdiff_t>(at), n, into.begin());
            at += n;
            return n;
        }),
                    whole);
    }
    expect_same(transcriber({.window = 6, .batch = 3}).transcribe(sound), whole);
}

TEST_F(TranscriberTest, ClipsTogetherAreAsTheyAreAloneAndEmptyOnesSayNothing) {
    const std::vector<std::vector<float>> clips{
        bursts(3), {}, random_sound(100, 1), random_sound(9000, 2), std::vector<float>(16000)};
    const std::vector<std::span<const float>> spans(clips.begin(), clips.end());
    Transcriber several = transcriber({.window = 6, .batch = 4});
    const std::vector<Transcript> all = several.transcribe(spans);
    ASSERT_EQ(all.size(), clips.size());
    for (size_t i = 0; i < clips.size(); ++i) expect_same(all[i], transcriber({.window = 6}).transcribe(clips[i]));
    EXPECT_TRUE(all[1].text.empty());
    EXPECT_EQ(all[1].seconds, 0);
    EXPECT_TRUE(all[2].text.empty());
}

TEST_F(TranscriberTest, AStreamEndsItsLinesInPausesWithTheTimesOfTheWhole) {
    std::vector<float> sound = bursts(2);
    sound.resize(sound.size() + 16000);
    const std::vector<float> more = bursts(1);
    sound.insert(sound.end(), more.begin(), more.end());
    Transcriber network = transcriber();
    TranscriptStream stream = network.stream();
    std::vector<StreamedLine> finals;
    size_t partial = 0;
    const auto take = [&](const std::vector<StreamedLine>& lines) {
        for (const StreamedLine& line : lines) {
            EXPECT_FALSE(line.said.words.empty());
            partial += line.final ? 0 : 1;
            if (line.final) finals.push_back(line);
        }
    };
    for (size_t at = 0; at < sound.size(); at += 777)
        take(stream.feed(std::span(sound).subspan(at, std::min<size_t>(777, sound.size() - at))));
    take(stream.finish());
    EXPECT_GT(partial, 0U);
    ASSERT_GE(finals.size(), 2U);
    double last = 0;
    for (const StreamedLine& line : finals)
        for (const Word& word : line.said.words) {
            EXPECT_GE(word.start, last);
            last = word.start;
        }
    EXPECT_GE(finals.back().said.words.front().start, 5) << "times go on over lines";
    EXPECT_TRUE(stream.finish().empty());
}

TEST_F(TranscriberTest, TheDeviceThatIsGivenRunsAllOfIt) {
    for (const char* device : {"cpu", "reference"}) {
        Transcriber network = transcriber({}, device);
        static_cast<void>(network.transcribe(random_sound(8000, 1)));
        const std::string plan = network.describe();
        EXPECT_NE(plan.find(std::string("stage 1 on ") + device + ":0"), std::string::npos) << plan;
        EXPECT_EQ(plan.find("stage 2"), std::string::npos) << plan;
        EXPECT_NE(plan.find("Attention x 2"), std::string::npos) << plan;
        EXPECT_TRUE(network.notes().empty());
        EXPECT_EQ(network.device().info().backend, device);
    }
}

TEST_F(TranscriberTest, DecodersAreThoseOfTheNetworkAndOthersAreRefusedByName) {
    EXPECT_EQ(transcriber().decoder(), SpeechDecoder::tdt);
    EXPECT_EQ(transcriber({.decoder = SpeechDecoder::ctc}).decoder(), SpeechDecoder::ctc);
    expect_error([&] { static_cast<void>(transcriber({.decoder = SpeechDecoder::rnnt})); }, Code::unsupported, "ctc tdt");
    expect_error([&] { static_cast<void>(transcriber({.window = 1})); }, Code::invalid, "5 to 1200");
    expect_error([&] { static_cast<void>(transcriber({.batch = -1})); }, Code::invalid, "0 to 1024");
    expect_error([&] { static_cast<void>(transcriber({.dtype = DType::i8})); }, Code::invalid, "f32 or f16");
    expect_error([&] { static_cast<void>(Transcriber({device_of("cpu")}, folder / "none.gguf")); }, Code::not_found,
                 "none.gguf");
    expect_error([&] { static_cast<void>(Transcriber({}, folder / "tiny.gguf")); }, Code::invalid, "no device");
}

TEST_F(TranscriberTest, ProgressCountsEachSecondOnceAndAFlagEndsIt) {
    const std::vector<float> sound = bursts(12);
    std::vector<double> seen;
    TranscribeHooks hooks;
    std::atomic<uint32_t> cancel{0};
    hooks.cancel = &cancel;
    hooks.progress = [&](double seconds) { seen.push_back(seconds); };
    static_cast<void>(transcriber({.window = 6}).transcribe(sound, hooks));
    ASSERT_GT(seen.size(), 4U);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_NEAR(seen.back(), 30, 1e-9);
    hooks.progress = [&](double) { cancel = 1; };
    expect_error([&] { static_cast<void>(transcriber({.window = 6}).transcribe(sound, hooks)); }, Code::cancelled, "");
}

}  // namespace
}  // namespace backplane::parakeet
