// Small TensorFlow.js models as JSON, to be broken.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "backplane/error.hpp"
#include "base/json.hpp"

namespace backplane {

using json = base::Json;

inline json tfjs_layer(const std::string& kind, const std::string& name, const std::vector<std::string>& inputs,
                       json config) {
    json references = json::array();
    for (const std::string& input : inputs) references.push_back({input, 0, 0, json::object()});
    config["name"] = name;
    return {{"class_name", kind},
            {"name", name},
            {"config", std::move(config)},
            {"inbound_nodes", inputs.empty() ? json::array() : json::array({references})}};
}

inline json tfjs_conv(const std::string& name, const std::string& input, int filters, int kernel) {
    return tfjs_layer("Conv2D", name, {input},
                      {{"filters", filters},
                       {"kernel_size", {kernel, kernel}},
                       {"strides", {1, 1}},
                       {"padding", "same"},
                       {"data_format", "channels_last"},
                       {"dilation_rate", {1, 1}},
                       {"groups", 1},
                       {"activation", "linear"},
                       {"use_bias", true}});
}

inline json tfjs_weight(const std::string& name, const std::vector<int64_t>& shape) {
    return {{"name", name}, {"shape", shape}, {"dtype", "float32"}};
}

// LR -> body (3x3, 4 channels) -> relu -> cat(relu, body) -> join = cat + cat -> up x2 -> SR (1x1, 3 channels).
inline json tfjs_document() {
    json up = {{"size", {2, 2}}, {"data_format", "channels_last"}, {"interpolation", "nearest"}};
    json layers = json::array({
        tfjs_layer("InputLayer", "LR", {}, json::object()),
        tfjs_conv("SR", "up", 3, 1),  // before its input: the list need not be sorted
        tfjs_conv("body", "LR", 4, 3),
        tfjs_layer("Activation", "relu", {"body"}, {{"activation", "relu"}}),
        tfjs_layer("Concatenate", "cat", {"relu", "body"}, {{"axis", 3}}),
        tfjs_layer("Add", "join", {"cat", "cat"}, json::object()),
        tfjs_layer("Activation", "same", {"join"}, {{"activation", "linear"}}),
        tfjs_layer("UpSampling2D", "up", {"same"}, std::move(up)),
        tfjs_layer("Activation", "unused", {"body"}, {{"activation", "relu"}}),
    });
    json config = {{"name", "generator"},
                   {"layers", std::move(layers)},
                   {"input_layers", json::array({json::array({"LR", 0, 0})})},
                   {"output_layers", json::array({json::array({"SR", 0, 0})})}};
    json weights = json::array({tfjs_weight("body/kernel", {3, 3, 3, 4}), tfjs_weight("body/bias", {4}),
                                tfjs_weight("SR/kernel", {1, 1, 8, 3}), tfjs_weight("SR/bias", {3})});
    return {{"format", "layers-model"},
            {"modelTopology", {{"model_config", {{"class_name", "Functional"}, {"config", std::move(config)}}}}},
            {"weightsManifest", json::array({{{"paths", {"a.bin", "b.bin"}}, {"weights", std::move(weights)}}})}};
}

inline constexpr size_t kTfjsFloats = 3 * 3 * 3 * 4 + 4 + 8 * 3 + 3;

// The weights 0.00, 0.01, 0.02, ... in two files, cut inside a number.
inline std::map<std::string, std::vector<std::byte>> tfjs_shards(size_t floats = kTfjsFloats) {
    std::vector<float> values(floats);
    for (size_t i = 0; i < floats; ++i) values[i] = 0.01F * static_cast<float>(i);
    std::vector<std::byte> all(floats * 4);
    std::memcpy(all.data(), values.data(), all.size());
    const auto middle = all.begin() + 101;
    return {{"a.bin", {all.begin(), middle}}, {"b.bin", {middle, all.end()}}};
}

// The layer of that name in the document.
inline json& layer_of(json& document, const std::string& name) {
    for (json& layer : document["modelTopology"]["model_config"]["config"]["layers"])
        if (layer["name"] == name) return layer;
    throw std::runtime_error("no layer " + name);
}
inline json& config_of(json& document) { return document["modelTopology"]["model_config"]["config"]; }
inline json& weights_of(json& document) { return document["weightsManifest"][0]["weights"]; }

}  // namespace backplane
