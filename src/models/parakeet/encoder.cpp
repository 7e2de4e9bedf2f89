#include "models/parakeet/encoder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "graph/element_types.hpp"

namespace backplane::parakeet {

namespace {

constexpr double kNormGuard = 1e-5;  // PyTorch's of batch and layer norms
constexpr int64_t kPositionBase = 10000;

// Sines and cosines by turns, of distances reach - 1 down to 1 - reach, less the shift.
std::vector<float> sinusoids(int64_t reach, int64_t shift, int64_t size) {
    std::vector<float> table(static_cast<size_t>((2 * reach - 1) * size));
    for (int64_t i = 0; i < size; i += 2) {
        const double rate =
            std::pow(static_cast<double>(kPositionBase), -static_cast<double>(i) / static_cast<double>(size));
        for (int64_t row = 0; row < 2 * reach - 1; ++row) {
            const double angle = static_cast<double>(reach - 1 - row - shift) * rate;
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

    Encoded build(const std::vector<Features>& features, NodeParts& nodes) {
        nodes_ = &nodes;
        const auto parts = static_cast<int64_t>(features.size());
        count_ = encoded_frames(config_, shape_.frames) / parts;
        for (uint32_t k = 0; k < features.size(); ++k) {
            parts_.push_back({features[k].frames, no_tensor, no_tensor, static_cast<int64_t>(k)});
            Part& part = parts_.back();
            part.x = subsampled(part, as(part_of(features[k].values, part, parts)), parts);
            if (part.lengths.valid())
                part.valid = as(valid_positions(graph_, part.lengths, shape_.clips, count_, part.number * count_));
            made(part);
        }
        for (int64_t layer = 0; layer < config_.layers; ++layer) {
            prefix_ = "encoder.layers." + std::to_string(layer) + ".";
            each([&](Part& part) { part.x = feed_forward(part.x, "1"); });
            attend(layer);
            convolve();
            each([&](Part& part) { part.x = norm(feed_forward(part.x, "2"), "norm_out"); });
        }
        std::vector<TensorId> all;
        for (const Part& part : parts_) all.push_back(part.x);
        const TensorId x = all.size() == 1 ? all[0] : ops::concat(graph_, all, {.axis = 1});
        return {x, parts_[0].lengths};
    }

private:
    // Of the frames, done by one device.
    struct Part {
        TensorId lengths, valid, x;
        int64_t number = 0;
    };
    void made(const Part& part) { nodes_->made(graph_, static_cast<uint32_t>(part.number)); }
    template <typename Body>
    void each(const Body& body) {
        for (Part& part : parts_) {
            body(part);
            made(part);
        }
    }
    [[nodiscard]] TensorId frames_of(TensorId x, int64_t from, int64_t to) {
        return ops::slice(graph_, x, {.starts = {0, from, 0}, .ends = {shape_.clips, to, graph_[x].shape[2]}});
    }

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

    // What comes before a part's own frames, so that its first ones are as they are in the whole: one encoded frame, of which the convolutions' padding
    // makes something else, and which goes then.
    [[nodiscard]] int64_t before(const Part& part) const { return part.number == 0 ? 0 : config_.subsampling_factor; }
    TensorId part_of(TensorId features, const Part& part, int64_t parts) {
        if (parts == 1) return features;
        const int64_t count = shape_.frames / parts, from = part.number * count;
        return frames_of(features, from - before(part), from + count);
    }
    TensorId subsampled(Part& part, TensorId features, int64_t parts) {
        const std::string name = "encoder.pre_encode.";
        const int64_t channels = config_.subsampling_channels;
        int64_t frames = graph_[features].shape[1];
        int64_t first = part.number * (shape_.frames / parts) - before(part);
        TensorId x = ops::reshape(graph_, features, {.shape = {shape_.clips, 1, frames, config_.mels}});
        int64_t index = 0;
        for (int64_t factor = config_.subsampling_factor; factor > 1; factor /= 2) {
            const std::string conv = name + "conv." + std::to_string(index);
            x = ops::conv(graph_, x, weights_.filters(graph_, conv + ".weight", {channels, 1, 3, 3}),
                          weights_.vector(graph_, conv + ".bias"),
                          {.strides = {2, 2}, .pads = {1, 1, 1, 1}, .group = index == 0 ? 1 : channels}, conv);
            frames = (frames + 1) / 2;
            first /= 2;
            if (part.lengths.valid()) part.lengths = halved(part.lengths);
            if (index > 0) {
                const std::string point = name + "conv." + std::to_string(index + 1);
                x = ops::conv(graph_, x, weights_.filters(graph_, point + ".weight", {channels, channels, 1, 1}),
                              weights_.vector(graph_, point + ".bias"), {}, point);
            }
            x = ops::relu(graph_, x);
            // What padding came to must not be seen by the next convolution.
            if (part.lengths.valid() && factor > 2) x = masked_map(x, part.lengths, frames, first);
            index += index == 0 ? 2 : 3;
        }
        x = projected(x, frames);
        return before(part) == 0 ? x : frames_of(x, 1, frames);
    }
    TensorId masked_map(TensorId x, TensorId lengths, int64_t frames, int64_t first) {
        const TensorId valid = as(valid_positions(graph_, lengths, shape_.clips, frames, first));
        return ops::mul(graph_, x, ops::reshape(graph_, valid, {.shape = {shape_.clips, 1, frames, 1}}));
    }
    TensorId halved(TensorId lengths) {
        const TensorId one = whole(graph_, 1);
        return ops::div(graph_, ops::add(graph_, lengths, one), whole(graph_, 2));
    }

    // A frame's features are taken by channel last, as convolutions leave them, and the matrix's columns are put so.
    TensorId projected(TensorId x, int64_t frames) {
        const int64_t channels = config_.subsampling_channels;
        const int64_t mels = config_.subsampled_mels();
        const TensorId last = ops::transpose(graph_, x, {.perm = {0, 2, 3, 1}});
        const TensorId rows = ops::reshape(graph_, last, {.shape = {shape_.clips, frames, mels * channels}});
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

    void attend(int64_t layer) {
        const std::string name = prefix_ + "self_attn.";
        const int64_t width = config_.d_model;
        if (parts_.size() == 1) {
            Part& part = parts_[0];
            const TensorId all =
                linear(norm(part.x, "norm_self_att"), {name + "linear_q", name + "linear_k", name + "linear_v"});
            const std::vector<TensorId> qkv = ops::split(graph_, all, {.axis = 2, .sizes = {width, width, width}});
            part.x = attended(part, qkv[0], qkv[1], qkv[2], layer);
            return;
        }
        std::vector<TensorId> queries, others;  // keys and values
        each([&](Part& part) {
            const TensorId x = norm(part.x, "norm_self_att");
            others.push_back(linear(x, {name + "linear_k", name + "linear_v"}));
            queries.push_back(linear(x, name + "linear_q"));
        });
        each([&](Part& part) {
            const TensorId all = ops::concat(graph_, others, {.axis = 1});
            const std::vector<TensorId> kv = ops::split(graph_, all, {.axis = 2, .sizes = {width, width}});
            part.x = attended(part, queries[static_cast<size_t>(part.number)], kv[0], kv[1], layer);
        });
    }
    TensorId attended(const Part& part, TensorId queries, TensorId keys, TensorId values, int64_t layer) {
        const std::string name = prefix_ + "self_attn.";
        const int64_t size = config_.d_model / config_.heads;
        const auto parts = static_cast<uint32_t>(parts_.size());
        const std::string table =
            parts == 1 ? positions_name(layer) : positions_name(layer, static_cast<uint32_t>(part.number), parts);
        const TensorId positions = graph_.input(table, weights_.compute(), {config_.heads, 2 * reach_ - 1, size});
        const auto bias = [&](const char* which) {
            return weights_.as(graph_, name + "pos_bias_" + which, weights_.compute(), {config_.heads, size});
        };
        const TensorId y = ops::attention(
            graph_,
            {heads_of(queries), heads_of(keys), heads_of(values), no_tensor, part.lengths, positions, bias("u"), bias("v")},
            {.padded = true}, name + "attention");
        const TensorId tokens_first = ops::transpose(graph_, y, {.perm = {0, 2, 1, 3}});
        const TensorId rows = ops::reshape(graph_, tokens_first, {.shape = {shape_.clips, count_, config_.d_model}});
        return ops::add(graph_, linear(rows, name + "linear_out"), part.x);
    }
    TensorId heads_of(TensorId x) {
        const TensorId split = ops::reshape(
            graph_, x, {.shape = {shape_.clips, graph_[x].shape[1], config_.heads, config_.d_model / config_.heads}});
        return ops::transpose(graph_, split, {.perm = {0, 2, 1, 3}});
    }

    void convolve() {
        std::vector<TensorId> gated, first, last;  // of each part all frames, and those that its neighbours read
        const int64_t near = config_.conv_kernel / 2;
        each([&](Part& part) {
            gated.push_back(gate(part));
            if (part.number > 0) first.push_back(frames_of(gated.back(), 0, near));
            if (part.number + 1 < std::ssize(parts_)) last.push_back(frames_of(gated.back(), count_ - near, count_));
        });
        each([&](Part& part) {
            const auto k = static_cast<size_t>(part.number);
            const bool from_before = k > 0, from_behind = k + 1 < parts_.size();
            std::vector<TensorId> pieces;
            if (from_before) pieces.push_back(last[k - 1]);
            pieces.push_back(gated[k]);
            if (from_behind) pieces.push_back(first[k]);
            const TensorId y = pieces.size() == 1 ? pieces[0] : ops::concat(graph_, pieces, {.axis = 1});
            part.x = convolved(part, y, {from_before ? 0 : near, 0, from_behind ? 0 : near, 0});
        });
    }
    TensorId gate(const Part& part) {
        const TensorId both = linear(norm(part.x, "norm_conv"), prefix_ + "conv.pointwise_conv1");
        const std::vector<TensorId> halves =
            ops::split(graph_, both, {.axis = 2, .sizes = {config_.d_model, config_.d_model}});
        const TensorId y = ops::mul(graph_, halves[0], ops::sigmoid(graph_, halves[1]));
        return part.valid.valid() ? ops::mul(graph_, y, part.valid) : y;
    }
    TensorId convolved(const Part& part, TensorId y, const ops::List& pads) {
        const std::string name = prefix_ + "conv.";
        const TensorId pixels = ops::reshape(graph_, y, {.shape = {shape_.clips, graph_[y].shape[1], 1, config_.d_model}});
        y = depthwise(ops::transpose(graph_, pixels, {.perm = {0, 3, 1, 2}}), name, pads);
        y = ops::transpose(graph_, y, {.perm = {0, 2, 3, 1}});
        y = ops::reshape(graph_, y, {.shape = {shape_.clips, count_, config_.d_model}});
        if (config_.conv_norm == ConvNorm::layer_norm) y = ops::silu(graph_, norm(y, "conv.batch_norm"));
        return ops::add(graph_, linear(y, name + "pointwise_conv2"), part.x);
    }

    // A batch norm is folded into the filters before it.
    TensorId depthwise(TensorId map, const std::string& name, const ops::List& pads) {
        const Shape shape{config_.d_model, 1, config_.conv_kernel, 1};
        const ops::ConvAttributes how{.pads = pads, .group = config_.d_model};
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
    NodeParts* nodes_ = nullptr;
    int64_t count_ = 0;  // encoded frames of a part
    std::vector<Part> parts_;
    std::string prefix_;
};

}  // namespace

int64_t encoded_frames(const EncoderConfig& config, int64_t frames) noexcept { return config.subsampled(frames); }

int64_t reach_of(int64_t encoded) noexcept {
    constexpr int64_t kLeast = 64;
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(encoded, kLeast))));
}

std::string positions_name(int64_t layer) { return "positions." + std::to_string(layer); }

std::string positions_name(int64_t layer, uint32_t part, uint32_t parts) {
    return row_input(positions_name(layer), part, parts);
}

int64_t positions_shift(int64_t encoded, uint32_t part, uint32_t parts) noexcept {
    return encoded - (int64_t{part} + 1) * (encoded / int64_t{parts});
}

bool goes_in_parts(const EncoderConfig& config, int64_t frames, int64_t parts) noexcept {
    if (frames % (parts * config.subsampling_factor) != 0) return false;
    return frames / parts / config.subsampling_factor >= std::max<int64_t>(1, config.conv_kernel / 2);
}

Graph positions_graph(NetworkWeights& weights, int64_t reach, int64_t shift) {
    Graph graph;
    const EncoderConfig& config = weights.config().encoder;
    const int64_t rows = 2 * reach - 1;
    const std::string name = "positions:" + std::to_string(reach) + (shift == 0 ? "" : "-" + std::to_string(shift));
    const TensorId table = weights.made(graph, name, weights.compute(), {rows, config.d_model},
                                        [=, size = config.d_model] { return sinusoids(reach, shift, size); });
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
    NodeParts nobody;
    return add_encoder(graph, weights, shape, std::vector{features}, reach, nobody);
}

Encoded add_encoder(Graph& graph, NetworkWeights& weights, const BatchShape& shape, const std::vector<Features>& features,
                    int64_t reach, NodeParts& nodes) {
    return Encoder(graph, weights, shape, reach).build(features, nodes);
}

}  // namespace backplane::parakeet
