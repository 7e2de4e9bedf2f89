// Esrgan: files whose layers do not fit, and the graph of one whose layers do.
#include "esrgan_file.hpp"

#include <functional>
#include <limits>

namespace backplane {
namespace {

using Lines = std::vector<std::string>;

struct Lie {
    const char* name;
    std::function<void(EsrganFile&)> make;
    const char* about;
};

TEST(Esrgan, WeightsThatAreNoFiniteNumbersAreCorruptAndNamed) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        EsrganFile file;
        file.tensors.at("b.weight").second[7] = bad;
        const Esrgan model = file.open();
        EXPECT_FALSE(model.weights()("a.weight").empty());
        expect_error([&] { static_cast<void>(model.weights()("b.weight")); }, Code::corrupt, "'b.weight'");
        expect_error([&] { static_cast<void>(model.stored_as(DType::f16)); }, Code::corrupt, "'b.weight'");
    }
}

TEST(Esrgan, FilesWhoseLayersDoNotFitTogetherAreCorrupt) {
    const std::vector<Lie> lies{
        {"other model", [](EsrganFile& f) { f.architecture = "llama"; }, "general.architecture"},
        {"no layers", [](EsrganFile& f) { f.layers = {}; }, "2 to 65536"},
        {"one layer", [](EsrganFile& f) { f.layers = {"input LR"}; }, "2 to 65536"},
        {"no output", [](EsrganFile& f) { f.layers.pop_back(); }, "not 'output'"},
        {"bad line", [](EsrganFile& f) { f.layers[2] = "relu r"; }, "'relu r' cannot be read"},
        {"no input", [](EsrganFile& f) { f.layers.erase(f.layers.begin()); }, "is 'input'"},
        {"two inputs", [](EsrganFile& f) { f.layers[2] = "input r"; }, "is 'input'"},
        {"after the output", [](EsrganFile& f) { f.layers.push_back("relu z up"); }, "after 'output'"},
        {"unknown name", [](EsrganFile& f) { f.layers[2] = "relu r z"; }, "called 'z'"},
        {"itself", [](EsrganFile& f) { f.layers[2] = "relu r r"; }, "called 'r'"},
        {"later layer", [](EsrganFile& f) { f.layers[2] = "relu r up"; }, "called 'up'"},
        {"name twice", [](EsrganFile& f) { f.layers[2] = "relu a a"; }, "taken"},
        {"nobody uses it", [](EsrganFile& f) { f.layers[3] = "concat c a a"; }, "'relu r a' is used by nobody"},
        {"missing weight", [](EsrganFile& f) { f.tensors.erase("a.weight"); }, "'a.weight' is missing"},
        {"missing bias", [](EsrganFile& f) { f.tensors.erase("b.bias"); }, "'b.bias' is missing"},
        {"weight of rank 3",
         [](EsrganFile& f) {
             f.tensor("a.weight", {2, 3, 3});
         },
         "[2, 3, 3] is not [out, 3, height, width]"},
        {"channels in",
         [](EsrganFile& f) {
             f.tensor("b.weight", {3, 2, 1, 1});
         },
         "[out, 4, height, width]"},
        {"no channels out",
         [](EsrganFile& f) {
             f.tensor("b.weight", {0, 4, 1, 1});
         },
         "[0, 4, 1, 1]"},
        {"empty kernel",
         [](EsrganFile& f) {
             f.tensor("a.weight", {2, 3, 0, 3});
         },
         "[2, 3, 0, 3]"},
        {"bias", [](EsrganFile& f) { f.tensor("a.bias", {3}); }, "[3] is not [2]"},
        {"add", [](EsrganFile& f) { f.layers[3] = "add c r LR"; }, "differ in channels"},
        {"sizes",
         [](EsrganFile& f) {
             f.layers = {"input a", "upsample b a by=2", "add c a b", "output c"};
         },
         "differ in size"},
        {"shuffle", [](EsrganFile& f) { f.layers[5] = "shuffle up b by=2"; }, "3 channels do not divide"},
        {"not RGB",
         [](EsrganFile& f) {
             f.layers.back() = "output c";
             f.layers.erase(f.layers.begin() + 4, f.layers.end() - 1);
         },
         "4 channels, not 3"},
        {"scale", [](EsrganFile& f) { f.scale = 3; }, "esrgan.scale says 3"},
        {"huge scale",
         [](EsrganFile& f) {
             f.layers[6] = "upsample v up by=64";
             f.layers.push_back("output v");
         },
         "more than 64"},
    };
    for (const Lie& lie : lies) {
        SCOPED_TRACE(lie.name);
        EsrganFile file;
        lie.make(file);
        expect_error([&] { static_cast<void>(file.open()); }, Code::corrupt, lie.about);
        expect_error([&] { static_cast<void>(file.open()); }, Code::corrupt, "tiny.gguf");
    }
}

