#include "models/parakeet/random_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "backplane/gguf.hpp"
#include "backplane/ops/blocks.hpp"
#include "graph/element_types.hpp"
#include "models/parakeet/layout.hpp"

namespace backplane::parakeet {

namespace {

constexpr int64_t kLarge = 65536;  // tensors of fewer numbers have them to themselves
constexpr int64_t kSpare = 65536;  // numbers that a pool has beyond its largest tensor: where windows begin differs
constexpr int64_t kStep = 256;     // a window begins at whole blocks of any type

void set_config(GgufWriter& writer, const Config& config) {
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
    if (!config.transducer) return;
    number("decoder.pred_hidden", config.transducer->pred_hidden);
    number("decoder.pred_rnn_layers", config.transducer->pred_layers);
    number("joint.joint_hidden", config.transducer->joint_hidden);
    writer.set("parakeet.joint.activation", std::string("relu"));
    number("decoding.max_symbols", config.transducer->max_symbols);
    if (tdt) writer.set("parakeet.tdt.durations", config.transducer->durations);
}

// Letters, of which every second begins a word.
std::vector<std::string> pieces_of(int64_t count) {
    std::vector<std::string> pieces{"<unk>"};
    while (static_cast<int64_t>(pieces.size()) < count) {
        const auto letter = std::string(1, static_cast<char>('a' + pieces.size() % 26));
        pieces.push_back(pieces.size() % 2 == 1 ? "\xE2\x96\x81" + letter : letter);
    }
    return pieces;
}

// Numbers that a row makes in a sum of: what the deviation of weights follows, so that sums stay near 1.
int64_t width_of(const Wanted& wanted) { return wanted.shape.size() > 1 ? elements(wanted.shape) / wanted.shape[0] : 16; }

std::vector<double> normals(std::mt19937& random, size_t count, double width) {
    std::normal_distribution<float> normal(0, static_cast<float>(1.4 / std::sqrt(width)));
    std::vector<double> values(count);
    for (double& value : values) value = normal(random);
    return values;
}

bool ends(const std::string& name, std::string_view with) { return name.ends_with(with); }

std::vector<double> own_values(const Wanted& wanted, const Config& config, const RandomChoice& choice,
                               std::mt19937& random) {
    std::vector<double> values =
        normals(random, static_cast<size_t>(elements(wanted.shape)), static_cast<double>(width_of(wanted)));
    const bool norm = wanted.name.find("norm") != std::string::npos && ends(wanted.name, ".weight");
    if (norm || ends(wanted.name, "running_var"))
        for (double& value : values) value = 1 + 0.3F * std::abs(static_cast<float>(value));
    const auto blank = static_cast<size_t>(config.blank_id);
    if (ends(wanted.name, "joint_net.2.bias")) {
        values[blank] += choice.blank;
        if (choice.duration >= 0) values.at(blank + 1 + static_cast<size_t>(choice.duration)) += 100;
    }
    if (wanted.name == "ctc_decoder.decoder_layers.0.bias") values[blank] += choice.blank;
    return values;
}

// Random numbers that large tensors of the same rows are windows on.
class Pools {
public:
    Pools(const std::vector<Wanted>& tensors, DType dtype) : dtype_(dtype) {
        for (const Wanted& wanted : tensors) {
            if (!is_large(wanted)) continue;
            int64_t& most = largest_[key_of(wanted)];
            most = std::max(most, elements(wanted.shape));
        }
    }

    static bool is_large(const Wanted& wanted) { return wanted.kind != Kind::small && elements(wanted.shape) >= kLarge; }

    [[nodiscard]] DType stored(const Wanted& wanted) const {
        const int block = blocks::facts_of(static_cast<uint32_t>(dtype_)).elements;  // 0: it has none
        const bool fits = block == 0 || wanted.shape.back() % block == 0;
        return wanted.kind == Kind::matrix && fits ? dtype_ : DType::f32;
    }

