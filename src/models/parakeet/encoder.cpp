#include "models/parakeet/encoder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "backplane/ops.hpp"
#include "graph/element_types.hpp"

namespace backplane::parakeet {

namespace {

constexpr double kNormGuard = 1e-5;  // PyTorch's of batch and layer norms
constexpr int64_t kPositionBase = 10000;

// Sines and cosines by turns, of distances reach - 1 down to 1 - reach.
std::vector<float> sinusoids(int64_t reach, int64_t size) {
    std::vector<float> table(static_cast<size_t>((2 * reach - 1) * size));
    for (int64_t i = 0; i < size; i += 2) {
        const double rate =
            std::pow(static_cast<double>(kPositionBase), -static_cast<double>(i) / static_cast<double>(size));
        for (int64_t row = 0; row < 2 * reach - 1; ++row) {
            const double angle = static_cast<double>(reach - 1 - row) * rate;
            table[static_cast<size_t>(row * size + i)] = static_cast<float>(std::sin(angle));
            if (i + 1 < size) table[static_cast<size_t>(row * size + i + 1)] = static_cast<float>(std::cos(angle));
        }
    }
    return table;
}

class Encoder {
public:
    Encoder(Graph& graph, NetworkWeights& weights, const BatchShape& shape, int64_t reach)
        : graph_(graph), weights_(weights), config_(weights.config().encoder), shape_(shape), reach_(reach) {}

    Encoded build(const Features& features) {
        lengths_ = features.frames;
        TensorId x = subsampled(as(features.values));
        if (lengths_.valid()) valid_ = as(valid_positions(graph_, lengths_, shape_.clips, frames_));
        for (int64_t layer = 0; layer < config_.layers; ++layer) {
            prefix_ = "encoder.layers." + std::to_string(layer) + ".";
            x = feed_forward(x, "1");
            x = attended(x, layer);
            x = convolved(x);
            x = norm(feed_forward(x, "2"), "norm_out");
        }
        return {x, lengths_};
    }

private:
    TensorId as(TensorId f32) { return cast(graph_, f32, weights_.compute()); }
    // A constant as it is computed with: one that a node made would be no factor of an epilogue.
    TensorId number(double value) {
        return graph_.constant("", weights_.compute(), {}, graph::encode(std::array{value}, weights_.compute()));
    }

    // x weight^T + bias; the bias is there or not as the file has it.
    TensorId linear(TensorId x, const std::string& name) { return linear(x, std::vector<std::string>{name}); }
    TensorId linear(TensorId x, const std::vector<std::string>& names) {
        std::vector<std::string> matrices;
        std::vector<std::string> biases;
        for (const std::string& name : names) {
            matrices.push_back(name + ".weight");
            biases.push_back(name + ".bias");
        }
        const TensorId y = ops::matmul(graph_, x, weights_.matrix(graph_, matrices), {.transpose_b = true}, names.front());
        return weights_.has(biases.front()) ? ops::add(graph_, y, weights_.vector(graph_, biases)) : y;
    }
    TensorId norm(TensorId x, const std::string& name) {
        return ops::layer_norm(graph_, x, weights_.vector(graph_, prefix_ + name + ".weight"),
                               weights_.vector(graph_, prefix_ + name + ".bias"), {.epsilon = kNormGuard});
    }

    // ---- subsampling: [clips, frames, mels] -> [clips, encoded frames, d_model] ----

    TensorId subsampled(TensorId features) {
        const std::string name = "encoder.pre_encode.";
        const int64_t channels = config_.subsampling_channels;
        TensorId x = ops::reshape(graph_, features, {.shape = {shape_.clips, 1, shape_.frames, config_.mels}});
        frames_ = shape_.frames;
        int64_t index = 0;
        for (int64_t factor = config_.subsampling_factor; factor > 1; factor /= 2) {
            const std::string conv = name + "conv." + std::to_string(index);
            x = ops::conv(graph_, x, weights_.filters(graph_, conv + ".weight", {channels, 1, 3, 3}),
                          weights_.vector(graph_, conv + ".bias"),
                          {.strides = {2, 2}, .pads = {1, 1, 1, 1}, .group = index == 0 ? 1 : channels}, conv);
            frames_ = (frames_ + 1) / 2;
            if (lengths_.valid()) lengths_ = halved(lengths_);
            if (index > 0) {
                const std::string point = name + "conv." + std::to_string(index + 1);
                x = ops::conv(graph_, x, weights_.filters(graph_, point + ".weight", {channels, channels, 1, 1}),
                              weights_.vector(graph_, point + ".bias"), {}, point);
            }
            x = ops::relu(graph_, x);
            // What padding came to must not be seen by the next convolution.
            if (lengths_.valid() && factor > 2) x = masked_map(x);
            index += index == 0 ? 2 : 3;
        }
        return projected(x);
    }
    TensorId masked_map(TensorId x) {
        const TensorId valid = as(valid_positions(graph_, lengths_, shape_.clips, frames_));
        return ops::mul(graph_, x, ops::reshape(graph_, valid, {.shape = {shape_.clips, 1, frames_, 1}}));
    }
    TensorId halved(TensorId lengths) {
        const TensorId one = whole(graph_, 1);
        return ops::div(graph_, ops::add(graph_, lengths, one), whole(graph_, 2));
    }

