#include "models/esrgan/network.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "gguf/printable.hpp"

namespace backplane::esrgan {

namespace {

constexpr size_t kMostLayers = 1 << 16;
constexpr int64_t kMostChannels = 1 << 20;
constexpr int64_t kMostScale = 64;

class Reader {
public:
    Reader(const FindTensor& find_tensor, const std::string& file) : find_tensor_(find_tensor), file_(file) {}

    Network read(const std::vector<std::string>& lines) {
        if (lines.size() < 2 || lines.size() > kMostLayers) fail("a network has 2 to 65536 layers");
        std::vector<Layer> layers;
        for (const std::string& line : lines) layers.push_back(parsed(line));
        for (const Layer& layer : layers)
            if (layer.kind == LayerKind::unshuffle && (network_.unit *= layer.by) > kMostScale)
                fail("its unshuffles make it more than 64 times smaller");
        for (Layer& layer : layers) append(std::move(layer));
        const Stage& last = network_.stages.back();
        if (last.layer.kind != LayerKind::output) fail("the last layer is not 'output'");
        for (size_t i = 0; i + 1 < network_.stages.size(); ++i)
            if (!used_[i]) fail(quoted(i) + " is used by nobody");
        if (last.scale % network_.unit != 0) fail(last, "the result is not a whole number of times as large as the image");
        network_.scale = last.scale / network_.unit;
        // Less a hair: sums of thirds are not exact.
        network_.radius = static_cast<int64_t>(std::ceil(last.reach - 1e-6));
        return std::move(network_);
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw Error(Code::corrupt, "cannot use '" + file_ + "' as an ESRGAN: " + why);
    }
    [[nodiscard]] std::string quoted(size_t stage) const {
        return "layer " + formats::printable(to_text(network_.stages[stage].layer));
    }
    [[noreturn]] void fail(const Stage& stage, const std::string& why) const {
        fail("layer " + formats::printable(to_text(stage.layer)) + " does not fit: " + why);
    }

    [[nodiscard]] Layer parsed(const std::string& line) const {
        try {
            return parse_layer(line);
        } catch (const Error& e) {
            fail(e.what());
        }
    }

    void append(Layer layer) {
        Stage stage;
        stage.layer = std::move(layer);
        const bool first = network_.stages.empty();
        if ((stage.layer.kind == LayerKind::input) != first) fail(stage, "the first layer, and no other, is 'input'");
        if (!first && network_.stages.back().layer.kind == LayerKind::output) fail(stage, "it comes after 'output'");
        for (const std::string& name : stage.layer.inputs) {
            const auto found = names_.find(name);
            if (found == names_.end()) fail(stage, "no layer before it is called " + formats::printable(name));
            stage.inputs.push_back(found->second);
            used_[found->second] = true;
        }
        infer(stage);
        if (stage.layer.kind != LayerKind::output && !names_.emplace(stage.layer.name, network_.stages.size()).second)
            fail(stage, "the name is taken");
        network_.stages.push_back(std::move(stage));
        used_.push_back(false);
    }

    // Channels, scale and reach of what the stage writes.
    void infer(Stage& stage) {
        for (const size_t i : stage.inputs) {
            const Stage& input = network_.stages[i];
            if (input.scale != network_.stages[stage.inputs[0]].scale) fail(stage, "its inputs differ in size");
            stage.channels = input.channels;
            stage.scale = input.scale;
            stage.reach = std::max(stage.reach, input.reach);
        }
        switch (stage.layer.kind) {
            case LayerKind::input:
                stage.channels = 3;
                stage.scale = network_.unit;
                break;
            case LayerKind::convolution: infer_convolution(stage); break;
            case LayerKind::relu:
            case LayerKind::leaky:
            case LayerKind::multiply: break;
            case LayerKind::concatenate: infer_concatenate(stage); break;
            case LayerKind::add:
                for (const size_t i : stage.inputs)
                    if (network_.stages[i].channels != stage.channels) fail(stage, "its inputs differ in channels");
                break;
            case LayerKind::shuffle:
                if (stage.channels % (stage.layer.by * stage.layer.by) != 0)
                    fail(stage, std::to_string(stage.channels) + " channels do not divide into blocks");
                stage.channels /= stage.layer.by * stage.layer.by;
                [[fallthrough]];
            case LayerKind::upsample:
                stage.scale *= stage.layer.by;
                if (stage.scale > kMostScale * network_.unit) fail(stage, "it enlarges by more than 64 in all");
                break;
            case LayerKind::unshuffle: infer_unshuffle(stage); break;
            case LayerKind::output:
                if (stage.channels != 3) fail(stage, "it has " + std::to_string(stage.channels) + " channels, not 3");
                break;
        }
    }

    void infer_unshuffle(Stage& stage) {
        if (stage.scale % stage.layer.by != 0) fail(stage, "it leaves no whole number of pixels");
        // Each of its pixels sees all of a block.
        stage.reach += static_cast<double>((stage.layer.by - 1) * network_.unit) / static_cast<double>(stage.scale);
        stage.scale /= stage.layer.by;
        stage.channels *= stage.layer.by * stage.layer.by;
        if (stage.channels > kMostChannels) fail(stage, "it has more than 2^20 channels");
    }

    void infer_concatenate(Stage& stage) {
        stage.channels = 0;
        for (const size_t i : stage.inputs) stage.channels += network_.stages[i].channels;
        if (stage.channels > kMostChannels) fail(stage, "it has more than 2^20 channels");
    }

    void infer_convolution(Stage& stage) {
        const GgufTensor& weight = tensor(stage, weight_name(stage.layer));
        const Shape& shape = weight.shape;
        const bool fits = shape.size() == 4 && shape[1] == stage.channels && shape[0] >= 1 && shape[0] <= kMostChannels &&
                          shape[2] >= 1 && shape[3] >= 1;
        if (!fits)
            fail(stage,
                 "its weight " + to_string(shape) + " is not [out, " + std::to_string(stage.channels) + ", height, width]");
        const GgufTensor& bias = tensor(stage, bias_name(stage.layer));
        if (bias.shape != Shape{shape[0]})
            fail(stage, "its bias " + to_string(bias.shape) + " is not [" + std::to_string(shape[0]) + "]");
        stage.channels = shape[0];
        // Of an even kernel the larger half.
        const int64_t half = std::max(shape[2], shape[3]) / 2;
        stage.reach += static_cast<double>(half * network_.unit) / static_cast<double>(stage.scale);
        network_.parameters += static_cast<uint64_t>(elements(shape) + shape[0]);
        stage.weight = shape;
    }

    [[nodiscard]] const GgufTensor& tensor(const Stage& stage, const std::string& name) const {
        const GgufTensor* found = find_tensor_(name);
        if (found == nullptr) fail(stage, "tensor " + formats::printable(name) + " is missing");
        if (found->dtype != DType::f32) fail(stage, "tensor " + formats::printable(name) + " is not f32");
        return *found;
    }

    const FindTensor& find_tensor_;
    const std::string& file_;
    Network network_;
    std::map<std::string, size_t, std::less<>> names_;
    std::vector<bool> used_;
};

}  // namespace

Network read_network(const std::vector<std::string>& lines, const FindTensor& find_tensor, const std::string& file) {
    return Reader(find_tensor, file).read(lines);
}

}  // namespace backplane::esrgan