TEST(Esrgan, ConcatenationsThatDoubleForEverAreRefused) {
    EsrganFile file;
    file.layers = {"input n0"};
    for (int i = 1; i < 60; ++i) {
        const std::string before = "n" + std::to_string(i - 1);
        file.layers.push_back("concat n" + std::to_string(i) + " " + before + " " + before);
    }
    file.layers.push_back("output n59");
    expect_error([&] { static_cast<void>(file.open()); }, Code::corrupt, "2^20 channels");
}

TEST(Esrgan, WeightsOfAnotherTypeAreCorrupt) {
    const TemporaryFolder folder;
    const std::vector<std::byte> half(3 * 3 * 2);
    const std::vector<std::byte> bias(12);
    GgufWriter writer;
    writer.set("general.architecture", std::string("esrgan"));
    writer.set("general.name", std::string("half"));
    writer.set("esrgan.scale", int64_t{1});
    writer.set("esrgan.layers", Lines{"input a", "conv b a", "output b"});
    writer.add("b.weight", DType::f16, {3, 3, 1, 1}, half);
    writer.add("b.bias", DType::f32, {3}, bias);
    writer.write(folder / "half.gguf");
    expect_error([&] { Esrgan::open(folder / "half.gguf"); }, Code::corrupt, "'b.weight' is not f32");
}

TEST(Esrgan, ImagesWithoutPixelsOrWithTooManyAreInvalid) {
    const Esrgan model = EsrganFile().open();
    const std::vector<std::pair<int64_t, int64_t>> sizes{{0, 8}, {8, 0}, {-1, 8}, {INT64_MAX, 1}, {1, INT64_MAX}};
    for (const auto& size : sizes) error_of([&] { static_cast<void>(model.graph(size.first, size.second)); }, Code::invalid);
    constexpr int64_t kFar = int64_t{1} << 31;
    error_of([&] { static_cast<void>(model.graph(kFar, kFar)); }, Code::invalid);
}

TEST(Esrgan, KnowsItsNameScaleSizeAndCost) {
    const Esrgan model = EsrganFile().open();
    EXPECT_EQ(model.name(), "tiny-x2");
    EXPECT_EQ(model.scale(), 2);
    EXPECT_EQ(model.radius(), 1);
    EXPECT_EQ(model.parameters(), 2U * 27 + 2 + 3 * 4 + 3);
    EXPECT_EQ(model.flops(5, 7), 2.0 * 35 * (54 + 12));
    const WeightSource weights = model.weights();
    EXPECT_EQ(weights("a.weight").size(), 54U * 4);
    EXPECT_TRUE(weights("none").empty());
}

TEST(Esrgan, TheRadiusCountsPixelsOfTheImage) {
    EsrganFile file;
    file.scale = 3;
    // 2 pixels of the image, then 3 of a third of a pixel each, then one more of a third.
    file.layers = {"input LR", "conv a LR", "upsample u a by=3", "conv b u", "conv c b", "conv d c", "output d"};
    file.tensors.clear();
    file.tensor("a.weight", {3, 3, 5, 1});
    for (const char* name : {"b", "c", "d"}) file.tensor(std::string(name) + ".weight", {3, 3, 3, 3});
    for (const char* name : {"a", "b", "c", "d"}) file.tensor(std::string(name) + ".bias", {3});
    EXPECT_EQ(file.open().radius(), 3);
    file.tensor("d.weight", {3, 3, 5, 5});
    EXPECT_EQ(file.open().radius(), 4);
}

// The radius is true: a pixel further away changes nothing, one at the radius does.
TEST(Esrgan, PixelsBeyondTheRadiusChangeNothing) {
    const Esrgan model = EsrganFile().open();
    std::vector<float> image = some_image(1, 9);
    const std::vector<float> before = upscale_exactly(model, 1, 9, image);
    for (size_t c = 0; c < 3; ++c) image[4 * 3 + c] += 100;
    const std::vector<float> after = upscale_exactly(model, 1, 9, image);
    for (int x = 0; x < 18; ++x) {
        const bool near = std::abs(x / 2 - 4) <= model.radius();
        bool changed = false;
        for (int row = 0; row < 2; ++row)
            for (int c = 0; c < 3; ++c) {
                const size_t i = static_cast<size_t>((row * 18 + x) * 3 + c);
                changed = changed || before[i] != after[i];
            }
        EXPECT_EQ(changed, near) << "column " << x;
    }
}