    // A frame's features are taken by channel last, as convolutions leave them, and the matrix's columns are put so.
    TensorId projected(TensorId x) {
        const int64_t channels = config_.subsampling_channels;
        const int64_t mels = config_.subsampled_mels();
        const TensorId last = ops::transpose(graph_, x, {.perm = {0, 2, 3, 1}});
        const TensorId rows = ops::reshape(graph_, last, {.shape = {shape_.clips, frames_, mels * channels}});
        const std::string name = "encoder.pre_encode.out.";
        const DType stored = weights_.stored(name + "weight");
        const DType dtype = weights_.compute() == DType::f16 || stored == DType::f16 ? DType::f16 : DType::f32;
        const TensorId matrix =
            weights_.made(graph_, name + "columns", dtype, {config_.d_model, mels * channels},
                          [&weights = weights_, name, channels, mels, d_model = config_.d_model] {
                              const std::vector<float> by_channel = weights.numbers(name + "weight");
                              std::vector<float> by_mel(by_channel.size());
                              for (int64_t row = 0; row < d_model; ++row)
                                  for (int64_t c = 0; c < channels; ++c)
                                      for (int64_t m = 0; m < mels; ++m)
                                          by_mel[static_cast<size_t>((row * mels + m) * channels + c)] =
                                              by_channel[static_cast<size_t>((row * channels + c) * mels + m)];
                              return by_mel;
                          });
        TensorId y = ops::matmul(graph_, rows, matrix, {.transpose_b = true}, name + "weight");
        y = ops::add(graph_, y, weights_.vector(graph_, name + "bias"));
        return config_.xscaling ? ops::mul(graph_, y, number(std::sqrt(static_cast<double>(config_.d_model)))) : y;
    }

    // ---- layers: [clips, encoded frames, d_model] ----

    TensorId feed_forward(TensorId x, const char* which) {
        const std::string name = prefix_ + "feed_forward" + which;
        const TensorId inner =
            ops::silu(graph_, linear(norm(x, std::string("norm_feed_forward") + which), name + ".linear1"));
        const TensorId half = ops::mul(graph_, linear(inner, name + ".linear2"), number(0.5));
        return ops::add(graph_, half, x);
    }

    TensorId attended(TensorId x, int64_t layer) {
        const std::string name = prefix_ + "self_attn.";
        const int64_t size = config_.d_model / config_.heads;
        const TensorId all = linear(norm(x, "norm_self_att"), {name + "linear_q", name + "linear_k", name + "linear_v"});
        const std::vector<TensorId> parts =
            ops::split(graph_, all, {.axis = 2, .sizes = {config_.d_model, config_.d_model, config_.d_model}});
        const TensorId positions =
            graph_.input(positions_name(layer), weights_.compute(), {config_.heads, 2 * reach_ - 1, size});
        const auto bias = [&](const char* which) {
            return weights_.as(graph_, name + "pos_bias_" + which, weights_.compute(), {config_.heads, size});
        };
        const TensorId y = ops::attention(graph_,
                                          {heads_of(parts[0]), heads_of(parts[1]), heads_of(parts[2]), no_tensor, lengths_,
                                           positions, bias("u"), bias("v")},
                                          {.padded = true}, name + "attention");
        const TensorId tokens_first = ops::transpose(graph_, y, {.perm = {0, 2, 1, 3}});
        const TensorId rows = ops::reshape(graph_, tokens_first, {.shape = {shape_.clips, frames_, config_.d_model}});
        return ops::add(graph_, linear(rows, name + "linear_out"), x);
    }
    TensorId heads_of(TensorId x) {
        const TensorId split =
            ops::reshape(graph_, x, {.shape = {shape_.clips, frames_, config_.heads, config_.d_model / config_.heads}});
        return ops::transpose(graph_, split, {.perm = {0, 2, 1, 3}});
    }

