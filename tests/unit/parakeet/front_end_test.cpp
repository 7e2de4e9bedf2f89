// Features on a device against float64.
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "backplane/runtime.hpp"
#include "oracle.hpp"
#include "stages.hpp"
#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

constexpr double kBound = 1e-4;

struct Sound {
    const char* name;
    std::vector<float> samples;
};

class FrontEnd : public ::testing::Test {
protected:
    FrontEnd() {
        Config config = tiny_config();
        config.encoder.mels = 80;
        write_random_network(folder / "tiny.gguf", config, {});
        file = ModelFile::open(folder / "tiny.gguf");
    }
    // [clip][frame][mel]
    std::vector<oracle::Rows> on_device(const char* device, const std::vector<Sound>& clips, int64_t parts = 1) {
        NetworkWeights weights(*file, DType::f32);
        std::vector<std::vector<float>> rows;
        for (const Sound& clip : clips) rows.push_back(clip.samples);
        Batch batch(file->config().preprocessor, rows, clips.size() > 1);
        batch.shape.parts = parts;
        const auto size = static_cast<size_t>(batch.shape.frames * 80);
        Graph graph;
        graph.output(add_front_end(graph, weights, batch.shape).values, "features");
        Session session(device_of(device), graph, [&](std::string_view name) { return weights.bytes(name); });
        std::vector<float> out(clips.size() * size);
        const Output output("features", std::as_writable_bytes(std::span(out)));
        session.run(batch.inputs(), {&output, 1});
        std::vector<oracle::Rows> all(clips.size());
        for (size_t i = 0; i < out.size(); ++i) {
            oracle::Rows& made = all[i / size];
            if (i % 80 == 0) made.emplace_back();
            made.back().push_back(static_cast<double>(out[i]));
        }
        return all;
    }
    void expect_close(const oracle::Rows& got, const std::vector<float>& samples, const char* name, double bound = kBound) {
        const oracle::Rows want = oracle::features(file->config().preprocessor, 80, samples);
        double worst = 0;
        for (size_t t = 0; t < got.size(); ++t)
            for (size_t m = 0; m < 80; ++m)
                worst = std::max(worst, std::abs(got[t][m] - (t < want.size() ? want[t][m] : 0)));
        EXPECT_LE(worst, bound) << name;
    }
    static std::vector<float> tone(size_t samples, double hertz, double loud) {
        std::vector<float> x(samples);
        for (size_t i = 0; i < samples; ++i)
            x[i] = static_cast<float>(loud * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / 16000));
        return x;
    }

    TemporaryFolder folder;
    std::optional<ModelFile> file;
};

TEST_F(FrontEnd, FeaturesOfSoundsAreThoseOfFloat64) {
    const std::vector<Sound> sounds{
        {"speech", random_sound(16000, 1)},   {"silence", std::vector<float>(4000)},
        {"one frame", random_sound(160, 2)},  {"a frame and all but a sample of the next", random_sound(319, 2)},
        {"two frames", random_sound(320, 5)}, {"full scale", std::vector<float>(8000, 1.0F)}};
    for (const Sound& sound : sounds) expect_close(on_device("cpu", {sound})[0], sound.samples, sound.name);
}

// A sum in float32 has nothing of what is 120 dB below a tone; filters that hear next to nothing deviate by less than the guard that deviations
// have. Neither shows: what is loud is multiplied and added exactly, and of the logarithm of 1 + x all of x is kept.
TEST_F(FrontEnd, FeaturesOfTonesAreThoseOfFloat64) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> noise(-3e-3F, 3e-3F);
    for (const double hertz : {100.0, 440.0, 1000.0, 3999.5}) {
        for (const double loud : {0.5, 1.0, 1e-3}) {
            const std::vector<float> x = tone(16000, hertz, loud);
            expect_close(on_device("cpu", {{"tone", x}})[0], x, "tone");
        }
        std::vector<float> x = tone(16000, hertz, 0.5);
        for (float& sample : x) sample += noise(random);
        expect_close(on_device("cpu", {{"tone in noise", x}})[0], x, "tone in noise");
    }
}

