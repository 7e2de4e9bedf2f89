// What the parser makes of models that lie, and of those that do not.
#include "formats/tfjs.hpp"

#include <functional>

#include "support.hpp"
#include "tfjs_documents.hpp"

namespace backplane {
namespace {

using formats::TfjsKind;
using formats::TfjsModel;

using Shards = std::map<std::string, std::vector<std::byte>>;

TfjsModel parse_text(const std::string& text, const Shards& shards = tfjs_shards()) {
    return formats::parse_tfjs(text, "model.json", [&](const std::string& path) {
        const auto found = shards.find(path);
        if (found == shards.end()) throw Error(Code::not_found, "no shard " + path);
        return found->second;
    });
}
TfjsModel parse(const json& document, const Shards& shards = tfjs_shards()) { return parse_text(document.dump(), shards); }

TEST(Tfjs, BrokenJsonIsCorrupt) {
    const std::string whole = tfjs_document().dump();
    const std::string deep(100000, '[');
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"), deep, deep + std::string(100000, ']'),
          whole + "x", "\xff" + whole, std::string("{\"a\": 1e999}")})
        expect_error([&] { parse_text(text); }, Code::corrupt, "model.json");
}

TEST(Tfjs, AModelCutOffAnywhereIsCorrupt) {
    const std::string whole = tfjs_document().dump();
    for (size_t length = 0; length < whole.size(); ++length)
        error_of([&] { parse_text(whole.substr(0, length)); }, Code::corrupt);
}

// Calls `visit` with every value inside `node`, the deepest first.
void for_each_value(json& node, const std::function<void(json&)>& visit) {
    for (json& child : node) for_each_value(child, visit);
    visit(node);
}

TEST(Tfjs, AnyValueMayBeOfAnyTypeAndOnlyErrorsComeOfIt) {
    json document = tfjs_document();
    const std::vector<json> others{
        nullptr,        true,       -1,           0, 7, uint64_t{UINT64_MAX}, 0.5, 1e300, "text", "", json::array(),
        json::object(), json({{}}), {{"size", 2}}};
    size_t refused = 0;
    size_t tried = 0;
    for_each_value(document, [&](json& value) {
        for (const json& other : others) {
            const json kept = std::exchange(value, other);
            ++tried;
            try {
                parse(document);
            } catch (const Error&) {
                ++refused;
            }
            value = kept;
        }
    });
    EXPECT_GT(tried, 1000U);
    EXPECT_GT(refused, tried / 2);
}

TEST(Tfjs, EveryMemberThatIsNeededIsNamedWhenItIsMissing) {
    const auto without = [](const std::function<void(json&)>& change) {
        json document = tfjs_document();
        change(document);
        return document;
    };
    for (const char* key : {"modelTopology", "weightsManifest"})
        expect_error([&] { parse(without([&](json& d) { d.erase(key); })); }, Code::corrupt, key);
    for (const char* key : {"layers", "input_layers", "output_layers"})
        expect_error([&] { parse(without([&](json& d) { config_of(d).erase(key); })); }, Code::corrupt, key);
    for (const char* key : {"class_name", "name", "config", "inbound_nodes"})
        expect_error([&] { parse(without([&](json& d) { layer_of(d, "body").erase(key); })); }, Code::corrupt, key);
    for (const char* key :
         {"filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation", "use_bias"})
        expect_error([&] { parse(without([&](json& d) { layer_of(d, "body")["config"].erase(key); })); }, Code::corrupt,
                     key);
    for (const char* key : {"name", "shape", "dtype"})
        expect_error([&] { parse(without([&](json& d) { weights_of(d)[0].erase(key); })); }, Code::corrupt, key);
}

struct Change {
    const char* name;
    std::function<void(json&)> make;
    Code code;
    const char* about;
};

