// From a TensorFlow.js package to GGUF.
#include "esrgan_file.hpp"
#include "tfjs_documents.hpp"

namespace backplane {
namespace {

// A package folder with the models it is given.
class Package {
public:
    explicit Package(const std::string& name = "@somebody/esrgan-tiny") {
        write_file(folder_ / "package.json", json({{"name", name}}).dump());
        std::filesystem::create_directory(folder_ / "models");
    }
    void add(const std::string& scale, const json& document, size_t floats = kTfjsFloats) {
        std::filesystem::create_directory(folder_ / ("models/" + scale));
        write_file(folder_ / ("models/" + scale + "/model.json"), document.dump());
        for (const auto& [name, bytes] : tfjs_shards(floats))
            write_file(folder_ / ("models/" + scale + "/" + name),
                       {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
    [[nodiscard]] std::filesystem::path out() const { return folder_ / "out.gguf"; }
    [[nodiscard]] Esrgan import(int scale = 0) const {
        import_esrgan_tfjs(path(), scale, out());
        return Esrgan::open(out());
    }
    void expect_refused(int scale, Code code, const std::string& about) const {
        expect_error([&] { import_esrgan_tfjs(path(), scale, out()); }, code, about);
        EXPECT_FALSE(std::filesystem::exists(out()));
    }

private:
    TemporaryFolder folder_;
};

TEST(EsrganImport, AModelThatIsNotThereOrNotChosenIsNamed) {
    Package package;
    package.expect_refused(0, Code::not_found, "models/x*/model.json");
    package.add("x2", tfjs_document());
    package.expect_refused(4, Code::not_found, "only x2");
    package.expect_refused(-1, Code::invalid, "scale of -1");
    package.add("x4", tfjs_document());
    package.expect_refused(0, Code::invalid, "x2, x4");
    package.expect_refused(4, Code::corrupt, "enlarges by 2, not 4");
    expect_error([&] { import_esrgan_tfjs(package.path() / "none", 2, package.out()); }, Code::not_found, "none");
}

TEST(EsrganImport, LayersThatDoNotFitAreNamedAndNothingIsWritten) {
    const auto refused = [](const std::function<void(json&)>& change, const char* about, Code code = Code::corrupt) {
        json document = tfjs_document();
        change(document);
        Package package;
        package.add("x2", document);
        package.expect_refused(2, code, about);
    };
    refused([](json& d) { weights_of(d)[1]["name"] = "other"; }, "'body/bias' is missing");
    refused([](json& d) { weights_of(d)[0]["name"] = "other"; }, "'body/kernel' is missing");
    refused([](json& d) { weights_of(d)[0]["shape"] = {3, 3, 4, 3}; }, "[3, 3, in, 4]");
    refused([](json& d) { weights_of(d)[0]["shape"] = {108}; }, "[108]");
    refused([](json& d) { weights_of(d)[1]["shape"] = {2, 2}; }, "its bias [2, 2] is not [4]");
    refused([](json& d) { weights_of(d)[2]["shape"] = {1, 1, 4, 6}; }, "'SR'");
    refused([](json& d) { layer_of(d, "join")["inbound_nodes"][0][0][0] = "body"; }, "differ in channels");
    refused([](json& d) { config_of(d)["output_layers"][0][0] = "up"; }, "8 channels, not 3");
    refused([](json& d) { layer_of(d, "relu")["class_name"] = "Softmax"; }, "'Softmax'", Code::unsupported);
    refused(
        [](json& d) {
            layer_of(d, "relu")["name"] = "re lu";
            layer_of(d, "cat")["inbound_nodes"][0][0][0] = "re lu";
        },
        "'re lu'", Code::unsupported);
}

TEST(EsrganImport, WeightsThatAreNoNumbersAreCorrupt) {
    Package package;
    package.add("x2", tfjs_document());
    std::string shard = read_file(package.path() / "models/x2/a.bin");
    shard.replace(0, 4, "\xff\xff\xff\xff");
    write_file(package.path() / "models/x2/a.bin", shard);
    package.expect_refused(2, Code::corrupt, "'body/kernel' holds values that are no finite numbers");
}

TEST(EsrganImport, LayersAndWeightsArriveInTheLayoutOfTheGraph) {
    Package package;
    package.add("x2", tfjs_document());
    const Esrgan model = package.import();
    EXPECT_EQ(model.name(), "esrgan-tiny-x2");
    EXPECT_EQ(model.scale(), 2);
    const GgufFile file = GgufFile::open(package.out());
    EXPECT_EQ(file.texts("esrgan.layers"),
              (std::vector<std::string>{"input LR", "conv body LR", "relu relu body", "concat cat relu body",
                                        "add join cat cat", "upsample up join by=2", "conv SR up", "output SR"}));
    EXPECT_EQ(file.find_tensor("body.weight")->shape, (Shape{4, 3, 3, 3}));
    const std::span<const std::byte> data = file.data("body.weight");
    const auto at = [&](size_t o, size_t i, size_t y, size_t x) {
        float value = 0;
        std::memcpy(&value, data.data() + 4 * (((o * 3 + i) * 3 + y) * 3 + x), 4);
        return value;
    };
    for (size_t o = 0; o < 4; ++o)
        for (size_t i = 0; i < 3; ++i)
            for (size_t y = 0; y < 3; ++y)
                for (size_t x = 0; x < 3; ++x)
                    EXPECT_EQ(at(o, i, y, x), 0.01F * static_cast<float>(((y * 3 + x) * 3 + i) * 4 + o));
}

TEST(EsrganImport, AConvolutionWithoutBiasGetsOneOfZeros) {
    json document = tfjs_document();
    layer_of(document, "SR")["config"]["use_bias"] = false;
    weights_of(document).erase(3);
    Package package;
    package.add("x2", document, kTfjsFloats - 3);
    const Esrgan model = package.import();
    const std::span<const std::byte> bias = model.weights()("SR.bias");
    EXPECT_EQ(std::vector<std::byte>(bias.begin(), bias.end()), std::vector<std::byte>(12));
}

// "LR" -> x 0.2 -> 1x1 convolution to 12 channels -> pixel shuffle: such networks work on 0 to 1.
TEST(EsrganImport, NetworksOfTheUnitRangeStillTakeAndGive255) {
    json document = tfjs_document();
    config_of(document)["layers"] = json::array(
        {tfjs_layer("InputLayer", "LR", {}, json::object()), tfjs_layer("MultiplyBeta", "beta", {"LR"}, {{"beta", 0.2}}),
         tfjs_conv("pre", "beta", 12, 1), tfjs_layer("PixelShuffle2x", "SR", {"pre"}, {{"scale", 2}})});
    weights_of(document) = json::array({tfjs_weight("pre/kernel", {1, 1, 3, 12}), tfjs_weight("pre/bias", {12})});
    Package package;
    package.add("x2", document, 48);
    const std::vector<float> image{10, 20, 250};
    const std::vector<float> found = upscale_exactly(package.import(), 1, 1, image);
    ASSERT_EQ(found.size(), 12U);
    for (size_t o = 0; o < 12; ++o) {
        double total = 0.01 * static_cast<double>(36 + o);  // the bias
        for (size_t i = 0; i < 3; ++i)
            total += 0.01 * static_cast<double>(i * 12 + o) * 0.2 * static_cast<double>(image[i]) / 255;
        EXPECT_NEAR(found[o], 255 * total, 1e-4) << o;
    }
}

TEST(EsrganImport, AModelByItselfIsNamedAfterNoPackage) {
    Package package("not a name of a package");
    package.add("x2", tfjs_document());
    import_esrgan_tfjs(package.path() / "models/x2/model.json", 0, package.out());
    EXPECT_EQ(Esrgan::open(package.out()).name(), "esrgan-x2");
}

// The published packages, where scripts/fetch-models.sh has put them.
TEST(EsrganImport, PublishedPackagesAreImported) {
    const std::filesystem::path packages = std::filesystem::path(BP_TEST_SOURCE_DIR) / "build/packages";
    for (const char* size : {"slim", "medium", "thick"})
        if (!std::filesystem::is_directory(packages / size))
            GTEST_SKIP() << "there is no " << packages / size << ": run scripts/fetch-models.sh";
    const TemporaryFolder folder;
    for (const std::string size : {"slim", "medium", "thick"})
        for (const int scale : {2, 3, 4, 8}) {
            import_esrgan_tfjs(packages / size, scale, folder / "out.gguf");
            const Esrgan model = Esrgan::open(folder / "out.gguf");
            EXPECT_EQ(model.name(), "esrgan-" + size + "-x" + std::to_string(scale));
            const Graph g = model.graph(8, 8);
            EXPECT_EQ(g[g.find("upscaled")].shape, (Shape{1, 8 * scale, 8 * scale, 3}));
        }
}

}  // namespace
}  // namespace backplane
