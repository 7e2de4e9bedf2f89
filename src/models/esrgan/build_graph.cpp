// Feature maps are [1, channels, height, width] inside, pixels come and go as [1, height, width, channels].
#include "backplane/ops.hpp"
#include "models/esrgan/network.hpp"

namespace backplane::esrgan {

namespace {

constexpr int64_t kMostPixels = int64_t{1} << 31;  // in one direction

class Builder {
public:
    Builder(const Network& network, int64_t height, int64_t width, DType dtype)
        : network_(network), height_(height), width_(width), dtype_(dtype) {
        const auto missing = [&](int64_t size) { return (network.unit - size % network.unit) % network.unit; };
        below_ = missing(height);
        beside_ = missing(width);
    }

    Graph build() {
        const TensorId image = graph_.input("image", DType::f32, {1, height_, width_, 3});
        for (const Stage& stage : network_.stages) written_.push_back(add(stage, image));
        return std::move(graph_);
    }

private:
    TensorId add(const Stage& stage, TensorId image) {
        const Layer& layer = stage.layer;
        std::vector<TensorId> inputs;
        for (const size_t i : stage.inputs) inputs.push_back(written_[i]);
        switch (layer.kind) {
            case LayerKind::input:
                return as(dtype_, filled(ops::transpose(graph_, image, {.perm = {0, 3, 1, 2}}, layer.name)));
            case LayerKind::convolution: return convolution(stage, inputs[0]);
            case LayerKind::relu: return ops::relu(graph_, inputs[0], {}, layer.name);
            case LayerKind::leaky: return ops::leaky_relu(graph_, inputs[0], {.alpha = layer.factor}, layer.name);
            case LayerKind::unshuffle: return ops::space_to_depth(graph_, inputs[0], {.blocksize = layer.by}, layer.name);
            case LayerKind::concatenate: return ops::concat(graph_, inputs, {.axis = 1}, layer.name);
            case LayerKind::add: return sum(layer, inputs);
            case LayerKind::multiply:
                return ops::mul(graph_, inputs[0], as(dtype_, graph_.constant(layer.factor)), {}, layer.name);
            case LayerKind::upsample: return upsample(stage, inputs[0]);
            case LayerKind::shuffle:
                return ops::depth_to_space(graph_, inputs[0], {.blocksize = layer.by, .mode = ops::DepthMode::dcr},
                                           layer.name);
            case LayerKind::output: break;
        }
        const TensorId pixels = ops::transpose(graph_, as(DType::f32, cut(inputs[0])), {.perm = {0, 2, 3, 1}});
        graph_.output(pixels, "upscaled");
        return pixels;
    }

    // Up to a multiple of the unit, by a mirror where the image is large enough for one.
    TensorId filled(TensorId image) {
        if (below_ == 0 && beside_ == 0) return image;
        const bool mirrored = below_ < height_ && beside_ < width_;
        return ops::pad(
            graph_, image,
            {.pads = {0, 0, 0, 0, 0, 0, below_, beside_}, .mode = mirrored ? ops::PadMode::reflect : ops::PadMode::edge});
    }
    TensorId cut(TensorId result) {
        if (below_ == 0 && beside_ == 0) return result;
        return ops::slice(graph_, result,
                          {.starts = {0, 0, 0, 0}, .ends = {1, 3, height_ * network_.scale, width_ * network_.scale}});
    }

    // From f32 to `dtype`, or back.
    TensorId as(DType dtype, TensorId tensor) {
        if (dtype_ == DType::f32) return tensor;
        return ops::cast(graph_, tensor, {.to = static_cast<int64_t>(dtype)});
    }

    TensorId convolution(const Stage& stage, TensorId input) {
        const Shape& shape = stage.weight;
        const TensorId weight = graph_.weight(weight_name(stage.layer), dtype_, shape);
        const TensorId bias = graph_.weight(bias_name(stage.layer), dtype_, {shape[0]});
        // "Same" padding; of an even kernel the odd row and column go after, as TensorFlow has it.
        return ops::conv(graph_, input, weight, bias,
                         {.pads = {(shape[2] - 1) / 2, (shape[3] - 1) / 2, shape[2] / 2, shape[3] / 2}}, stage.layer.name);
    }

    TensorId sum(const Layer& layer, const std::vector<TensorId>& inputs) {
        TensorId total = inputs[0];
        for (size_t i = 1; i < inputs.size(); ++i) total = ops::add(graph_, total, inputs[i], {}, layer.name);
        return total;
    }

    TensorId upsample(const Stage& stage, TensorId input) {
        return ops::resize(
            graph_, input,
            {.sizes = {(height_ + below_) / network_.unit * stage.scale, (width_ + beside_) / network_.unit * stage.scale}},
            stage.layer.name);
    }

    const Network& network_;
    int64_t height_, width_;
    int64_t below_ = 0, beside_ = 0;  // that the image is filled up by
    DType dtype_;
    Graph graph_;
    std::vector<TensorId> written_;  // by each stage
};

}  // namespace

Graph build_graph(const Network& network, int64_t height, int64_t width, DType dtype) {
    if (height < 1 || width < 1 || height > kMostPixels || width > kMostPixels)
        throw Error(Code::invalid, "cannot upscale an image of " + std::to_string(width) + " by " + std::to_string(height) +
                                       " pixels: each side must be from 1 to 2^31");
    return Builder(network, height, width, dtype).build();
}

}  // namespace backplane::esrgan