TEST(Tfjs, WhatIsNotSupportedOrMakesNoSenseIsNamed) {
    const auto config = [](json& d, const char* layer) -> json& { return layer_of(d, layer)["config"]; };
    const std::vector<Change> changes{
        {"format", [](json& d) { d["format"] = "graph-model"; }, Code::unsupported, "graph-model"},
        {"unknown layer", [](json& d) { layer_of(d, "relu")["class_name"] = "Dense"; }, Code::unsupported, "'Dense'"},
        {"unknown unused layer", [](json& d) { layer_of(d, "unused")["class_name"] = "Lambda"; }, Code::unsupported,
         "'unused'"},
        {"shuffle by five", [](json& d) { layer_of(d, "relu")["class_name"] = "PixelShuffle5x"; }, Code::unsupported,
         "PixelShuffle5x"},
        {"activation", [&](json& d) { config(d, "relu")["activation"] = "tanh"; }, Code::unsupported, "'tanh'"},
        {"fused activation", [&](json& d) { config(d, "body")["activation"] = "relu"; }, Code::unsupported, "'body'"},
        {"strides",
         [&](json& d) {
             config(d, "body")["strides"] = {2, 2};
         },
         Code::unsupported, "strides"},
        {"dilation",
         [&](json& d) {
             config(d, "body")["dilation_rate"] = {1, 2};
         },
         Code::unsupported, "dilation_rate"},
        {"groups", [&](json& d) { config(d, "body")["groups"] = 3; }, Code::unsupported, "groups"},
        {"valid 3x3", [&](json& d) { config(d, "body")["padding"] = "valid"; }, Code::unsupported, "'valid'"},
        {"channels first", [&](json& d) { config(d, "body")["data_format"] = "channels_first"; }, Code::unsupported,
         "channels_first"},
        {"kernel of one number", [&](json& d) { config(d, "body")["kernel_size"] = {3}; }, Code::corrupt, "kernel_size"},
        {"negative filters", [&](json& d) { config(d, "body")["filters"] = -4; }, Code::corrupt, "filters"},
        {"axis", [&](json& d) { config(d, "cat")["axis"] = 1; }, Code::unsupported, "axis"},
        {"bilinear", [&](json& d) { config(d, "up")["interpolation"] = "bilinear"; }, Code::unsupported, "bilinear"},
        {"two factors",
         [&](json& d) {
             config(d, "up")["size"] = {2, 3};
         },
         Code::unsupported, "size"},
        {"huge factor",
         [&](json& d) {
             config(d, "up")["size"] = {1000, 1000};
         },
         Code::corrupt, "size"},
        {"cycle", [](json& d) { layer_of(d, "body")["inbound_nodes"][0][0][0] = "same"; }, Code::corrupt,
         "needs its own result"},
        {"cycle of one", [](json& d) { layer_of(d, "up")["inbound_nodes"][0][0][0] = "up"; }, Code::corrupt, "'up'"},
        {"unknown input", [](json& d) { layer_of(d, "up")["inbound_nodes"][0][0][0] = "none"; }, Code::corrupt, "'none'"},
        {"no inputs", [](json& d) { layer_of(d, "up")["inbound_nodes"][0] = json::array(); }, Code::corrupt, "0 inputs"},
        {"two inputs",
         [](json& d) {
             layer_of(d, "up")["inbound_nodes"][0].push_back({"cat", 0, 0});
         },
         Code::corrupt, "2 inputs"},
        {"used twice",
         [](json& d) {
             layer_of(d, "up")["inbound_nodes"].push_back({{"cat", 0, 0}});
         },
         Code::unsupported, "once"},
        {"second node", [](json& d) { layer_of(d, "up")["inbound_nodes"][0][0][1] = 1; }, Code::unsupported, "used twice"},
        {"name twice", [](json& d) { layer_of(d, "unused")["name"] = "body"; }, Code::corrupt, "'body'"},
        {"input with inputs",
         [](json& d) {
             layer_of(d, "LR")["inbound_nodes"] = {{{"SR", 0, 0}}};
         },
         Code::corrupt, "'LR'"},
        {"no input", [](json& d) { config_of(d)["input_layers"] = json::array(); }, Code::unsupported, "one input"},
        {"input that is none", [](json& d) { config_of(d)["input_layers"][0][0] = "body"; }, Code::corrupt, "input_layers"},
        {"two outputs",
         [](json& d) {
             config_of(d)["output_layers"].push_back({"up", 0, 0});
         },
         Code::unsupported, "one output"},
        {"unknown output", [](json& d) { config_of(d)["output_layers"][0][0] = "none"; }, Code::corrupt, "'none'"},
        {"half floats", [](json& d) { weights_of(d)[0]["dtype"] = "float16"; }, Code::unsupported, "body/kernel"},
        {"quantised",
         [](json& d) {
             weights_of(d)[0]["quantization"] = {{"dtype", "uint8"}};
         },
         Code::unsupported, "body/kernel"},
        {"weight twice",
         [](json& d) {
             weights_of(d)[3]["name"] = "SR/kernel";
             weights_of(d)[2]["name"] = "SR/kernel";
         },
         Code::corrupt, "SR/kernel"},
        {"shard twice", [](json& d) { d["weightsManifest"][0]["paths"][1] = "a.bin"; }, Code::corrupt, "a.bin"},
        {"missing shard", [](json& d) { d["weightsManifest"][0]["paths"][1] = "c.bin"; }, Code::not_found, "c.bin"},
        {"one shard only", [](json& d) { d["weightsManifest"][0]["paths"].erase(1); }, Code::corrupt, "body/kernel"},
        {"huge shape",
         [](json& d) {
             weights_of(d)[0]["shape"] = {INT64_MAX, INT64_MAX};
         },
         Code::corrupt, "2^62"},
        {"large shape", [](json& d) { weights_of(d)[0]["shape"] = {int64_t{1} << 60}; }, Code::corrupt, "end inside"},
        {"negative shape",
         [](json& d) {
             weights_of(d)[0]["shape"] = {-1, -4};
         },
         Code::corrupt, "shape"},
        {"shape of text", [](json& d) { weights_of(d)[0]["shape"] = "3"; }, Code::corrupt, "shape"},
        {"rank 9", [](json& d) { weights_of(d)[0]["shape"] = std::vector<int64_t>(9, 1); }, Code::corrupt, "rank"},
        {"smaller shape", [](json& d) { weights_of(d)[3]["shape"] = {2}; }, Code::corrupt, "the weights 552"},
    };
    for (const Change& change : changes) {
        SCOPED_TRACE(change.name);
        json document = tfjs_document();
        change.make(document);
        expect_error([&] { parse(document); }, change.code, change.about);
    }
}

