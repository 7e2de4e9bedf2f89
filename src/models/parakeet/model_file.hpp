// A Parakeet network as it lies on disk: a transformers folder or a GGUF file, seen the same way. Formats: docs/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::parakeet {

enum class ConvNorm { batch_norm, layer_norm };
enum class Normalize { none, per_feature };
enum class Activation { relu, sigmoid, tanh };

// FastConformer (arXiv:2305.05084).
struct EncoderConfig {
    int64_t mels = 0;  // features of a frame
    int64_t d_model = 0, layers = 0, heads = 0, ff_dim = 0;
    int64_t conv_kernel = 0;  // odd; of the depthwise convolution of a layer
    ConvNorm conv_norm = ConvNorm::batch_norm;
    int64_t subsampling_factor = 0;    // a power of two: each convolution of stride 2 halves the frames
    int64_t subsampling_channels = 0;  // of those convolutions
    bool xscaling = false;             // what subsampling gives is multiplied by sqrt(d_model)
    bool use_bias = true;              // feed-forward, attention and convolution have biases; the rest has them anyway
    // What subsampling leaves of so many frames, or features of one: each convolution (3 wide, stride 2, padded by 1) rounds up.
    [[nodiscard]] int64_t subsampled(int64_t count) const noexcept;
    [[nodiscard]] int64_t subsampled_mels() const noexcept { return subsampled(mels); }

    friend bool operator==(const EncoderConfig&, const EncoderConfig&) = default;
};

// Log-mel features. Lengths are in samples.
struct PreprocessorConfig {
    int64_t sample_rate = 16000, n_fft = 512, win_length = 400, hop_length = 160;
    float preemphasis = 0.97F;  // 0: none
    float mag_power = 2;        // of the magnitudes of the spectrum, before the mel filters
    Normalize normalize = Normalize::per_feature;
    float log_zero_guard = 0x1p-24F;  // added before the logarithm

    friend bool operator==(const PreprocessorConfig&, const PreprocessorConfig&) = default;
};

// Prediction network (an LSTM) and joint network of an RNN-T (arXiv:1211.3711) or, with durations, a TDT (arXiv:2304.06795).
struct TransducerConfig {
    int64_t pred_hidden = 0, pred_layers = 0, joint_hidden = 0;
    Activation joint_activation = Activation::relu;
    std::vector<int64_t> durations;  // frames that each of the last outputs of the joint stands for; empty: RNN-T
    int64_t max_symbols = 10;        // that greedy decoding takes from one frame

    friend bool operator==(const TransducerConfig&, const TransducerConfig&) = default;
};

// At least one of `ctc` and `transducer` is there.
struct Config {
    std::string name;  // for people: general.name, or the folder's name
    EncoderConfig encoder;
    PreprocessorConfig preprocessor;
    int64_t vocab_size = 0;  // pieces, without blank
    int64_t blank_id = 0;    // == vocab_size: what the heads give is [pieces, blank, durations]
    bool ctc = false;
    std::optional<TransducerConfig> transducer;

    friend bool operator==(const Config&, const Config&) = default;
};

struct Tensor {
    std::string name;  // NeMo's
    DType dtype = DType::unknown;
    Shape shape;                       // outermost first
    std::span<const std::byte> bytes;  // aligned to its elements
};

// Immutable: every member may be called from many threads. Copies share the mapping.
//
// Names are those of NeMo's state dict, whatever the file calls them. L is a layer, S one of the convolutions of subsampling, k the LSTM's layer:
//
//   encoder.pre_encode.conv.0.{weight [channels, 1, 3, 3], bias}                        stride 2
//   encoder.pre_encode.conv.S.{weight [channels, 1, 3, 3], bias}                        S = 2, 5, ...: depthwise, stride 2
//   encoder.pre_encode.conv.S.{weight [channels, channels], bias}                       S = 3, 6, ...: pointwise
//   encoder.pre_encode.out.{weight [d_model, channels * subsampled mels], bias}
//   encoder.layers.L.{norm_feed_forward1, norm_self_att, norm_conv, norm_feed_forward2, norm_out}.{weight, bias} [d_model]
//   encoder.layers.L.feed_forward{1, 2}.{linear1.weight [ff_dim, d_model], linear2.weight [d_model, ff_dim]}, .bias
//   encoder.layers.L.self_attn.linear_{q, k, v, out}.{weight [d_model, d_model], bias}, linear_pos.weight, pos_bias_{u, v} [heads, d_model / heads]
//   encoder.layers.L.conv.pointwise_conv1.weight [2 * d_model, d_model], pointwise_conv2.weight [d_model, d_model], .bias
//   encoder.layers.L.conv.depthwise_conv.weight [d_model, 1, conv_kernel], .bias
//   encoder.layers.L.conv.batch_norm.{weight, bias} and, of a batch norm, {running_mean, running_var} [d_model]
//   ctc_decoder.decoder_layers.0.{weight [vocab_size + 1, d_model], bias}
//   decoder.prediction.embed.weight [vocab_size + 1, pred_hidden]
//   decoder.prediction.dec_rnn.lstm.{weight_ih_lk, weight_hh_lk [4 * pred_hidden, pred_hidden], bias_ih_lk, bias_hh_lk}: gates i, f, g, o
//   joint.enc.{weight [joint_hidden, d_model], bias}, joint.pred.{weight [joint_hidden, pred_hidden], bias}
//   joint.joint_net.2.{weight [vocab_size + 1 + durations, joint_hidden], bias}
//   preprocessor.featurizer.fb [mels, n_fft / 2 + 1], preprocessor.featurizer.window [win_length]: where the file has them
//
// All of these that the configuration calls for are there, with these shapes (trailing extents of 1 that a file has are dropped), of an element
// type that is f32, f16, bf16 or a block type (blocks only where a row is a multiple of one).
class ModelFile {
public:
    // A folder with config.json, model.safetensors (or model.safetensors.index.json and its shards) and tokenizer.json; the weights in
    // one, by the name of model.safetensors or of the index; or a GGUF file.
    // Throws Error: not_found, denied; corrupt (a file that lies or is cut off, a tensor missing or of the wrong shape, a tokenizer that does not
    // fit the network); unsupported (another network, a variant that the engine does not run). One line that names the file and what to do.
    static ModelFile open(const std::filesystem::path& path);

    [[nodiscard]] const Config& config() const noexcept;
    // Piece of each id below vocab_size, U+2581 for a space.
    [[nodiscard]] const std::vector<std::string>& pieces() const noexcept;
    // Text of ids, without a space at the start. Left out: blank and pieces that stand for no text (<unk>, <pad>, ...). Bytes that pieces <0xNN>
    // give and that are no UTF-8 become U+FFFD. Throws Error(invalid) for an id below 0 or above blank_id.
    [[nodiscard]] std::string text_of(std::span<const int32_t> ids) const;

    // In the order of the list above. Bytes live as long as any copy of this ModelFile.
    [[nodiscard]] const std::vector<Tensor>& tensors() const noexcept;
    [[nodiscard]] const Tensor* find(std::string_view name) const noexcept;  // null: none, such as biases without use_bias
    [[nodiscard]] const Tensor& at(std::string_view name) const;             // throws Error(not_found)
    [[nodiscard]] const std::string& file() const noexcept;                  // for messages
    // What of the tensor's bytes is in memory because it was read may go; they can be read again as before.
    void let_go(const Tensor& tensor) const noexcept;

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace backplane::parakeet
