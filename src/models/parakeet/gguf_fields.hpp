// The metadata of a Parakeet network in GGUF, said once for reading and writing. Schema: docs/formats.md, which is
// parakeet.cpp's.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet {

inline constexpr std::string_view kArchitectureKey = "general.architecture", kArchitecture = "parakeet";
inline constexpr std::string_view kNameKey = "general.name";
// In front of the names of the CTC head: of a network that has a transducer, too, and of one that has not.
inline constexpr std::string_view kHybridCtc = "ctc_decoder.", kOnlyCtc = "decoder.";
inline constexpr std::string_view kPiecesKey = "parakeet.tokenizer.pieces";

// What files call a value; the first of several names is the one that is written.
template <typename Value, size_t n>
using Choices = std::array<std::pair<std::string_view, Value>, n>;

struct Heads {
    bool ctc = false, transducer = false, durations = false;
    friend bool operator==(const Heads&, const Heads&) = default;
};
inline constexpr Choices<Heads, 5> kHeads{{{"ctc", {true, false, false}},
                                           {"rnnt", {false, true, false}},
                                           {"tdt", {false, true, true}},
                                           {"hybrid_rnnt_ctc", {true, true, false}},
                                           {"hybrid_tdt_ctc", {true, true, true}}}};
inline constexpr Choices<ConvNorm, 2> kConvNorms{
    {{"batch_norm", ConvNorm::batch_norm}, {"layer_norm", ConvNorm::layer_norm}}};
inline constexpr Choices<Normalize, 4> kNormalizes{{{"per_feature", Normalize::per_feature},
                                                    {"NA", Normalize::none},
                                                    {"none", Normalize::none},
                                                    {"None", Normalize::none}}};
inline constexpr Choices<Activation, 3> kActivations{
    {{"relu", Activation::relu}, {"sigmoid", Activation::sigmoid}, {"tanh", Activation::tanh}}};

// Fields has: text, count, number, truth, choice and counts, each (key, value), which read into the value or write it; maybe(...) of what files
// may leave out; fail(why).
template <typename Fields>
void each_field(Fields& fields, Config& config) {
    fields.maybe().text(kNameKey, config.name);
    Heads heads{config.ctc, config.transducer.has_value(), config.transducer && !config.transducer->durations.empty()};
    fields.choice("parakeet.arch", heads, kHeads);
    config.ctc = heads.ctc;
    if (heads.transducer && !config.transducer) config.transducer.emplace();

    EncoderConfig& e = config.encoder;
    fields.count("parakeet.encoder.feat_in", e.mels);
    fields.count("parakeet.encoder.d_model", e.d_model);
    fields.count("parakeet.encoder.n_layers", e.layers);
    fields.count("parakeet.encoder.n_heads", e.heads);
    fields.count("parakeet.encoder.ff_dim", e.ff_dim);
    fields.count("parakeet.encoder.conv_kernel", e.conv_kernel);
    fields.maybe().choice("parakeet.encoder.conv_norm_type", e.conv_norm, kConvNorms);
    fields.count("parakeet.encoder.subsampling_factor", e.subsampling_factor);
    fields.count("parakeet.encoder.subsampling_conv_channels", e.subsampling_channels);
    fields.maybe().truth("parakeet.encoder.xscaling", e.xscaling);
    fields.maybe().truth("parakeet.encoder.use_bias", e.use_bias);

    PreprocessorConfig& p = config.preprocessor;
    fields.maybe().count("parakeet.preprocessor.sample_rate", p.sample_rate);
    int64_t mels = e.mels;
    fields.maybe().count("parakeet.preprocessor.n_mels", mels);
    if (mels != e.mels)
        fields.fail("its encoder takes " + std::to_string(e.mels) + " features, its preprocessor gives " +
                    std::to_string(mels));
    fields.count("parakeet.preprocessor.n_fft", p.n_fft);
    fields.count("parakeet.preprocessor.win_length", p.win_length);
    fields.count("parakeet.preprocessor.hop_length", p.hop_length);
    fields.maybe().number("parakeet.preprocessor.preemph", p.preemphasis);
    fields.maybe().number("parakeet.preprocessor.mag_power", p.mag_power);
    fields.maybe().choice("parakeet.preprocessor.normalize", p.normalize, kNormalizes);
    fields.maybe().number("parakeet.preprocessor.log_zero_guard", p.log_zero_guard);

    fields.count("parakeet.vocab_size", config.vocab_size);
    fields.count("parakeet.blank_id", config.blank_id);
    if (!heads.transducer) return;
    TransducerConfig& t = *config.transducer;
    fields.count("parakeet.decoder.pred_hidden", t.pred_hidden);
    fields.count("parakeet.decoder.pred_rnn_layers", t.pred_layers);
    fields.count("parakeet.joint.joint_hidden", t.joint_hidden);
    fields.choice("parakeet.joint.activation", t.joint_activation, kActivations);
    fields.maybe().count("parakeet.decoding.max_symbols", t.max_symbols);
    if (heads.durations) fields.counts("parakeet.tdt.durations", t.durations);
}

}  // namespace backplane::parakeet
