// The encoder on devices against float64, one clip and batches of clips of unlike length.
#include "oracle.hpp"
#include "stages.hpp"
#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

class EncoderTest : public ::testing::Test {
protected:
    ModelFile network(const Config& config, DType dtype = DType::f32) {
        write_random_network(folder / "tiny.gguf", config, {.seed = 7, .dtype = dtype});
        return ModelFile::open(folder / "tiny.gguf");
    }

    static std::vector<oracle::Rows> encode(const ModelFile& file, const Device& device, DType compute,
                                            const std::vector<std::vector<float>>& clips, bool padded, int64_t reach) {
        NetworkWeights weights(file, compute);
        const Weights source([&](std::string_view name) { return weights.bytes(name); });
        return stages_of(weights, source, device, clips, padded, reach).encoded;
    }

    static void expect_close(const ModelFile& file, const std::vector<std::vector<float>>& clips,
                             const std::vector<oracle::Rows>& got, double bound) {
        for (size_t i = 0; i < clips.size(); ++i) {
            const oracle::Rows want = oracle::Encoder(file).run(
                oracle::features(file.config().preprocessor, file.config().encoder.mels, clips[i]));
            ASSERT_EQ(got[i].size(), want.size());
            double most = 0;
            double worst = 0;
            for (size_t t = 0; t < want.size(); ++t)
                for (size_t d = 0; d < want[t].size(); ++d) {
                    most = std::max(most, std::abs(want[t][d]));
                    worst = std::max(worst, std::abs(want[t][d] - got[i][t][d]));
                }
            EXPECT_LE(worst, bound * most) << "clip " << i;
        }
    }

    TemporaryFolder folder;
};

TEST_F(EncoderTest, OneClipIsAsInFloat64OnEveryLength) {
    const ModelFile file = network(tiny_config());
    const Device device = device_of("cpu");
    for (const size_t samples : {160U, 320U, 1300U, 1440U, 12345U}) {
        const std::vector<std::vector<float>> clips{random_sound(samples, static_cast<unsigned>(samples))};
        expect_close(file, clips, encode(file, device, DType::f32, clips, false, 16), 1e-3);
    }
}

TEST_F(EncoderTest, ClipsOfABatchAreAsInFloat64Alone) {
    const std::vector<std::vector<float>> clips{random_sound(3000, 1), random_sound(9000, 2), random_sound(160, 3),
                                                random_sound(7777, 4)};
    const ModelFile file = network(tiny_config());
    for (const char* device : {"cpu", "reference"})
        expect_close(file, clips, encode(file, device_of(device), DType::f32, clips, true, 8), 1e-3);
}

TEST_F(EncoderTest, HalvesAndBlocksAreWithinTheirPrecision) {
    const std::vector<std::vector<float>> clips{random_sound(9000, 2)};
    const Device device = device_of("cpu");
    const ModelFile file = network(tiny_config());
    expect_close(file, clips, encode(file, device, DType::f16, clips, false, 8), 3e-2);
    // The oracle reads the same blocks, so that only the arithmetic differs.
    for (const DType dtype : {DType::q8_0, DType::q4_0, DType::f16, DType::bf16}) {
        const ModelFile blocks = network(tiny_config(), dtype);
        expect_close(blocks, clips, encode(blocks, device, DType::f32, clips, false, 8), dtype == DType::q4_0 ? 5e-3 : 2e-3);
    }
}

TEST_F(EncoderTest, NetworksWithoutBiasesOrScalingOrWithLayerNormsAreAsInFloat64) {
    const std::vector<std::vector<float>> clips{random_sound(6000, 2), random_sound(5000, 3)};
    Config config = tiny_config();
    config.encoder.use_bias = false;
    config.encoder.xscaling = false;
    config.encoder.conv_norm = ConvNorm::layer_norm;
    config.encoder.subsampling_factor = 4;
    const ModelFile file = network(config);
    expect_close(file, clips, encode(file, device_of("cpu"), DType::f32, clips, true, 16), 1e-3);
}

}  // namespace
}  // namespace backplane::parakeet