TEST_F(FrontEnd, FeaturesNextToSilenceAndOfHarshSoundsAreThoseOfFloat64) {
    for (const float loud : {1e-2F, 1e-3F, 1e-4F, 1e-5F, 1e-6F}) {
        std::vector<float> quiet = random_sound(9000, 3);
        for (float& x : quiet) x *= loud;
        expect_close(on_device("cpu", {{"quiet", quiet}})[0], quiet, "quiet");
    }
    std::vector<float> click(9000), square(16000), bits(9000);
    click[4321] = 1;
    for (size_t i = 0; i < square.size(); ++i) square[i] = i / 37 % 2 == 0 ? 1.0F : -1.0F;
    std::mt19937 random(9);
    for (float& x : bits) x = static_cast<float>(static_cast<int>(random() % 3) - 1) / 32768;
    const std::vector<Sound> sounds{{"click", click},
                                    {"square wave of full scale", square},
                                    {"the last bit of 16", bits},
                                    {"DC", std::vector<float>(9000, 0.25F)},
                                    {"DC of full scale", std::vector<float>(9000, -1.0F)}};
    for (const Sound& sound : sounds) expect_close(on_device("cpu", {sound})[0], sound.samples, sound.name);
}

TEST_F(FrontEnd, ClipsOfABatchAreAsTheyAreAloneAndZeroBehindTheirEnds) {
    const std::vector<Sound> clips{{"short", random_sound(3333, 1)},
                                   {"longest", random_sound(8123, 2)},
                                   {"a frame", random_sound(200, 3)},
                                   {"on a frame's edge", random_sound(4800, 4)}};
    const std::vector<oracle::Rows> all = on_device("cpu", clips);
    for (size_t i = 0; i < clips.size(); ++i) expect_close(all[i], clips[i].samples, clips[i].name);
}

TEST_F(FrontEnd, FeaturesMadeInPartsAreThoseOfTheWhole) {
    const std::vector<Sound> one{{"a clip", random_sound(160 * 12 + 7, 1)}};
    const std::vector<Sound> several{{"short", random_sound(333, 1)},
                                     {"longest", random_sound(160 * 12 + 159, 2)},
                                     {"ends in the middle", random_sound(960, 3)}};
    for (const std::vector<Sound>& clips : {one, several})
        for (const int64_t parts : {2, 3, 4, 12}) {
            const std::vector<oracle::Rows> whole = on_device("cpu", clips), made = on_device("cpu", clips, parts);
            for (size_t i = 0; i < clips.size(); ++i) {
                expect_close(made[i], clips[i].samples, clips[i].name);
                for (size_t t = 0; t < whole[i].size(); ++t)
                    for (size_t m = 0; m < whole[i][t].size(); ++m)
                        ASSERT_NEAR(made[i][t][m], whole[i][t][m], kBound / 10) << clips[i].name << " in " << parts;
            }
        }
}

TEST_F(FrontEnd, FiltersAreSlaneysOfAreaTwoOverTheirWidth) {
    const PreprocessorConfig& p = file->config().preprocessor;
    const std::vector<float> filters = slaney_filters(p, 80);
    // 8000 Hz is mel 15 + 27 ln 8 / ln 6.4; the 81st part of it is 37.2394 Hz, where the first triangle has its top of 2 / 74.4788.
    EXPECT_EQ(filters[0], 0);
    EXPECT_NEAR(filters[1], 31.25 / 37.2394 * 2 / 74.4788, 1e-6);
    EXPECT_NEAR(filters[2], (74.4788 - 62.5) / 37.2394 * 2 / 74.4788, 1e-6);
    EXPECT_EQ(filters[3], 0);
    // Triangles of height 1 that overlap by half add up to 1 from the first top to the last.
    const double mel = (15 + 27 * std::log(8) / std::log(6.4)) / 81;
    const auto hertz = [&](double m) { return m < 15 ? m * 200 / 3 : 1000 * std::pow(6.4, (m - 15) / 27); };
    for (int64_t k = 2; k < 247; ++k) {
        double sum = 0;
        for (int64_t m = 0; m < 80; ++m)
            sum += static_cast<double>(filters[static_cast<size_t>(m * 257 + k)]) *
                   (hertz(static_cast<double>(m + 2) * mel) - hertz(static_cast<double>(m) * mel)) / 2;
        EXPECT_NEAR(sum, 1, 1e-5) << k;
    }
}

}  // namespace
}  // namespace backplane::parakeet
