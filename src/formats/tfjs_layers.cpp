#include "formats/tfjs_layers.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "gguf/printable.hpp"

namespace backplane::formats {

namespace {

constexpr int64_t kMostFactor = 64;  // of an enlargement
constexpr int64_t kMostChannels = 1 << 20;
constexpr int64_t kMostKernel = 1 << 10;

void require_ones(const JsonView& config, const char* key) {
    const JsonView value = config.at(key);
    if (value.counts(1, kMostKernel) != std::vector<int64_t>{1, 1})
        value.fail("only [1, 1] is supported", Code::unsupported);
}

void read_convolution(const JsonView& config, TfjsLayer& layer) {
    layer.kind = TfjsKind::convolution;
    require_ones(config, "strides");
    require_ones(config, "dilation_rate");
    config.at("data_format").require_text("channels_last");
    config.at("activation").require_text("linear");
    if (config.has("groups") && config.at("groups").count(1, kMostChannels) != 1)
        config.at("groups").fail("only 1 is supported", Code::unsupported);
    layer.filters = config.at("filters").count(1, kMostChannels);
    layer.bias = config.at("use_bias").truth();
    layer.kernel = config.at("kernel_size").counts(1, kMostKernel);
    if (layer.kernel.size() != 2) config.at("kernel_size").fail("it has not two elements");
    // Nothing is padded for a kernel of 1 by 1, whatever the padding is called.
    if (layer.kernel != Shape{1, 1} || config.at("padding").text() != "valid") config.at("padding").require_text("same");
}

void read_activation(const JsonView& config, TfjsLayer& layer) {
    const JsonView activation = config.at("activation");
    if (activation.text() == "relu") {
        layer.kind = TfjsKind::relu;
    } else if (activation.text() == "linear") {
        layer.kind = TfjsKind::identity;
    } else {
        activation.fail("it is " + printable(activation.text()) + "; only 'relu' and 'linear' are supported",
                        Code::unsupported);
    }
}

void read_concatenate(const JsonView& config, TfjsLayer& layer) {
    layer.kind = TfjsKind::concatenate;
    const double axis = config.at("axis").number();
    if (axis != 3 && axis != -1) config.at("axis").fail("only the channels, 3 or -1, are supported", Code::unsupported);
}

void read_upsample(const JsonView& config, TfjsLayer& layer) {
    layer.kind = TfjsKind::upsample;
    config.at("interpolation").require_text("nearest");
    config.at("data_format").require_text("channels_last");
    const std::vector<int64_t> size = config.at("size").counts(1, kMostFactor);
    if (size.size() != 2) config.at("size").fail("it has not two elements");
    if (size[0] != size[1])
        config.at("size").fail("only the same factor in both directions is supported", Code::unsupported);
    layer.by = size[0];
}

void read_multiply(const JsonView& config, TfjsLayer& layer) {
    layer.kind = TfjsKind::multiply;
    layer.factor = config.at("beta").number();
    if (!std::isfinite(static_cast<float>(layer.factor))) config.at("beta").fail("it is out of range");
}

void read_pixel_shuffle(const JsonView& config, int64_t by, TfjsLayer& layer) {
    layer.kind = TfjsKind::pixel_shuffle;
    layer.by = by;
    if (config.has("scale") && config.at("scale").count(1, kMostFactor) != by)
        config.at("scale").fail("it is not the " + std::to_string(by) + " of the layer's class");
}

TfjsLayer read_layer(const JsonView& json, const std::string& name) {
    TfjsLayer layer;
    layer.name = name;
    const std::string& kind = json.at("class_name").text();
    const JsonView config = json.at("config");
    if (kind == "InputLayer") {
        layer.kind = TfjsKind::input;
    } else if (kind == "Conv2D") {
        read_convolution(config, layer);
    } else if (kind == "Activation") {
        read_activation(config, layer);
    } else if (kind == "Concatenate") {
        read_concatenate(config, layer);
    } else if (kind == "Add") {
        layer.kind = TfjsKind::add;
    } else if (kind == "UpSampling2D") {
        read_upsample(config, layer);
    } else if (kind == "MultiplyBeta") {
        read_multiply(config, layer);
    } else if (kind == "PixelShuffle2x" || kind == "PixelShuffle3x" || kind == "PixelShuffle4x" ||
               kind == "PixelShuffle8x") {
        read_pixel_shuffle(config, kind[kind.size() - 2] - '0', layer);
    } else {
        json.fail("layers of the class " + printable(kind) + " are not supported", Code::unsupported);
    }
    return layer;
}

using Names = std::map<std::string, size_t, std::less<>>;

size_t find_layer(const Names& names, const JsonView& reference) {
    const auto found = names.find(reference.text());
    if (found == names.end()) reference.fail("there is no layer named " + printable(reference.text()));
    return found->second;
}

// [layer, node, tensor, ...]: every layer here is used once and has one result.
size_t read_reference(const Names& names, const JsonView& reference) {
    for (size_t i = 1; i < 3; ++i)
        if (reference[i].count(0, INT32_MAX) != 0)
            reference.fail("a layer that is used twice or has several results is not supported", Code::unsupported);
    return find_layer(names, reference[0]);
}

void read_inputs(const JsonView& json, const Names& names, TfjsLayer& layer) {
    const JsonView nodes = json.at("inbound_nodes");
    const bool is_input = layer.kind == TfjsKind::input;
    if (nodes.size() != (is_input ? 0U : 1U))
        nodes.fail(is_input ? "an input layer has inputs" : "only a layer that is used exactly once is supported",
                   is_input ? Code::corrupt : Code::unsupported);
    if (is_input) return;
    for (size_t i = 0; i < nodes[0].size(); ++i) layer.inputs.push_back(read_reference(names, nodes[0][i]));
    const bool several = layer.kind == TfjsKind::concatenate || layer.kind == TfjsKind::add;
    if (layer.inputs.empty() || (!several && layer.inputs.size() != 1))
        nodes.fail("it has " + std::to_string(layer.inputs.size()) + " inputs");
}

// Depth first from the output, without recursion: the file decides how deep it goes.
class Sorter {
public:
    Sorter(const std::vector<TfjsLayer>& layers, const JsonView& json)
        : layers_(layers), json_(json), marks_(layers.size()) {}