// The default EsrganFile, written out: 3x3 convolution, relu, concatenation, 1x1 convolution, every pixel twice.
std::vector<float> by_hand(const EsrganFile& file, int64_t height, int64_t width, const std::vector<float>& image) {
    const auto value = [&](const std::string& name, int64_t i) {
        return static_cast<double>(file.tensors.at(name).second[static_cast<size_t>(i)]);
    };
    std::vector<float> out(static_cast<size_t>(height * width * 4 * 3));
    for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) {
            double maps[4] = {};
            for (int64_t o = 0; o < 2; ++o) {
                double total = value("a.bias", o);
                for (int64_t c = 0; c < 3; ++c)
                    for (int64_t dy = -1; dy <= 1; ++dy)
                        for (int64_t dx = -1; dx <= 1; ++dx)
                            if (y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width)
                                total +=
                                    value("a.weight", ((o * 3 + c) * 3 + dy + 1) * 3 + dx + 1) *
                                    static_cast<double>(image[static_cast<size_t>(((y + dy) * width + x + dx) * 3 + c)]);
                maps[o] = std::max(total, 0.0);
                maps[2 + o] = total;
            }
            for (int64_t o = 0; o < 3; ++o) {
                double total = value("b.bias", o);
                for (int64_t c = 0; c < 4; ++c) total += value("b.weight", o * 4 + c) * maps[c];
                for (int64_t copy = 0; copy < 4; ++copy)
                    out[static_cast<size_t>(((2 * y + copy / 2) * 2 * width + 2 * x + copy % 2) * 3 + o)] =
                        static_cast<float>(total);
            }
        }
    return out;
}

TEST(Esrgan, TheGraphComputesWhatTheLayersSay) {
    const EsrganFile file;
    const Esrgan model = file.open();
    for (const auto& [height, width] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {4, 5}, {3, 1}}) {
        const std::vector<float> image = some_image(height, width);
        const std::vector<float> wanted = by_hand(file, height, width, image);
        const std::vector<float> found = upscale_exactly(model, height, width, image);
        ASSERT_EQ(found.size(), wanted.size());
        for (size_t i = 0; i < found.size(); ++i) EXPECT_FLOAT_EQ(found[i], wanted[i]) << i;
    }
}

TEST(Esrgan, MultiplyAddShuffleAndEvenKernelsComputeWhatTheySay) {
    EsrganFile file;
    file.tensors.clear();
    file.tensor("a.weight", {12, 3, 2, 2});
    file.tensor("a.bias", {12});
    file.layers = {"input LR", "conv a LR", "multiply m a by=0.5", "add s m a m", "shuffle up s by=2", "output up"};
    const std::vector<float> image = some_image(2, 3);
    const std::vector<float> found = upscale_exactly(file.open(), 2, 3, image);
    const auto& weight = file.tensors.at("a.weight").second;
    for (int64_t y = 0; y < 4; ++y)
        for (int64_t x = 0; x < 6; ++x)
            for (int64_t o = 0; o < 3; ++o) {
                const int64_t channel = (y % 2 * 2 + x % 2) * 3 + o;  // tf.depthToSpace
                double total = static_cast<double>(file.tensors.at("a.bias").second[static_cast<size_t>(channel)]);
                for (int64_t c = 0; c < 3; ++c)
                    for (int64_t dy = 0; dy < 2; ++dy)  // of an even kernel TensorFlow pads after, not before
                        for (int64_t dx = 0; dx < 2; ++dx)
                            if (y / 2 + dy < 2 && x / 2 + dx < 3)
                                total +=
                                    static_cast<double>(weight[static_cast<size_t>(((channel * 3 + c) * 2 + dy) * 2 + dx)]) *
                                    static_cast<double>(image[static_cast<size_t>(((y / 2 + dy) * 3 + x / 2 + dx) * 3 + c)]);
                EXPECT_FLOAT_EQ(found[static_cast<size_t>((y * 6 + x) * 3 + o)], static_cast<float>(2 * total));
            }
}

TEST(Esrgan, StoredAsF16ItComputesNearlyTheSameFromHalfTheBytes) {
    EsrganFile file;
    file.tensors.clear();
    file.tensor("a.weight", {12, 3, 3, 3});
    file.tensor("a.bias", {12});
    file.layers = {"input LR", "conv a LR", "multiply m a by=0.5", "add s m a m", "shuffle up s by=2", "output up"};
    const Esrgan model = file.open();
    const Esrgan half = model.stored_as(DType::f16);
    EXPECT_EQ(half.weights()("a.weight").size() * 2, model.weights()("a.weight").size());
    const std::vector<float> image = some_image(4, 5);
    const std::vector<float> expected = upscale_exactly(model, 4, 5, image);
    const std::vector<float> found = upscale_exactly(half, 4, 5, image);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_NE(found, expected);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2.0F);
    EXPECT_EQ(upscale_exactly(half.stored_as(DType::f32), 4, 5, image), expected);
    EXPECT_THROW(static_cast<void>(model.stored_as(DType::i32)), Error);
}

}  // namespace
}  // namespace backplane
