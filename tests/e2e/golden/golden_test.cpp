// ESRGAN as imported, on the CPU device, against what TensorFlow.js computes from the same weights (make.js): at most 0.02 of 255 apart
// on the unclamped float output. The samples are in this folder; BP_GOLDEN_WHOLE names a folder with all values (make check-tfjs).
// The weights are fetched, not committed: BP_TEST_MODELS in the environment says where they are, else build/models.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/esrgan.hpp"
#include "backplane/image.hpp"
#include "backplane/runtime.hpp"
#include "base/json.hpp"

namespace backplane {
namespace {

constexpr float kBound = 0.02F;

struct Network {
    const char* model;
    int scale;
    [[nodiscard]] std::string name() const { return std::string("esrgan-") + model + "-x" + std::to_string(scale); }
};
void PrintTo(const Network& network, std::ostream* out) { *out << network.name(); }

std::filesystem::path folder_of(const char* variable, const char* otherwise) {
    const char* set = std::getenv(variable);
    return set != nullptr && *set != '\0' ? set : otherwise;
}

struct Picture {
    int64_t height = 0, width = 0;
    std::vector<float> values;  // rows of RGB
};

Picture read_photo(const std::filesystem::path& path) {
    const auto reader = ImageReader::open(path);
    const ImageInfo& info = reader->info();
    std::vector<uint8_t> bytes(size_t{info.width} * info.height * info.channels);
    reader->read(bytes);
    Picture picture{info.height, info.width, {}};
    for (size_t i = 0; i < bytes.size(); ++i)
        if (i % info.channels < 3) picture.values.push_back(bytes[i]);
    return picture;
}

Picture upscale(const Picture& photo, const Esrgan& model) {
    ContextOptions options;
    options.module_paths = {BP_TEST_MODULES};
    options.search_defaults = false;
    options.use_environment = false;
    const Context context(options);
    Session session(context.choose("cpu"), model.graph(photo.height, photo.width), model.weights());
    Picture result{photo.height * model.scale(), photo.width * model.scale(), {}};
    result.values.assign(static_cast<size_t>(result.height * result.width * 3), std::nanf(""));
    session.run({{{"image", std::as_bytes(std::span(photo.values))}}},
                {{{"upscaled", std::as_writable_bytes(std::span(result.values))}}});
    return result;
}

// The largest difference seen, and where. A NaN counts as the largest.
struct Difference {
    float largest = 0, got = 0, wanted = 0;
    size_t index = 0, compared = 0;
    void add(size_t at, float ours, float theirs) {
        ++compared;
        const float d = std::abs(ours - theirs);
        if (!(d <= largest)) *this = {d, ours, theirs, at, compared};
    }
};

class Golden : public testing::TestWithParam<Network> {
protected:
    void SetUp() override {
        const std::filesystem::path models = folder_of("BP_TEST_MODELS", BP_TEST_MODELS);
        const std::filesystem::path file = models / (GetParam().name() + ".gguf");
        if (!std::filesystem::exists(file))
            GTEST_SKIP() << "there is no " << file.string() << ": run scripts/fetch-models.sh (it needs npm)";
        const Esrgan model = Esrgan::open(file);
        ASSERT_EQ(model.scale(), GetParam().scale);
        photo = read_photo(models / "fixture.png");
        result = upscale(photo, model);
    }
    Picture photo, result;
};

TEST_P(Golden, SamplesAgreeWithTensorFlowJs) {
    std::ifstream file(std::filesystem::path(BP_TEST_GOLDEN) / (GetParam().name() + ".json"));
    const auto golden = base::Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    ASSERT_EQ(golden.at("input"), (base::Json{photo.height, photo.width}));
    ASSERT_EQ(golden.at("output"), (base::Json{result.height, result.width}));
    Difference difference;
    for (const base::Json& sample : golden.at("samples")) {
        const auto pixel = sample[0].get<unsigned>();
        for (size_t c = 0; c < 3; ++c)
            difference.add(3 * pixel + c, result.values.at(3 * pixel + c), static_cast<float>(sample[1 + c].get<double>()));
    }
    EXPECT_GE(difference.compared, 4095U);
    EXPECT_LE(difference.largest, kBound) << "value " << difference.index << ": " << difference.got
                                          << ", TensorFlow.js says " << difference.wanted;
    RecordProperty("largest", std::to_string(difference.largest));
}

TEST_P(Golden, EveryValueAgreesWithTensorFlowJs) {
    const std::filesystem::path folder = folder_of("BP_GOLDEN_WHOLE", "");
    if (folder.empty()) GTEST_SKIP() << "a check of minutes, that needs TensorFlow.js: run make check-tfjs";
    const std::filesystem::path path = folder / (GetParam().name() + ".f32");
    ASSERT_EQ(std::filesystem::file_size(path), result.values.size() * sizeof(float)) << path;
    std::vector<float> wanted(result.values.size());
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char*>(wanted.data()), static_cast<std::streamsize>(wanted.size() * sizeof(float)));
    Difference difference;
    for (size_t i = 0; i < wanted.size(); ++i) difference.add(i, result.values[i], wanted[i]);
    EXPECT_LE(difference.largest, kBound) << "value " << difference.index << ": " << difference.got
                                          << ", TensorFlow.js says " << difference.wanted;
    std::cout << GetParam().name() << ": " << wanted.size() << " values, largest difference " << difference.largest
              << " of 255\n";
}

INSTANTIATE_TEST_SUITE_P(Esrgan, Golden,
                         testing::Values(Network{"slim", 2}, Network{"slim", 4}, Network{"medium", 2}, Network{"medium", 4},
                                         Network{"thick", 2}, Network{"thick", 4}),
                         [](const auto& which) {
                             return which.param.model + std::string("_x") + std::to_string(which.param.scale);
                         });

}  // namespace
}  // namespace backplane
