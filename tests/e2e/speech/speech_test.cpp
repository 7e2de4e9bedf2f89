// The network that the repository carries, on the device that the library chooses while others are installed: the encoder runs there and
// nowhere else, by the executor's count, and the text is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backplane/transcriber.hpp"
#include "support/driver_file.hpp"
#include "support/modules_of_the_build.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

// Sixteen bits a sample, little-endian, 16 kHz: the first words of models/parakeet-mini/example.flac.
std::vector<float> clip() {
    std::ifstream file(fs::path(BP_TEST_SOURCE_DIR) / "tests/e2e/speech/clip.pcm", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<float> samples(bytes.size() / 2);
    for (size_t i = 0; i < samples.size(); ++i)
        samples[i] = static_cast<float>(static_cast<int16_t>(static_cast<uint8_t>(bytes[2 * i]) |
                                                             static_cast<uint8_t>(bytes[2 * i + 1]) << 8)) /
                     32768.0F;
    return samples;
}

constexpr const char* kText = "there are many things that can be said";

class Speech : public ::testing::Test {
protected:
    Speech() : folder_(test::make_temporary_folder()) {
        test::set_environment("POCL_CACHE_DIR", BP_TEST_POCL_CACHE);
        // Half of what the first run takes; tests/drivers runs what PoCL optimised.
        test::set_environment("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable");
        test::set_environment("VK_DRIVER_FILES", test::driver_file("vulkan"));
        test::set_environment("OCL_ICD_VENDORS", test::driver_file("opencl"));
        ContextOptions options = test::modules_of_the_build();
        options.state_folder = folder_ / "state";
        context_ = std::make_unique<Context>(options);
    }
    ~Speech() override {
        context_.reset();
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    [[nodiscard]] bool has(const std::string& id) const {
        const std::vector<DeviceInfo> all = context_->devices();
        return std::any_of(all.begin(), all.end(), [&](const DeviceInfo& d) { return d.id == id; });
    }
    // What is built and has a driver on this machine must be a device, so that nothing passes for want of one.
    void expect_all_installed() const {
        EXPECT_TRUE(has("cpu:0")) << context_->report().summary();
        EXPECT_TRUE(!with_driver("vulkan") || has("vulkan:0")) << context_->report().summary();
        EXPECT_TRUE(!with_driver("opencl") || has("opencl:0")) << context_->report().summary();
    }
    static bool with_driver(const std::string& backend) {
        const bool built = backend == "vulkan" ? BP_TEST_HAS_VULKAN != 0 : BP_TEST_HAS_OPENCL != 0;
        return built && !test::driver_file(backend).empty() && test::starts_drivers_of(backend);
    }

    // Applications choose so: the devices behind the first stand in for it, and have nothing to do here.
    void expect_said_by(const std::string& filter, const std::string& id, SpeechDecoder decoder, DType dtype = DType::f32) {
        const std::vector<Device> devices = context_->choose_with_fallback(filter);
        ASSERT_FALSE(devices.empty());
        ASSERT_EQ(devices.front().info().id, id) << context_->why();
        TranscriberOptions options;
        options.decoder = decoder;
        options.dtype = dtype;
        Transcriber network(devices, fs::path(BP_OWN_MODELS) / "parakeet-mini/parakeet-mini-q8_0.gguf", options);
        EXPECT_EQ(network.name(), "parakeet-mini");
        const std::vector<float> samples = clip();
        ASSERT_GT(samples.size(), 16000U);
        EXPECT_TRUE(network.runs().empty()) << "nothing has run yet";
        for (uint64_t round = 1; round <= 2; ++round) {
            EXPECT_EQ(network.transcribe(samples).text, kText);
            uint64_t encoder = 0;
            for (const NetworkRuns& ran : network.runs()) {
                EXPECT_EQ(ran.device, id) << ran.part << " ran " << ran.runs << " times there";
                EXPECT_GT(ran.nodes, ran.runs);
                if (ran.part == "encoder") encoder += ran.runs;
            }
            EXPECT_EQ(encoder, round) << "one stage, once for each clip";
        }
        EXPECT_TRUE(network.notes().empty()) << network.notes().front();
    }

    fs::path folder_;
    std::unique_ptr<Context> context_;
};

TEST_F(Speech, OnTheDeviceThatTheLibraryChoosesWhateverElseIsInstalled) {
    expect_all_installed();
    expect_said_by("", "cpu:0", SpeechDecoder::automatic);
    expect_said_by("", "cpu:0", SpeechDecoder::ctc);
}

TEST_F(Speech, OnPoclWhereTheCpusOwnBackendIsLeftOut) {
    if (!with_driver("opencl"))
        GTEST_SKIP() << "no backend opencl in this build, or PoCL (pocl-opencl-icd) is not installed";
    expect_said_by("!cpu:0", "opencl:0", SpeechDecoder::automatic);
}

TEST_F(Speech, InHalfPrecisionTheTokensAreThoseOfSingle) {
    const SpeechDecoder heads[] = {SpeechDecoder::ctc, SpeechDecoder::tdt};
    for (const SpeechDecoder head : heads) expect_said_by("cpu", "cpu:0", head, DType::f16);
    if (with_driver("opencl")) expect_said_by("opencl", "opencl:0", SpeechDecoder::ctc, DType::f16);
    if (with_driver("vulkan")) expect_said_by("vulkan", "vulkan:0", SpeechDecoder::ctc, DType::f16);
}

// Sentences with noise between them that is as loud as they are: Silero VAD's own weights find the pauses, and each sentence is there once.
TEST_F(Speech, IsCutBetweenSentencesWhateverTheNoiseThere) {
    const fs::path weights = fs::path(BP_TEST_MODELS) / "silero-vad.onnx";
    if (!fs::exists(weights)) GTEST_SKIP() << "there is no " << weights << ": run scripts/fetch-models.sh vad";
    const std::vector<float> sentence = clip();
    std::vector<float> all;
    uint32_t random = 1;
    constexpr int kSentences = 15;
    for (int i = 0; i < kSentences; ++i) {
        all.insert(all.end(), sentence.begin(), sentence.end());
        const size_t pause = i == 7 ? 16000 * 8 : 16000;
        for (size_t k = 0; k < pause; ++k) {
            random = random * 1664525 + 1013904223;
            all.push_back(0.1F * (static_cast<float>(random >> 8) / 8388608.0F - 1));
        }
    }
    TranscriberOptions options;
    options.window = 10;
    options.vad = weights.string();
    Transcriber network(context_->choose_with_fallback(""),
                        fs::path(BP_OWN_MODELS) / "parakeet-mini/parakeet-mini-q8_0.gguf", options);
    const Transcript said = network.transcribe(all);
    size_t count = 0;
    const std::string middle = "many things that can be";
    for (size_t at = said.text.find(middle); at != std::string::npos; at = said.text.find(middle, at + 1)) ++count;
    EXPECT_EQ(count, static_cast<size_t>(kSentences)) << said.text;
    EXPECT_EQ(network.pauses_by(), "silero-vad");
    EXPECT_NEAR(said.seconds, static_cast<double>(all.size()) / 16000, 1e-9);
    const double from =
        8 * (static_cast<double>(sentence.size()) / 16000 + 1) + 0.5;  // the long pause, but for what is kept of it
    for (const Word& word : said.words) EXPECT_FALSE(word.start > from && word.start < from + 6) << word.text << word.start;
}

TEST_F(Speech, OnLavapipeWhereItIsAskedFor) {
    if (!with_driver("vulkan"))
        GTEST_SKIP() << "no backend vulkan in this build, or lavapipe (mesa-vulkan-drivers) is not installed, or under Wine "
                        "there is no display (xvfb)";
    expect_said_by("vulkan", "vulkan:0", SpeechDecoder::automatic);
}

}  // namespace
}  // namespace backplane
