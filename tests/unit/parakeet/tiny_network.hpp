// Parakeet networks of a few thousand random weights, as GGUF files; sounds for them; devices to run them on.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/gguf.hpp"
#include "graph/element_types.hpp"
#include "models/parakeet/layout.hpp"
#include "models/parakeet/model_file.hpp"
#include "support.hpp"

namespace backplane::parakeet {

inline Config tiny_config() {
    Config config;
    config.name = "tiny";
    EncoderConfig& e = config.encoder;
    e.mels = 20;
    e.d_model = 32;
    e.layers = 2;
    e.heads = 2;
    e.ff_dim = 64;
    e.conv_kernel = 5;
    e.subsampling_factor = 8;
    e.subsampling_channels = 8;
    e.xscaling = true;
    config.vocab_size = 11;
    config.blank_id = 11;
    config.ctc = true;
    return config;
}

inline Config tiny_transducer(std::vector<int64_t> durations) {
    Config config = tiny_config();
    TransducerConfig t;
    t.pred_hidden = 24;
    t.pred_layers = 2;
    t.joint_hidden = 28;
    t.durations = std::move(durations);
    t.max_symbols = 3;
    config.transducer = t;
    return config;
}

// `dtype`: of matrices, that a row of 32 fits. `blank`: added to the bias of blank in all heads, so that networks differ in how much they say.
inline void write_network(const std::filesystem::path& path, const Config& config, unsigned seed, DType dtype = DType::f32,
                          float blank = 0) {
    std::mt19937 random(seed);
    std::map<std::string, std::vector<std::byte>> data;
    GgufWriter writer;
    const auto number = [&](const char* key, int64_t value) { writer.set(std::string("parakeet.") + key, value); };
    const bool tdt = config.transducer && !config.transducer->durations.empty();
    writer.set("general.architecture", std::string("parakeet"));
    writer.set("general.name", config.name);
    writer.set("parakeet.arch", std::string(!config.transducer ? "ctc"
                                            : config.ctc       ? (tdt ? "hybrid_tdt_ctc" : "hybrid_rnnt_ctc")
                                                               : (tdt ? "tdt" : "rnnt")));
    const EncoderConfig& e = config.encoder;
    number("encoder.feat_in", e.mels);
    number("encoder.d_model", e.d_model);
    number("encoder.n_layers", e.layers);
    number("encoder.n_heads", e.heads);
    number("encoder.ff_dim", e.ff_dim);
    number("encoder.conv_kernel", e.conv_kernel);
    number("encoder.subsampling_factor", e.subsampling_factor);
    number("encoder.subsampling_conv_channels", e.subsampling_channels);
    writer.set("parakeet.encoder.conv_norm_type",
               std::string(e.conv_norm == ConvNorm::batch_norm ? "batch_norm" : "layer_norm"));
    writer.set("parakeet.encoder.xscaling", e.xscaling);
    writer.set("parakeet.encoder.use_bias", e.use_bias);
    number("preprocessor.sample_rate", config.preprocessor.sample_rate);
    number("preprocessor.n_fft", config.preprocessor.n_fft);
    number("preprocessor.win_length", config.preprocessor.win_length);
    number("preprocessor.hop_length", config.preprocessor.hop_length);
    number("vocab_size", config.vocab_size);
    number("blank_id", config.blank_id);
    std::vector<std::string> pieces{"<unk>"};
    while (static_cast<int64_t>(pieces.size()) < config.vocab_size) {
        const auto letter = std::string(1, static_cast<char>('a' + pieces.size() % 26));
        pieces.push_back(pieces.size() % 2 == 1 ? "\xE2\x96\x81" + letter : letter);
    }
    writer.set("parakeet.tokenizer.pieces", pieces);
    if (config.transducer) {
        number("decoder.pred_hidden", config.transducer->pred_hidden);
        number("decoder.pred_rnn_layers", config.transducer->pred_layers);
        number("joint.joint_hidden", config.transducer->joint_hidden);
        writer.set("parakeet.joint.activation", std::string("relu"));
        number("decoding.max_symbols", config.transducer->max_symbols);
        if (tdt) writer.set("parakeet.tdt.durations", config.transducer->durations);
    }
    for (const Wanted& wanted : wanted_tensors(config)) {
        if (wanted.optional) continue;
        std::vector<float> values(static_cast<size_t>(elements(wanted.shape)));
        const auto ends = [&](std::string_view with) { return wanted.name.ends_with(with); };
        const bool norm = wanted.name.find("norm") != std::string::npos && ends(".weight");
        const double width = wanted.shape.size() > 1
                                 ? static_cast<double>(elements(wanted.shape)) / static_cast<double>(wanted.shape[0])
                                 : 16;
        std::normal_distribution<float> normal(0, static_cast<float>(1.4 / std::sqrt(width)));
        for (float& value : values) value = normal(random);
        if (norm || ends("running_var"))
            for (float& value : values) value = 1 + 0.3F * std::abs(value);
        const bool head = ends("joint_net.2.bias") || wanted.name == "ctc_decoder.decoder_layers.0.bias";
        if (head) values[static_cast<size_t>(config.blank_id)] += blank;
        const bool fits = wanted.kind == Kind::matrix && (!is_block(dtype) || wanted.shape.back() % 32 == 0);
        const DType stored = fits ? dtype : DType::f32;
        data[wanted.name] = graph::encode(std::vector<double>(values.begin(), values.end()), stored);
        writer.add(wanted.name, stored, wanted.shape, data[wanted.name]);
    }
    writer.write(path);
}

// Something like speech: a few harmonics that glide and come and go, and noise.
inline std::vector<float> some_sound(size_t samples, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<float> sound(samples);
    const double base = 90 + 120 * uniform(random);
    const double glide = uniform(random) * 3;
    double phase = 0;
    for (size_t i = 0; i < samples; ++i) {
        const double t = static_cast<double>(i) / 16000;
        phase += 2 * std::numbers::pi * base * (1 + 0.2 * std::sin(glide * t)) / 16000;
        double x = 0;
        for (int harmonic = 1; harmonic < 12; ++harmonic) x += std::sin(harmonic * phase) / harmonic;
        const double loud = std::pow(std::sin(t * 7 + base), 2);
        sound[i] = static_cast<float>(0.15 * loud * x + 0.003 * (uniform(random) - 0.5));
    }
    return sound;
}

inline Device device_of(const char* filter) {
    ContextOptions options;
    options.module_paths = {std::string(BP_TEST_BINARY_DIR) + "/lib/backplane"};
    options.search_defaults = options.use_environment = false;
    options.options = {{"cpu.threads", "2"}};
    return Context(options).choose(filter);
}

}  // namespace backplane::parakeet
