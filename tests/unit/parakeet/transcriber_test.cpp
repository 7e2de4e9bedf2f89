// Transcriber: windows, batches, streams and sources give one text; the device that is asked for runs the network.
#include "backplane/transcriber.hpp"

#include <fstream>

#include "models/parakeet/convert.hpp"
#include "tiny_network.hpp"
#include "vad_file.hpp"

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
    // Two seconds that both the network and the tests' voice detector hear.
    static void add_voice(std::vector<float>& sound, int i) {
        silero::add_tone(sound, 2, 0.12F);
        const std::vector<float> voice = random_sound(32000, static_cast<unsigned>(i));
        for (size_t k = 0; k < voice.size(); ++k) sound[sound.size() - voice.size() + k] += voice[k];
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

// From bytes to four and six bits a weight: the words of the clip stay.
TEST_F(TranscriberTest, TheNetworkOfTheRepositorySaysTheSameInSmallerBlocks) {
    std::ifstream file(std::filesystem::path(BP_TEST_SOURCE_DIR) / "tests/e2e/speech/clip.pcm", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<float> clip(bytes.size() / 2);
    for (size_t i = 0; i < clip.size(); ++i)
        clip[i] = static_cast<float>(static_cast<int16_t>(static_cast<uint8_t>(bytes[2 * i]) |
                                                          static_cast<uint8_t>(bytes[2 * i + 1]) << 8)) /
                  32768.0F;
    const ModelFile own = ModelFile::open(std::filesystem::path(BP_OWN_MODELS) / "parakeet-mini/parakeet-mini-q8_0.gguf");
    for (const DType dtype : {DType::q6_k, DType::q4_k}) {
        write_gguf(own, dtype, folder / "small.gguf");
        for (const SpeechDecoder decoder : {SpeechDecoder::ctc, SpeechDecoder::tdt})
            EXPECT_EQ(Transcriber({device_of("cpu")}, folder / "small.gguf", {.decoder = decoder}).transcribe(clip).text,
                      "there are many things that can be said")
                << name_of(dtype);
    }
}

TEST_F(TranscriberTest, DecodersAreThoseOfTheNetworkAndOthersAreRefusedByName) {
    EXPECT_EQ(transcriber().decoder(), SpeechDecoder::tdt);
    EXPECT_EQ(transcriber({.decoder = SpeechDecoder::ctc}).decoder(), SpeechDecoder::ctc);
    expect_error([&] { static_cast<void>(transcriber({.decoder = SpeechDecoder::rnnt})); }, Code::unsupported, "ctc tdt");
    for (const double window : {1.0, 1201.0, std::numeric_limits<double>::quiet_NaN()})
        expect_error([&] { static_cast<void>(transcriber({.window = window})); }, Code::invalid, "5 to 1200");
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

TEST_F(TranscriberTest, TheVoiceDetectorBesideTheNetworkOrTheOneThatIsNamedFindsPauses) {
    const silero::ToneDetector file;
    const std::filesystem::path elsewhere = file.write();
    EXPECT_EQ(transcriber().pauses_by(), "energy");
    EXPECT_NE(transcriber().describe().find("pauses: by energy"), std::string::npos);
    Transcriber named = transcriber({.vad = elsewhere.string()});
    EXPECT_EQ(named.pauses_by(), "silero-vad");
    EXPECT_NE(named.describe().find("pauses: by Silero VAD of '" + elsewhere.string() + "' on cpu:0"), std::string::npos);
    std::filesystem::copy_file(elsewhere, folder / "silero-vad.onnx");
    EXPECT_EQ(transcriber().pauses_by(), "silero-vad");
    EXPECT_EQ(transcriber({.vad = "never"}).pauses_by(), "energy");
    expect_error([&] { static_cast<void>(transcriber({.vad = (folder / "none.onnx").string()})); }, Code::not_found,
                 "none.onnx");
    expect_error([&] { static_cast<void>(transcriber({.vad = (folder / "tiny.gguf").string()})); }, Code::corrupt,
                 "tiny.gguf");
    write_file(folder / "silero-vad.onnx", "cut off");
    expect_error([&] { static_cast<void>(transcriber()); }, Code::corrupt, "silero-vad.onnx");
}

TEST_F(TranscriberTest, WhatHasNoSpeechIsLeftOutOfLongAudioAndCountsAsDone) {
    const silero::ToneDetector file;
    const TranscriberOptions options{.window = 6, .vad = file.write().string()};
    std::vector<float> sound;
    for (int i = 0; i < 4; ++i) {
        add_voice(sound, i);
        silero::add_hum(sound, 7, 0.2F);
    }
    std::vector<double> seen;
    TranscribeHooks hooks;
    hooks.progress = [&](double seconds) { seen.push_back(seconds); };
    Transcriber network = transcriber(options);
    const Transcript said = network.transcribe(sound, hooks);
    EXPECT_NEAR(said.seconds, 36, 1e-9);
    ASSERT_EQ(seen.size(), 5U) << "each stretch of speech, and the end";
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_NEAR(seen.back(), 36, 1e-9);
    ASSERT_FALSE(said.words.empty());
    for (const Word& word : said.words) EXPECT_LE(std::fmod(word.start + 0.6, 9), 3.2) << word.start;
    bool heard = false;
    for (const NetworkRuns& ran : network.runs())
        heard = heard || (ran.part == "pauses" && ran.device == "cpu:0" && ran.runs > 40);
    EXPECT_TRUE(heard);
    expect_same(transcriber(options).transcribe(sound), said);
    expect_same(transcriber({.window = 6, .batch = 3, .vad = options.vad}).transcribe(sound), said);
}

TEST_F(TranscriberTest, AStreamEndsItsLinesWhereTheVoiceDetectorHearsNothing) {
    const silero::ToneDetector file;
    std::vector<float> sound;
    silero::add_hum(sound, 3, 0.2F);
    for (int i = 0; i < 3; ++i) {
        add_voice(sound, i);
        silero::add_hum(sound, 1, 0.2F);
    }
    Transcriber network = transcriber({.vad = file.write().string()});
    TranscriptStream stream = network.stream();
    std::vector<StreamedLine> lines;
    const auto take = [&](const std::vector<StreamedLine>& some) {
        std::copy_if(some.begin(), some.end(), std::back_inserter(lines), [](const auto& line) { return line.final; });
    };
    for (size_t at = 0; at < sound.size(); at += 1600)
        take(stream.feed(std::span(sound).subspan(at, std::min<size_t>(1600, sound.size() - at))));
    take(stream.finish());
    ASSERT_GE(lines.size(), 2U);
    for (const StreamedLine& line : lines) {
        const double first = line.said.words.front().start, last = line.said.words.back().start;
        EXPECT_EQ(std::floor((first + 0.7) / 3), std::floor((last + 0.7) / 3))
            << first << " to " << last << ": two sentences";
        EXPECT_GE(first, 3 - 0.7);
    }
}

}  // namespace
}  // namespace backplane::parakeet