TEST(Tfjs, ShardsOfAnotherSizeAreCorrupt) {
    expect_error([] { parse(tfjs_document(), tfjs_shards(kTfjsFloats - 1)); }, Code::corrupt, "'SR/bias'");
    expect_error([] { parse(tfjs_document(), tfjs_shards(kTfjsFloats + 1)); }, Code::corrupt, "the weights 556");
}

TEST(Tfjs, ACircleThroughManyLayersIsFoundWithoutRecursion) {
    json document = tfjs_document();
    json& layers = config_of(document)["layers"];
    constexpr int kMany = 20000;
    for (int i = 0; i < kMany; ++i)
        layers.push_back(tfjs_layer("Activation", "n" + std::to_string(i), {i == 0 ? "body" : "n" + std::to_string(i - 1)},
                                    {{"activation", "relu"}}));
    layer_of(document, "up")["inbound_nodes"][0][0][0] = "n" + std::to_string(kMany - 1);
    EXPECT_EQ(parse(document).layers.size(), static_cast<size_t>(kMany) + 4);
    layer_of(document, "n0")["inbound_nodes"][0][0][0] = "up";
    expect_error([&] { parse(document); }, Code::corrupt, "needs its own result");
}

TEST(Tfjs, LayersComeAfterTheirInputsAndUnusedOnesAreLeftOut) {
    const TfjsModel model = parse(tfjs_document());
    ASSERT_EQ(model.layers.size(), 8U);
    EXPECT_EQ(model.layers.front().kind, TfjsKind::input);
    EXPECT_EQ(model.layers.back().name, "SR");
    for (size_t i = 0; i < model.layers.size(); ++i) {
        EXPECT_NE(model.layers[i].name, "unused");
        for (const size_t input : model.layers[i].inputs) EXPECT_LT(input, i);
    }
    const auto& conv = model.layers.back();
    EXPECT_EQ(conv.filters, 3);
    EXPECT_EQ(conv.kernel, (Shape{1, 1}));
    EXPECT_TRUE(conv.bias);
    EXPECT_EQ(model.layers[conv.inputs[0]].by, 2);
}

TEST(Tfjs, WeightsAreCutFromTheShardsInOrder) {
    const TfjsModel model = parse(tfjs_document());
    ASSERT_NE(model.find_weight("SR/bias"), nullptr);
    EXPECT_EQ(model.find_weight("SR/bias")->values, (std::vector<float>{1.36F, 1.37F, 1.38F}));
    EXPECT_EQ(model.find_weight("body/kernel")->shape, (Shape{3, 3, 3, 4}));
    EXPECT_EQ(model.find_weight("none"), nullptr);
}

TEST(Tfjs, ShardsAreReadBesideTheModelAndNowhereElse) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "model");
    json document = tfjs_document();
    const Shards shards = tfjs_shards();
    const auto place = [&](const std::string& name, const std::string& shard) {
        write_file(folder / name, {reinterpret_cast<const char*>(shards.at(shard).data()), shards.at(shard).size()});
    };
    place("model/a.bin", "a.bin");
    place("model/b.bin", "b.bin");
    place("outside.bin", "b.bin");
    const auto read = [&](const std::string& second) {
        document["weightsManifest"][0]["paths"][1] = second;
        write_file(folder / "model/model.json", document.dump());
        return formats::read_tfjs(folder / "model/model.json");
    };
    EXPECT_EQ(read("b.bin").weights.size(), 4U);
    expect_error([&] { read("missing.bin"); }, Code::not_found, "missing.bin");
    expect_error([&] { read("../outside.bin"); }, Code::corrupt, "not the name of a file beside it");
    expect_error([&] { read((folder / "outside.bin").string()); }, Code::corrupt, "not the name of a file beside it");
    for (const char* name : {"", ".", ".."}) expect_error([&] { read(name); }, Code::corrupt, "not the name of a file");
    expect_error([&] { formats::read_tfjs(folder / "none.json"); }, Code::not_found, "none.json");
}

}  // namespace
}  // namespace backplane
