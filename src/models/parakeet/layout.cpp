#include "models/parakeet/layout.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace backplane::parakeet {

namespace {

constexpr int64_t kMostFeatures = 4096;
constexpr int64_t kMostWidth = 1 << 16;
constexpr int64_t kMostLayers = 1024;
constexpr int64_t kMostPieces = 1 << 20;
constexpr int64_t kMostSubsampling = 64;
constexpr int64_t kMostSamples = 1 << 16;
constexpr int64_t kMostDuration = 1 << 10;

class Checker {
public:
    explicit Checker(const std::string& file) : file_(file) {}

    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const { refuse(file_, why, code); }
    void within(const char* what, int64_t value, int64_t least, int64_t most) const {
        if (value < least || value > most)
            fail(std::string(what) + " is " + std::to_string(value) + ", not " + std::to_string(least) + " to " +
                 std::to_string(most));
    }
    void require(bool holds, const std::string& why) const {
        if (!holds) fail(why);
    }

private:
    const std::string& file_;
};

void check_encoder(const Checker& check, const EncoderConfig& e) {
    check.within("the number of mel features", e.mels, 1, kMostFeatures);
    check.within("the width of the encoder", e.d_model, 2, kMostWidth);
    check.within("the number of layers", e.layers, 1, kMostLayers);
    check.within("the number of heads", e.heads, 1, e.d_model);
    check.within("the width of the feed-forward modules", e.ff_dim, 1, kMostWidth);
    check.within("the kernel of the convolutions", e.conv_kernel, 1, kMostWidth);
    check.within("the subsampling factor", e.subsampling_factor, 2, kMostSubsampling);
    check.within("the number of subsampling channels", e.subsampling_channels, 1, kMostWidth);
    check.require(e.d_model % 2 == 0, "a width of " + std::to_string(e.d_model) + ", which is odd, has no sine positions");
    check.require(e.d_model % e.heads == 0,
                  std::to_string(e.heads) + " heads do not divide a width of " + std::to_string(e.d_model));
    check.require(e.conv_kernel % 2 == 1, "a convolution's kernel of " + std::to_string(e.conv_kernel) + " has no middle");
    check.require(std::has_single_bit(static_cast<uint64_t>(e.subsampling_factor)),
                  "a subsampling factor of " + std::to_string(e.subsampling_factor) + " is no power of two");
}

void check_preprocessor(const Checker& check, const PreprocessorConfig& p) {
    check.within("the sample rate", p.sample_rate, 1000, 384000);
    check.within("the length of the Fourier transform", p.n_fft, 2, kMostSamples);
    check.within("the length of a window", p.win_length, 1, p.n_fft);
    check.within("the distance of windows", p.hop_length, 1, kMostSamples);
    check.require(p.preemphasis >= 0 && p.preemphasis <= 1, "pre-emphasis is not between 0 and 1");
    check.require(p.mag_power > 0 && p.mag_power <= 4, "the power of magnitudes is not above 0 and at most 4");
    check.require(p.log_zero_guard > 0 && p.log_zero_guard <= 1, "the guard of the logarithm is not above 0 and at most 1");
}

void check_transducer(const Checker& check, const TransducerConfig& t) {
    check.within("the width of the prediction network", t.pred_hidden, 1, kMostWidth);
    check.within("the number of layers of the prediction network", t.pred_layers, 1, 64);
    check.within("the width of the joint network", t.joint_hidden, 1, kMostWidth);
    check.within("the number of symbols of a frame", t.max_symbols, 1, kMostDuration);
    for (const int64_t duration : t.durations) check.within("a duration", duration, 0, kMostDuration);
    if (t.durations.empty()) return;
    check.require(t.durations.size() <= static_cast<size_t>(kMostDuration), "there are more than 1,024 durations");
    check.require(std::any_of(t.durations.begin(), t.durations.end(), [](int64_t d) { return d > 0; }),
                  "all durations are 0: decoding would not move on");
}

// The convolutions of subsampling, of stride 2 each: one over features and, for each further halving, a depthwise and a pointwise one. Their
// numbers count the activations between them, too.
int64_t halvings(const EncoderConfig& encoder) {
    return std::countr_zero(static_cast<uint64_t>(encoder.subsampling_factor));
}

class Lister {
public:
    explicit Lister(const Config& config) : config_(config) {}

