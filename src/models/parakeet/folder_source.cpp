// Folders as transformers 5 writes them: ParakeetForCTC, ParakeetForRNNT, ParakeetForTDT.
#include "backplane/error.hpp"
#include "formats/json_file.hpp"
#include "formats/json_view.hpp"
#include "formats/safetensors.hpp"
#include "gguf/printable.hpp"
#include "models/parakeet/gguf_fields.hpp"
#include "models/parakeet/layout.hpp"
#include "models/parakeet/source.hpp"
#include "models/parakeet/tokenizer.hpp"

namespace backplane::parakeet {

namespace {

namespace fs = std::filesystem;
using formats::JsonView;
using formats::printable;

constexpr int64_t kMost = INT32_MAX;  // check_config has narrower bounds

int64_t count_or(const JsonView& json, const char* key, int64_t otherwise) {
    return json.has(key) ? json.at(key).count(0, kMost) : otherwise;
}

bool truth_or(const JsonView& json, const char* key, bool otherwise) {
    return json.has(key) ? json.at(key).truth() : otherwise;
}

EncoderConfig read_encoder(const JsonView& json) {
    EncoderConfig e;
    e.mels = json.at("num_mel_bins").count(0, kMost);
    e.d_model = json.at("hidden_size").count(0, kMost);
    e.layers = json.at("num_hidden_layers").count(0, kMost);
    e.heads = json.at("num_attention_heads").count(0, kMost);
    e.ff_dim = json.at("intermediate_size").count(0, kMost);
    e.conv_kernel = json.at("conv_kernel_size").count(0, kMost);
    e.subsampling_factor = json.at("subsampling_factor").count(0, kMost);
    e.subsampling_channels = json.at("subsampling_conv_channels").count(0, kMost);
    e.xscaling = truth_or(json, "scale_input", true);
    e.use_bias = truth_or(json, "attention_bias", true);
    if (truth_or(json, "convolution_bias", true) != e.use_bias)
        json.fail("biases of attention without those of convolutions, or the other way round, are not supported",
                  Code::unsupported);
    if (json.has("hidden_act")) json.at("hidden_act").require_text("silu");
    if (count_or(json, "subsampling_conv_kernel_size", 3) != 3 || count_or(json, "subsampling_conv_stride", 2) != 2)
        json.fail("only subsampling by convolutions of 3 by 3 and stride 2 is supported", Code::unsupported);
    return e;
}

Activation read_activation(const JsonView& json) {
    for (const auto& [name, activation] : kActivations)
        if (json.text() == name) return activation;
    json.fail("it is " + printable(json.text()) + "; relu, sigmoid and tanh are supported", Code::unsupported);
}

TransducerConfig read_transducer(const JsonView& json, bool durations) {
    TransducerConfig t;
    t.pred_hidden = json.at("decoder_hidden_size").count(0, kMost);
    t.pred_layers = json.at("num_decoder_layers").count(0, kMost);
    t.joint_hidden = count_or(json, "joint_hidden_size", t.pred_hidden);
    t.max_symbols = count_or(json, "max_symbols_per_step", t.max_symbols);
    if (json.has("hidden_act")) t.joint_activation = read_activation(json.at("hidden_act"));
    if (durations) {
        t.durations = json.at("durations").counts(0, kMost);
        if (t.durations.empty()) json.at("durations").fail("it is empty");
    }
    return t;
}

PreprocessorConfig read_preprocessor(const JsonView& json, const base::Json& values, int64_t mels) {
    PreprocessorConfig p;
    p.sample_rate = count_or(json, "sampling_rate", p.sample_rate);
    p.n_fft = count_or(json, "n_fft", p.n_fft);
    p.win_length = count_or(json, "win_length", p.win_length);
    p.hop_length = count_or(json, "hop_length", p.hop_length);
    const base::Json* const preemphasis = values.find("preemphasis");
    if (preemphasis != nullptr)  // null: none
        p.preemphasis = preemphasis->is_null() ? 0 : static_cast<float>(json.at("preemphasis").number());
    if (const int64_t features = count_or(json, "feature_size", mels); features != mels)
        json.fail("it gives " + std::to_string(features) + " features, the encoder takes " + std::to_string(mels));
    return p;
}

fs::path weights_in(const fs::path& folder) {
    for (const char* const name : {"model.safetensors", "model.safetensors.index.json"})
        if (fs::is_regular_file(folder / name)) return folder / name;
    throw Error(Code::not_found, "cannot open the network '" + folder.string() +
                                     "': it has neither model.safetensors nor model.safetensors.index.json");
}

class FolderSource final : public Source {
public:
    FolderSource(fs::path folder, const fs::path& weights)
        : folder_(std::move(folder)), file_(folder_.string()), weights_(formats::SafetensorsFile::open(weights)) {}

