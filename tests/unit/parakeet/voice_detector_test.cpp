// Silero VAD: a file of random weights against its formulas in float64, and the published weights against what ONNX Runtime makes of them.
#include "models/silero/voice_detector.hpp"

#include <cmath>
#include <numbers>
#include <random>

#include "models/parakeet/random_network.hpp"
#include "tiny_network.hpp"
#include "vad_file.hpp"

namespace backplane::silero {
namespace {

VoiceDetector detector_of(const std::filesystem::path& file, const char* device = "cpu") {
    return {{parakeet::device_of(device)}, VoiceNetwork::open(file)};
}

// As the file's operators say, in float64.
class Formulas {
public:
    explicit Formulas(const VadFile& file) : file_(file) {}

    double next(const Values& window) {
        std::vector<double> x = context_;
        x.insert(x.end(), window.begin(), window.end());
        context_.assign(window.end() - 64, window.end());
        for (size_t i = 0; i < 64; ++i) x.push_back(x[574 - i]);  // reflected, without the last
        Map map;                                                  // [channel][frame]
        for (size_t bin = 0; bin < 129; ++bin) {
            map.emplace_back();
            for (size_t frame = 0; frame < 4; ++frame)
                map.back().push_back(std::hypot(filtered(x, bin, frame), filtered(x, bin + 129, frame)));
        }
        for (size_t i = 0; i < 4; ++i)
            map = convolved(map, "encoder." + std::to_string(i) + ".reparam_conv.", i == 1 || i == 2 ? 2 : 1);
        return cell(map);
    }

private:
    using Map = std::vector<std::vector<double>>;

    double filtered(const std::vector<double>& x, size_t row, size_t frame) const {
        double sum = 0;
        for (size_t i = 0; i < 256; ++i) sum += x[frame * 128 + i] * file_["stft.forward_basis_buffer"][row * 256 + i];
        return sum;
    }
    Map convolved(const Map& in, const std::string& name, size_t stride) const {
        const Values &weight = file_[name + "weight"], &bias = file_[name + "bias"];
        Map out(bias.size());
        for (size_t o = 0; o < out.size(); ++o)
            for (size_t at = 0; at < in[0].size(); at += stride) {
                double sum = bias[o];
                for (size_t i = 0; i < in.size(); ++i)
                    for (size_t tap = 0; tap < 3; ++tap)
                        if (at + tap >= 1 && at + tap <= in[0].size())
                            sum += in[i][at + tap - 1] * weight[(o * in.size() + i) * 3 + tap];
                out[o].push_back(std::max(sum, 0.0));
            }
        return out;
    }
    double cell(const Map& map) {
        const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
        std::vector<double> gates(512);
        for (size_t g = 0; g < 512; ++g) {
            gates[g] = static_cast<double>(file_["decoder.rnn.bias_ih"][g]) + file_["decoder.rnn.bias_hh"][g];
            for (size_t i = 0; i < 128; ++i)
                gates[g] += map[i][0] * file_["decoder.rnn.weight_ih"][g * 128 + i] +
                            hidden_[i] * file_["decoder.rnn.weight_hh"][g * 128 + i];
        }
        double sum = file_["decoder.decoder.2.bias"][0];
        for (size_t i = 0; i < 128; ++i) {
            cell_[i] = sigmoid(gates[128 + i]) * cell_[i] + sigmoid(gates[i]) * std::tanh(gates[256 + i]);
            hidden_[i] = sigmoid(gates[384 + i]) * std::tanh(cell_[i]);
            sum += std::max(hidden_[i], 0.0) * file_["decoder.decoder.2.weight"][i];
        }
        return sigmoid(sum);
    }