    std::span<const std::byte> window(const Wanted& wanted, std::mt19937& random) {
        const Key key = key_of(wanted);
        std::vector<std::byte>& pool = pools_[key];
        if (pool.empty()) {
            const int64_t count = (largest_.at(key) + kSpare) / kStep * kStep;
            pool = graph::encode(normals(random, static_cast<size_t>(count), static_cast<double>(key.second)), key.first);
        }
        const auto begin = static_cast<int64_t>(random() % (kSpare / kStep)) * kStep;
        return std::span<const std::byte>(pool).subspan(bytes(key.first, {begin}), bytes(key.first, wanted.shape));
    }

private:
    using Key = std::pair<DType, int64_t>;  // a row's numbers
    [[nodiscard]] Key key_of(const Wanted& wanted) const { return {stored(wanted), width_of(wanted)}; }

    DType dtype_;
    std::map<Key, int64_t> largest_;
    std::map<Key, std::vector<std::byte>> pools_;
};

}  // namespace

const std::vector<std::string>& published_sizes() {
    static const std::vector<std::string> names{"110m", "0.6b", "1.1b"};
    return names;
}

Config published_config(std::string_view size) {
    const auto& sizes = published_sizes();
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end())
        throw Error(Code::invalid, "no published network is called '" + std::string(size) + "': 110m, 0.6b or 1.1b");
    const bool small = size == "110m", large = size == "0.6b";
    Config config;
    config.name = "random " + std::string(size);
    EncoderConfig& e = config.encoder;
    e.mels = large ? 128 : 80;
    e.d_model = small ? 512 : 1024;
    e.layers = small ? 17 : (large ? 24 : 42);
    e.heads = 8;
    e.ff_dim = 4 * e.d_model;
    e.conv_kernel = 9;
    e.subsampling_factor = 8;
    e.subsampling_channels = 256;
    e.xscaling = small;
    e.use_bias = small || !large;
    config.vocab_size = config.blank_id = 1024;
    config.ctc = true;
    TransducerConfig t;
    t.pred_hidden = t.joint_hidden = 640;
    t.pred_layers = small ? 1 : 2;
    t.durations = {0, 1, 2, 3, 4};
    config.transducer = t;
    return config;
}

void write_random_network(const std::filesystem::path& path, const Config& config, const RandomChoice& choice) {
    std::mt19937 random(choice.seed);
    GgufWriter writer;
    set_config(writer, config);
    writer.set("parakeet.tokenizer.pieces", pieces_of(config.vocab_size));
    const std::vector<Wanted> tensors = wanted_tensors(config);
    Pools pools(tensors, choice.dtype);
    std::map<std::string, std::vector<std::byte>> own;
    for (const Wanted& wanted : tensors) {
        if (wanted.optional) continue;
        const DType stored = pools.stored(wanted);
        std::span<const std::byte> content;
        if (Pools::is_large(wanted))
            content = pools.window(wanted, random);
        else
            content = own[wanted.name] = graph::encode(own_values(wanted, config, choice, random), stored);
        writer.add(wanted.name, stored, wanted.shape, content);
    }
    writer.write(path);
}

std::vector<float> random_sound(size_t samples, unsigned seed) {
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

double encoder_flops(const EncoderConfig& e, int64_t frames) {
    double flops = 0;
    const auto add = [&](double rows, double width, double columns) { flops += 2 * rows * width * columns; };
    int64_t time = frames;
    int64_t mels = e.mels;
    const auto channels = static_cast<double>(e.subsampling_channels);
    for (int64_t factor = 1; factor < e.subsampling_factor; factor *= 2) {
        time = (time + 1) / 2;
        mels = (mels + 1) / 2;
        const double pixels = static_cast<double>(time) * static_cast<double>(mels);
        add(pixels, 9, channels);  // of one channel each: the first reads no more, the others are depthwise
        if (factor > 1) add(pixels, channels, channels);
    }
    const auto t = static_cast<double>(time);
    const auto d = static_cast<double>(e.d_model);
    add(t, channels * static_cast<double>(mels), d);
    for (int64_t layer = 0; layer < e.layers; ++layer) {
        for (int half = 0; half < 4; ++half) add(t, d, static_cast<double>(e.ff_dim));
        for (int product = 0; product < 4; ++product) add(t, d, d);  // queries, keys, values, output
        for (int score = 0; score < 3; ++score) add(t, d, t);        // content, position, values
        add(t, d, 2 * d);
        add(t, static_cast<double>(e.conv_kernel), d);
        add(t, d, d);
    }
    return flops;
}

}  // namespace backplane::parakeet