    std::vector<TfjsLayer> from(size_t output) {
        enter(output);
        while (!open_.empty()) {
            auto& [layer, next] = open_.back();
            if (next < layers_[layer].inputs.size()) {
                enter(layers_[layer].inputs[next++]);
            } else {
                leave(layer);
            }
        }
        return std::move(sorted_);
    }

private:
    enum class Mark { untouched, open, done };
    struct Open {
        size_t layer, next;
    };

    void enter(size_t layer) {
        if (marks_[layer] == Mark::open) json_.fail("layer " + printable(layers_[layer].name) + " needs its own result");
        if (marks_[layer] == Mark::done) return;
        marks_[layer] = Mark::open;
        open_.push_back({layer, 0});
    }

    void leave(size_t layer) {
        marks_[layer] = Mark::done;
        places_[layer] = sorted_.size();
        sorted_.push_back(layers_[layer]);
        for (size_t& input : sorted_.back().inputs) input = places_.at(input);
        open_.pop_back();
    }

    const std::vector<TfjsLayer>& layers_;
    const JsonView& json_;
    std::vector<Mark> marks_;
    std::vector<Open> open_;
    std::map<size_t, size_t> places_;
    std::vector<TfjsLayer> sorted_;
};

size_t read_end(const JsonView& network, const char* key, const Names& names) {
    const JsonView ends = network.at(key);
    if (ends.size() != 1) ends.fail("only a network with one input and one output is supported", Code::unsupported);
    return read_reference(names, ends[0]);
}

}  // namespace

std::vector<TfjsLayer> read_tfjs_layers(const JsonView& network) {
    const JsonView list = network.at("layers");
    std::vector<TfjsLayer> layers;
    Names names;
    for (size_t i = 0; i < list.size(); ++i) {
        const std::string& name = list[i].at("name").text();
        const JsonView json = list[i].named("layer " + printable(name));
        if (!names.emplace(name, i).second) json.fail("the name is taken");
        layers.push_back(read_layer(json, name));
    }
    for (size_t i = 0; i < list.size(); ++i)
        read_inputs(list[i].named("layer " + printable(layers[i].name)), names, layers[i]);
    const size_t input = read_end(network, "input_layers", names);
    for (size_t i = 0; i < layers.size(); ++i)
        if ((layers[i].kind == TfjsKind::input) != (i == input))
            network.fail("layer " + printable(layers[i].name) + " and 'input_layers' disagree on what the input is");
    std::vector<TfjsLayer> sorted = Sorter(layers, network).from(read_end(network, "output_layers", names));
    if (sorted.front().kind != TfjsKind::input) network.fail("the output does not depend on the input");
    return sorted;
}

}  // namespace backplane::formats