    std::vector<Wanted> list() {
        subsampling();
        for (int64_t layer = 0; layer < config_.encoder.layers; ++layer)
            encoder_layer("encoder.layers." + std::to_string(layer) + ".");
        if (config_.ctc)
            affine("ctc_decoder.decoder_layers.0.", {config_.vocab_size + 1, config_.encoder.d_model}, true, Kind::matrix,
                   1);
        if (config_.transducer) transducer(*config_.transducer);
        add(kFiltersTensor, {config_.encoder.mels, config_.preprocessor.n_fft / 2 + 1}, Kind::small, 0, true);
        add(kWindowTensor, {config_.preprocessor.win_length}, Kind::small, 0, true);
        return std::move(wanted_);
    }

private:
    void add(std::string name, Shape shape, Kind kind = Kind::small, int ones = 0, bool optional = false) {
        wanted_.push_back({std::move(name), std::move(shape), kind, ones, optional});
    }
    // A weight and a bias for each of its outputs.
    void affine(const std::string& name, Shape shape, bool bias = true, Kind kind = Kind::matrix, int ones = 0) {
        const int64_t outputs = shape[0];
        add(name + "weight", std::move(shape), kind, ones);
        if (bias) add(name + "bias", {outputs});
    }
    void norm(const std::string& name) { affine(name, {config_.encoder.d_model}, true, Kind::small); }

    void subsampling() {
        const EncoderConfig& e = config_.encoder;
        const auto number = [](int64_t i) { return "encoder.pre_encode.conv." + std::to_string(i) + "."; };
        const Shape kernel{e.subsampling_channels, 1, 3, 3};
        affine(number(0), kernel, true, Kind::kernel);
        for (int64_t i = 1; i < halvings(e); ++i) {
            affine(number(3 * i - 1), kernel, true, Kind::kernel);
            affine(number(3 * i), {e.subsampling_channels, e.subsampling_channels}, true, Kind::matrix, 2);
        }
        affine("encoder.pre_encode.out.", {e.d_model, e.subsampling_channels * e.subsampled_mels()});
    }

    void feed_forward(const std::string& name) {
        const EncoderConfig& e = config_.encoder;
        affine(name + "linear1.", {e.ff_dim, e.d_model}, e.use_bias);
        affine(name + "linear2.", {e.d_model, e.ff_dim}, e.use_bias);
    }

    void attention(const std::string& name) {
        const EncoderConfig& e = config_.encoder;
        for (const char* const which : {"linear_q.", "linear_k.", "linear_v.", "linear_out."})
            affine(name + which, {e.d_model, e.d_model}, e.use_bias);
        affine(name + "linear_pos.", {e.d_model, e.d_model}, false);
        for (const char* const which : {"pos_bias_u", "pos_bias_v"}) add(name + which, {e.heads, e.d_model / e.heads});
    }

    void convolution(const std::string& name) {
        const EncoderConfig& e = config_.encoder;
        affine(name + "pointwise_conv1.", {2 * e.d_model, e.d_model}, e.use_bias, Kind::matrix, 1);
        affine(name + "depthwise_conv.", {e.d_model, 1, e.conv_kernel}, e.use_bias, Kind::kernel);
        norm(name + "batch_norm.");  // called so whichever norm it is
        if (e.conv_norm == ConvNorm::batch_norm)
            for (const char* const which : {"batch_norm.running_mean", "batch_norm.running_var"})
                add(name + which, {e.d_model});
        affine(name + "pointwise_conv2.", {e.d_model, e.d_model}, e.use_bias, Kind::matrix, 1);
    }

