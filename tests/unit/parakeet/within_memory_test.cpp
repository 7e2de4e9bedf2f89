// Transcribing within a budget: fewer and shorter windows at once, then streamed weights; the same words, and never more memory than was given.
#include "backplane/fit.hpp"
#include "backplane/transcriber.hpp"
#include "models/parakeet/recognizer.hpp"
#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

// Large enough for its weights to matter beside feature maps of some seconds.
Config small_transducer() {
    Config config = tiny_transducer({0, 1, 2, 3, 4});
    config.encoder.d_model = 64;
    config.encoder.layers = 8;
    config.encoder.ff_dim = 512;
    return config;
}

class WithinMemory : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        try {
            device_ = device_of(GetParam());
        } catch (const Error&) {
            GTEST_SKIP() << "no " << GetParam() << " here";
        }
        write_random_network(file_, small_transducer(), {.seed = 5, .blank = 0});
        sound_ = random_sound(16000 * 4, 3);
        sound_.resize(sound_.size() + 8000);
        const std::vector<float> more = random_sound(16000 * 2, 4);
        sound_.insert(sound_.end(), more.begin(), more.end());
    }
    Transcriber transcriber(const TranscriberOptions& options) const { return {{device_}, file_, options}; }
    // Needed by windows of so many seconds, all weights there or as few as can be.
    uint64_t needs(int64_t batch, double seconds, bool streamed, DType dtype = DType::f32) const {
        const Recognizer recognizer({device_}, ModelFile::open(file_), dtype, Head::transducer);
        FitOptions how;
        how.streaming = streamed ? Streaming::always : Streaming::never;
        const std::vector<Fit> ways = recognizer.ways(batch, static_cast<size_t>(seconds * 16000), how);
        const Fit* way = best_fit(ways, how.streaming);
        return way != nullptr ? way->needs : 0;
    }
    void expect_said(Transcriber& within, const Transcript& want, uint64_t memory) const {
        TranscribeHooks hooks;
        uint64_t most = 0;
        hooks.progress = [&](double) { most = std::max(most, ledger(device_).held); };
        const Transcript said = within.transcribe(sound_, hooks);
        EXPECT_LE(std::max(most, ledger(device_).held), memory);
        EXPECT_EQ(said.text, want.text);
        ASSERT_EQ(said.words.size(), want.words.size());
        for (size_t i = 0; i < said.words.size(); ++i) EXPECT_EQ(said.words[i].confidence, want.words[i].confidence) << i;
    }
    static std::string notes_of(const Transcriber& transcriber) {
        std::string all;
        for (const std::string& note : transcriber.notes()) all += note + "\n";
        return all;
    }

    TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "small.gguf";
    std::vector<float> sound_;
    Device device_;
};

TEST_P(WithinMemory, StreamedWeightsSayTheSameToTheBitWithinTheBudget) {
    const Transcript want = transcriber({.window = 5, .batch = 1}).transcribe(sound_);
    EXPECT_FALSE(want.words.empty());
    const uint64_t whole = needs(1, 5, false), least = needs(1, 5, true);
    ASSERT_LT(least, whole);
    for (const uint64_t memory : {(whole + least) / 2, least}) {
        SCOPED_TRACE(memory);
        limit_memory(device_, memory);
        Transcriber within = transcriber({.window = 5, .batch = 1, .memory = memory});
        expect_said(within, want, memory);
        EXPECT_NE(within.describe().find("streamed"), std::string::npos) << within.describe();
        EXPECT_NE(notes_of(within).find("copied for each run"), std::string::npos) << notes_of(within);
        EXPECT_EQ(notes_of(within).find("made anew"), std::string::npos) << notes_of(within);
    }
    limit_memory(device_, 0);
    Transcriber always = transcriber({.window = 5, .batch = 1, .streaming = Streaming::always});
    expect_said(always, want, whole);
    EXPECT_NE(always.describe().find("streamed"), std::string::npos);
}

TEST_P(WithinMemory, FewerWindowsAtOnceThenShorterOnesComeBeforeStreaming) {
    const uint64_t four = needs(4, 12, false), one = needs(1, 12, false), shorter = needs(1, 10, false);
    ASSERT_LT(one, four);
    ASSERT_LT(shorter, one);
    const Transcriber fewer = transcriber({.window = 12, .batch = 4, .memory = one});
    EXPECT_NE(notes_of(fewer).find("1 windows at once"), std::string::npos) << notes_of(fewer);
    EXPECT_EQ(notes_of(fewer).find("windows of 10"), std::string::npos) << notes_of(fewer);
    const Transcriber short_ones = transcriber({.window = 12, .batch = 4, .memory = shorter});
    EXPECT_NE(notes_of(short_ones).find("windows of 10 seconds"), std::string::npos) << notes_of(short_ones);
    EXPECT_EQ(notes_of(short_ones).find("copied"), std::string::npos) << notes_of(short_ones);
    EXPECT_TRUE(notes_of(transcriber({.window = 12, .batch = 4, .memory = four})).empty());
}

TEST_P(WithinMemory, F16IsTakenWhereItIsAllowedAndAllWeightsHaveRoomInThatAlone) {
    const uint64_t whole = needs(1, 10, false);
    if (needs(1, 10, false, DType::f16) >= whole) GTEST_SKIP() << "f16 takes no less here";
    const Transcript want = transcriber({.dtype = DType::f16, .window = 10, .batch = 1}).transcribe(sound_);
    Transcriber within = transcriber({.window = 10, .batch = 1, .memory = whole - 1, .may_halve = true});
    EXPECT_NE(notes_of(within).find("f16 is taken"), std::string::npos) << notes_of(within);
    EXPECT_EQ(notes_of(within).find("copied"), std::string::npos) << notes_of(within);
    EXPECT_EQ(within.transcribe(sound_).text, want.text);
    const Transcriber enough = transcriber({.window = 10, .batch = 1, .memory = whole, .may_halve = true});
    EXPECT_TRUE(notes_of(enough).empty()) << notes_of(enough);
    const Transcriber told = transcriber({.window = 10, .batch = 1, .memory = whole - 1});
    EXPECT_EQ(notes_of(told).find("f16"), std::string::npos) << "never without being told: " << notes_of(told);
}

TEST_P(WithinMemory, WhereNothingFitsTheErrorSaysWhatWould) {
    for (const Streaming streaming : {Streaming::automatic, Streaming::never}) {
        try {
            static_cast<void>(transcriber({.memory = 1, .streaming = streaming}));
            FAIL() << "a byte is too little";
        } catch (const Error& error) {
            const std::string text = error.what();
            EXPECT_EQ(error.code(), Code::no_device_memory) << text;
            EXPECT_NE(text.find("one window of 10 seconds"), std::string::npos) << text;
            EXPECT_NE(text.find("needs "), std::string::npos) << text;
            EXPECT_NE(text.find("streamed there "), std::string::npos) << text;
            EXPECT_EQ(text.find("; with dtype f16 ") != std::string::npos,
                      needs(1, 10, false, DType::f16) < needs(1, 10, false))
                << text;
            EXPECT_EQ(text.find("streaming is turned off") != std::string::npos, streaming == Streaming::never) << text;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, WithinMemory, ::testing::Values("cpu", "opencl", "vulkan"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace backplane::parakeet