    TensorId convolved(TensorId x) {
        const std::string name = prefix_ + "conv.";
        const TensorId both = linear(norm(x, "norm_conv"), name + "pointwise_conv1");
        const std::vector<TensorId> halves =
            ops::split(graph_, both, {.axis = 2, .sizes = {config_.d_model, config_.d_model}});
        TensorId y = ops::mul(graph_, halves[0], ops::sigmoid(graph_, halves[1]));
        if (valid_.valid()) y = ops::mul(graph_, y, valid_);
        const TensorId pixels = ops::reshape(graph_, y, {.shape = {shape_.clips, frames_, 1, config_.d_model}});
        y = depthwise(ops::transpose(graph_, pixels, {.perm = {0, 3, 1, 2}}), name);
        y = ops::transpose(graph_, y, {.perm = {0, 2, 3, 1}});
        y = ops::reshape(graph_, y, {.shape = {shape_.clips, frames_, config_.d_model}});
        if (config_.conv_norm == ConvNorm::layer_norm) y = ops::silu(graph_, norm(y, "conv.batch_norm"));
        return ops::add(graph_, linear(y, name + "pointwise_conv2"), x);
    }

    // A batch norm is folded into the filters before it.
    TensorId depthwise(TensorId map, const std::string& name) {
        const int64_t kernel = config_.conv_kernel;
        const Shape shape{config_.d_model, 1, kernel, 1};
        const ops::ConvAttributes how{.pads = {kernel / 2, 0, kernel / 2, 0}, .group = config_.d_model};
        const bool fold = config_.conv_norm == ConvNorm::batch_norm;
        const TensorId filters =
            weights_.made(graph_, name + (fold ? "folded.weight" : "depthwise_conv.weight"), weights_.compute(), shape,
                          [&weights = weights_, name, fold] { return folded(weights, name, fold, true); });
        const TensorId bias = weights_.made(
            graph_, name + (fold ? "folded.bias" : "depthwise_conv.bias"), weights_.compute(), {config_.d_model},
            [&weights = weights_, name, fold] { return folded(weights, name, fold, false); });
        const TensorId y = ops::conv(graph_, map, filters, bias, how, name + "depthwise_conv");
        return fold ? ops::silu(graph_, y) : y;
    }
    static std::vector<float> folded(const NetworkWeights& weights, const std::string& name, bool fold, bool filters) {
        const auto channels = static_cast<size_t>(weights.config().encoder.d_model);
        const std::string bias = name + "depthwise_conv.bias";
        std::vector<float> all = filters             ? weights.numbers(name + "depthwise_conv.weight")
                                 : weights.has(bias) ? weights.numbers(bias)
                                                     : std::vector<float>(channels, 0.0F);
        if (!fold) return all;
        const std::string norm = name + "batch_norm.";
        const std::vector<float> scale = weights.numbers(norm + "weight");
        const std::vector<float> shift = weights.numbers(norm + "bias");
        const std::vector<float> mean = weights.numbers(norm + "running_mean");
        const std::vector<float> variance = weights.numbers(norm + "running_var");
        const size_t taps = all.size() / channels;
        for (size_t c = 0; c < channels; ++c) {
            const double factor = scale[c] / std::sqrt(static_cast<double>(variance[c]) + kNormGuard);
            for (size_t i = c * taps; i < (c + 1) * taps; ++i)
                all[i] = static_cast<float>(filters ? all[i] * factor
                                                    : (static_cast<double>(all[i]) - mean[c]) * factor + shift[c]);
        }
        return all;
    }

    Graph& graph_;
    NetworkWeights& weights_;
    const EncoderConfig& config_;
    BatchShape shape_;
    int64_t reach_;
    int64_t frames_ = 0;
    TensorId lengths_, valid_;
    std::string prefix_;
};

}  // namespace

int64_t encoded_frames(const EncoderConfig& config, int64_t frames) noexcept { return config.subsampled(frames); }

int64_t reach_of(int64_t encoded) noexcept {
    constexpr int64_t kLeast = 64;
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(encoded, kLeast))));
}

std::string positions_name(int64_t layer) { return "positions." + std::to_string(layer); }

Graph positions_graph(NetworkWeights& weights, int64_t reach) {
    Graph graph;
    const EncoderConfig& config = weights.config().encoder;
    const int64_t rows = 2 * reach - 1;
    const TensorId table =
        weights.made(graph, "positions:" + std::to_string(reach), weights.compute(), {rows, config.d_model},
                     [reach, size = config.d_model] { return sinusoids(reach, size); });
    for (int64_t layer = 0; layer < config.layers; ++layer) {
        const TensorId matrix =
            weights.matrix(graph, "encoder.layers." + std::to_string(layer) + ".self_attn.linear_pos.weight");
        const TensorId projected = ops::matmul(graph, table, matrix, {.transpose_b = true});
        const TensorId heads =
            ops::reshape(graph, projected, {.shape = {rows, config.heads, config.d_model / config.heads}});
        graph.output(ops::transpose(graph, heads, {.perm = {1, 0, 2}}), positions_name(layer));
    }
    return graph;
}

Encoded add_encoder(Graph& graph, NetworkWeights& weights, const BatchShape& shape, const Features& features,
                    int64_t reach) {
    return Encoder(graph, weights, shape, reach).build(features);
}

}  // namespace backplane::parakeet