    void encoder_layer(const std::string& layer) {
        norm(layer + "norm_feed_forward1.");
        feed_forward(layer + "feed_forward1.");
        norm(layer + "norm_self_att.");
        attention(layer + "self_attn.");
        norm(layer + "norm_conv.");
        convolution(layer + "conv.");
        norm(layer + "norm_feed_forward2.");
        feed_forward(layer + "feed_forward2.");
        norm(layer + "norm_out.");
    }

    void transducer(const TransducerConfig& t) {
        add("decoder.prediction.embed.weight", {config_.vocab_size + 1, t.pred_hidden}, Kind::matrix);
        for (int64_t layer = 0; layer < t.pred_layers; ++layer) {
            const std::string lstm = "decoder.prediction.dec_rnn.lstm.", l = "_l" + std::to_string(layer);
            for (const char* const which : {"weight_ih", "weight_hh"})
                add(lstm + which + l, {4 * t.pred_hidden, t.pred_hidden}, Kind::matrix);
            for (const char* const which : {"bias_ih", "bias_hh"}) add(lstm + which + l, {4 * t.pred_hidden});
        }
        affine("joint.enc.", {t.joint_hidden, config_.encoder.d_model});
        affine("joint.pred.", {t.joint_hidden, t.pred_hidden});
        const auto durations = static_cast<int64_t>(t.durations.size());
        affine("joint.joint_net.2.", {config_.vocab_size + 1 + durations, t.joint_hidden});
    }

    const Config& config_;
    std::vector<Wanted> wanted_;
};

// Parts of NeMo's names and what stands for them in transformers' (its convert_nemo_to_hf.py).
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kTransformersNames{{
    {"encoder.pre_encode.conv.", "encoder.subsampling.layers."},
    {"encoder.pre_encode.out.", "encoder.subsampling.linear."},
    {".conv.batch_norm.", ".conv.norm."},
    {".linear_q.", ".q_proj."},
    {".linear_k.", ".k_proj."},
    {".linear_v.", ".v_proj."},
    {".linear_out.", ".o_proj."},
    {".linear_pos.", ".relative_k_proj."},
    {".pos_bias_u", ".bias_u"},
    {".pos_bias_v", ".bias_v"},
    {"ctc_decoder.decoder_layers.0.", "ctc_head."},
    {"decoder.prediction.embed.", "decoder.embedding."},
    {"decoder.prediction.dec_rnn.lstm.", "decoder.lstm."},
    {"joint.enc.", "encoder_projector."},
    {"joint.pred.", "decoder.decoder_projector."},
    {"joint.joint_net.2.", "joint.head."},
}};

}  // namespace

int64_t EncoderConfig::subsampled(int64_t count) const noexcept {
    for (int64_t i = 0; i < halvings(*this); ++i) count = (count + 1) / 2;
    return count;
}

void refuse(const std::string& file, const std::string& why, Code code) {
    throw Error(code, "cannot use '" + file + "' as a Parakeet network: " + why);
}

void check_config(const Config& config, const std::string& file) {
    const Checker check(file);
    check_encoder(check, config.encoder);
    check_preprocessor(check, config.preprocessor);
    check.within("the number of pieces", config.vocab_size, 1, kMostPieces);
    if (config.blank_id != config.vocab_size)
        check.fail("blank is id " + std::to_string(config.blank_id) + " of " + std::to_string(config.vocab_size) +
                       " pieces; only networks whose blank comes after all pieces are supported",
                   Code::unsupported);
    check.require(config.ctc || config.transducer.has_value(), "it has neither a CTC head nor a transducer");
    if (config.transducer) check_transducer(check, *config.transducer);
}

std::vector<Wanted> wanted_tensors(const Config& config) { return Lister(config).list(); }

std::string transformers_name(std::string_view name) {
    std::string changed(name);
    for (const auto& [nemo, transformers] : kTransformersNames)
        if (const size_t at = changed.find(nemo); at != std::string::npos)
            return changed.replace(at, nemo.size(), transformers);
    return changed;
}

}  // namespace backplane::parakeet