    [[nodiscard]] const std::string& file() const noexcept override { return file_; }

    [[nodiscard]] Config config() const override {
        const fs::path path = folder_ / "config.json";
        const base::Json document = formats::read_json(path);
        const JsonView root(document, "'" + path.string() + "'");
        const std::string& type = root.at("model_type").text();
        const bool ctc = type == "parakeet_ctc", tdt = type == "parakeet_tdt";
        if (!ctc && !tdt && type != "parakeet_rnnt")
            root.fail(
                "its model_type is " + printable(type) + "; parakeet_ctc, parakeet_rnnt and parakeet_tdt are supported",
                Code::unsupported);
        Config config;
        config.name = fs::absolute(folder_ / "config.json").parent_path().filename().string();
        config.encoder = read_encoder(root.at("encoder_config"));
        config.vocab_size = root.at("vocab_size").count(1, kMost) - 1;  // blank counts there
        config.blank_id = count_or(root, ctc ? "pad_token_id" : "blank_token_id", config.vocab_size);
        config.ctc = ctc || weights_.find(transformers_name("ctc_decoder.decoder_layers.0.weight")) != nullptr;
        if (!ctc) config.transducer = read_transducer(root, tdt);
        config.preprocessor = preprocessor(config.encoder.mels);
        return config;
    }

    [[nodiscard]] std::vector<std::string> pieces(const Config& config) const override {
        const formats::MappedFile json(folder_ / "tokenizer.json");
        return parse_tokenizer(formats::text_of(json), (folder_ / "tokenizer.json").string(), config.vocab_size);
    }

    [[nodiscard]] std::string name_of(std::string_view name) const override { return transformers_name(name); }

    [[nodiscard]] std::optional<Found> find(std::string_view name) const override {
        const formats::SafetensorsTensor* const tensor = weights_.find(transformers_name(name));
        if (tensor == nullptr) return std::nullopt;
        return Found{tensor->dtype, tensor->type, tensor->shape, tensor->bytes};
    }

private:
    // Of a file of its own or of the processor's; without either, as the feature extractor of transformers is by itself.
    [[nodiscard]] PreprocessorConfig preprocessor(int64_t mels) const {
        for (const char* const name : {"preprocessor_config.json", "processor_config.json"}) {
            const fs::path path = folder_ / name;
            if (!fs::exists(path)) continue;
            const base::Json document = formats::read_json(path);
            const JsonView root(document, "'" + path.string() + "'");
            if (document.find("feature_extractor") != nullptr)
                return read_preprocessor(root.at("feature_extractor"), *document.find("feature_extractor"), mels);
            if (document.find("feature_size") != nullptr) return read_preprocessor(root, document, mels);
        }
        return {};
    }

    fs::path folder_;
    std::string file_;
    formats::SafetensorsFile weights_;
};

}  // namespace

std::unique_ptr<Source> open_folder(const fs::path& path) { return std::make_unique<FolderSource>(path, weights_in(path)); }

bool is_weights_of_folder(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
}

std::unique_ptr<Source> open_weights(const fs::path& path) {
    return std::make_unique<FolderSource>(fs::absolute(path).parent_path(), path);
}

}  // namespace backplane::parakeet