    const VadFile& file_;
    std::vector<double> context_ = std::vector<double>(64), hidden_ = std::vector<double>(128),
                        cell_ = std::vector<double>(128);
};

// Runs of 16 windows and single ones, in any order, on the streams of one detector.
TEST(VoiceDetector, ComputesWhatTheFileSaysOfAnyNumberOfWindowsAtOnce) {
    const VadFile file;
    VoiceDetector detector = detector_of(file.write());
    std::mt19937 random(3);
    std::uniform_real_distribution<float> values(-0.5F, 0.5F);
    Values sound(40 * VoiceDetector::kWindow);
    for (size_t i = VoiceDetector::kWindow; i < sound.size(); ++i)
        sound[i] = values(random) * static_cast<float>(i / 512 % 6);
    std::vector<double> want;
    Formulas formulas(file);
    for (size_t i = 0; i < sound.size(); i += VoiceDetector::kWindow)
        want.push_back(formulas.next(Values(sound.begin() + static_cast<std::ptrdiff_t>(i),
                                            sound.begin() + static_cast<std::ptrdiff_t>(i + VoiceDetector::kWindow))));
    for (const std::vector<size_t>& pieces : {std::vector<size_t>{40}, {1, 16, 3, 20}, {0, 15, 17, 8}}) {
        VoiceState stream;
        std::vector<float> got;
        auto left = std::span<const float>(sound);
        for (const size_t windows : pieces) {
            const std::vector<float> some = detector.next(stream, left.first(windows * VoiceDetector::kWindow));
            ASSERT_EQ(some.size(), windows);
            got.insert(got.end(), some.begin(), some.end());
            left = left.subspan(windows * VoiceDetector::kWindow);
        }
        for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i << " of " << pieces.size();
    }
    uint64_t runs = 0;
    for (const StageRuns& stage : detector.runs()) {
        EXPECT_EQ(stage.device, "cpu:0");
        runs += stage.runs;
    }
    EXPECT_EQ(runs, 2U + 8 + 1 + 1 + 3 + 1 + 4 + 15 + 1 + 1 + 8);
}

TEST(VoiceDetector, IsTheSameOnAnotherDevice) {
    const VadFile file;
    const std::filesystem::path path = file.write();
    VoiceDetector one = detector_of(path), other = detector_of(path, "reference");
    const Values sound = parakeet::random_sound(17 * VoiceDetector::kWindow, 5);
    VoiceState a, b;
    const std::vector<float> here = one.next(a, sound), there = other.next(b, sound);
    for (size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(here[i], there[i], 1e-5) << i;
}

TEST(VoiceDetector, WhatIsNoWindowsOrNoNumbersIsRefusedAndLeavesTheStream) {
    const VadFile file;
    VoiceDetector detector = detector_of(file.write());
    Values windows(17 * VoiceDetector::kWindow, 0.25F);
    VoiceState disturbed, other;
    EXPECT_EQ(detector.next(disturbed, windows), detector.next(other, windows));
    expect_error([&] { detector.next(disturbed, Values(511)); }, Code::invalid, "511 samples are not windows of 512");
    Values bad = windows;
    bad.back() = std::numeric_limits<float>::quiet_NaN();
    expect_error([&] { detector.next(disturbed, bad); }, Code::invalid, "no finite numbers");
    const std::atomic<uint32_t> cancel{1};
    expect_error([&] { detector.next(disturbed, windows, &cancel); }, Code::cancelled, "");
    EXPECT_EQ(detector.next(disturbed, windows), detector.next(other, windows));
    expect_error([&] { VoiceDetector({}, VoiceNetwork::open(file.write())); }, Code::invalid, "no device");
}

TEST(VoiceDetector, TheToneDetectorOfTheTestsHearsItsTone) {
    const ToneDetector file;
    VoiceDetector detector = detector_of(file.write());
    Values sound;
    add_hum(sound, 0.16);
    add_tone(sound, 0.16);
    add_hum(sound, 0.32);
    VoiceState stream;
    const std::vector<float> heard = detector.next(stream, sound);
    for (size_t i = 0; i < heard.size(); ++i)
        EXPECT_TRUE(i >= 5 && i < 10 ? heard[i] > 0.9F : heard[i] < 0.1F) << i << " " << heard[i];
}

TEST(VoiceDetector, FilesOfOtherNetworksAreNamed) {
    VadFile file;
    file.set("decoder.rnn.bias_hh", {511}, 1);
    file.expect_refused("'decoder.rnn.bias_hh' is f32 [511], not f32 [512]");
    file.remove("decoder.rnn.bias_hh");
    file.expect_refused("it has no 'decoder.rnn.bias_hh'", Code::unsupported);
    file.set("decoder.rnn.bias_hh", {512}, 1);
    file.first("decoder.rnn.bias_hh") = std::numeric_limits<float>::infinity();
    file.expect_refused("no finite numbers");
    file.set("stft.forward_basis_buffer", {130, 1, 128}, 1);
    file.expect_refused("no branch with a 'stft.forward_basis_buffer' of [258, 1, 256]", Code::unsupported);
    const TemporaryFolder folder;
    expect_error([&] { VoiceNetwork::open(folder / "none.onnx"); }, Code::not_found, "none.onnx");
    write_file(folder / "text.onnx", "not a network");
    expect_error([&] { VoiceNetwork::open(folder / "text.onnx"); }, Code::corrupt, "text.onnx");
}

// Half a second of silence, a voice of three formants that move, silence, hiss: 96 windows.
Values voice_and_noise() {
    constexpr double kPi = std::numbers::pi;
    Values x(96 * VoiceDetector::kWindow);
    double phase = 0;
    uint32_t seed = 1;
    for (size_t i = 0; i < x.size(); ++i) {
        const double t = static_cast<double>(i) / VoiceDetector::kSampleRate;
        double v = 0;
        if (t >= 0.512 && t < 2.048) {
            const double f0 = 120 + 25 * std::sin(2 * kPi * 2.5 * t);
            const double formants[] = {700 + 250 * std::sin(2 * kPi * 3 * t), 1300 + 500 * std::cos(2 * kPi * 2 * t), 2500};
            phase += 2 * kPi * f0 / VoiceDetector::kSampleRate;
            for (int k = 1; k <= 25; ++k) {
                double a = 0;
                for (const double formant : formants) a += 1 / (1 + std::pow((k * f0 - formant) / 90, 2));
                v += a / std::sqrt(k) * std::sin(k * phase);
            }
            v *= 0.1 * (0.25 + std::abs(std::sin(2 * kPi * 2 * t)));
        } else if (t >= 2.56) {
            seed = (seed * 1103515245U + 12345U) % 2147483648U;
            v = 0.1 * (seed / 1073741824.0 - 1);
        }
        x[i] = static_cast<float>(v);
    }
    return x;
}

// onnxruntime-web 1.20.1 on silero_vad_v6.onnx and voice_and_noise(), window after window.
constexpr float kOnnxRuntime[] = {
    0.001670F, 0.006884F, 0.008911F, 0.007857F, 0.005907F, 0.005961F, 0.005853F, 0.005640F, 0.005431F, 0.005199F, 0.005048F,
    0.004903F, 0.004736F, 0.004585F, 0.004447F, 0.004328F, 0.894209F, 0.848199F, 0.948187F, 0.944765F, 0.972971F, 0.995748F,
    0.998114F, 0.998766F, 0.995766F, 0.997187F, 0.995722F, 0.997209F, 0.998122F, 0.998727F, 0.998829F, 0.998838F, 0.997892F,
    0.991596F, 0.995954F, 0.997572F, 0.995737F, 0.997923F, 0.999329F, 0.999368F, 0.999488F, 0.999399F, 0.999032F, 0.999076F,
    0.998454F, 0.998546F, 0.998625F, 0.998667F, 0.998671F, 0.998428F, 0.998243F, 0.998333F, 0.997923F, 0.998903F, 0.999369F,
    0.998200F, 0.997868F, 0.997389F, 0.996749F, 0.998632F, 0.999379F, 0.998716F, 0.998563F, 0.997107F, 0.022690F, 0.008720F,
    0.012239F, 0.016588F, 0.007409F, 0.004838F, 0.004795F, 0.004976F, 0.005378F, 0.005740F, 0.005760F, 0.005733F, 0.005610F,
    0.005463F, 0.005275F, 0.005018F, 0.065308F, 0.035105F, 0.034711F, 0.062352F, 0.051294F, 0.050096F, 0.057542F, 0.054904F,
    0.060381F, 0.051003F, 0.053480F, 0.050632F, 0.065654F, 0.070474F, 0.048205F, 0.067995F};

TEST(VoiceDetector, PublishedWeightsHearAVoiceAsInOnnxRuntimeAndNeitherSilenceNorNoise) {
    const std::filesystem::path weights = std::filesystem::path(BP_TEST_MODELS) / "silero-vad.onnx";
    if (!std::filesystem::exists(weights)) GTEST_SKIP() << "there is no " << weights << ": run scripts/fetch-models.sh vad";
    VoiceDetector detector = detector_of(weights);
    VoiceState stream;
    const std::vector<float> heard = detector.next(stream, voice_and_noise());
    ASSERT_EQ(heard.size(), std::size(kOnnxRuntime));
    for (size_t i = 0; i < std::size(kOnnxRuntime); ++i) {
        const float p = heard[i];
        EXPECT_NEAR(p, kOnnxRuntime[i], 1e-3) << i;
        EXPECT_EQ(p > 0.5F, i >= 16 && i < 64) << i;
    }
}

}  // namespace
}  // namespace backplane::silero
