// The nine networks that NVIDIA publishes, as folders of their true sizes (files of zeros that take no room), and as GGUF files of one layer of each.
#include "models/parakeet/convert.hpp"
#include "models/parakeet/model_file.hpp"
#include "parakeet_folder.hpp"

namespace backplane {
namespace {

using parakeet::Config;
using parakeet::ModelFile;

struct Network {
    const char* name;
    const char* type;  // of transformers
    bool ctc;          // a CTC head, alone or beside the transducer
    int64_t layers, width, mels, pieces;
    int64_t hidden_layers;  // of the prediction network; 0: none
    bool biases;
    double millions;  // of parameters
};

// By their model cards and configurations, huggingface.co/nvidia/NAME.
const std::vector<Network> kPublished{
    {"parakeet-ctc-0.6b", "parakeet_ctc", true, 24, 1024, 80, 1024, 0, true, 609},
    {"parakeet-ctc-1.1b", "parakeet_ctc", true, 42, 1024, 80, 1024, 0, true, 1063},
    {"parakeet-rnnt-0.6b", "parakeet_rnnt", false, 24, 1024, 80, 1024, 2, true, 617},
    {"parakeet-rnnt-1.1b", "parakeet_rnnt", false, 42, 1024, 80, 1024, 2, true, 1071},
    {"parakeet-tdt-0.6b-v2", "parakeet_tdt", false, 24, 1024, 128, 1024, 2, false, 617},
    {"parakeet-tdt-0.6b-v3", "parakeet_tdt", false, 24, 1024, 128, 8192, 2, false, 626},
    {"parakeet-tdt-1.1b", "parakeet_tdt", false, 42, 1024, 80, 1024, 2, true, 1071},
    {"parakeet-tdt_ctc-110m", "parakeet_tdt", true, 17, 512, 80, 1024, 1, true, 114},
    {"parakeet-tdt_ctc-1.1b", "parakeet_tdt", true, 42, 1024, 80, 1024, 2, true, 1072},
};

constexpr int64_t kChannels = 256, kKernel = 9, kHeads = 8, kHidden = 640, kDurations = 5;

// The state dict of transformers' class of the network, names and shapes.
class StateDict {
public:
    StateDict(const Network& of, int64_t layers) : biases_(of.biases) {
        affine("encoder.subsampling.layers.0", {kChannels, 1, 3, 3});
        for (const char* const n : {"2", "5"}) affine("encoder.subsampling.layers." + std::string(n), {kChannels, 1, 3, 3});
        for (const char* const n : {"3", "6"})
            affine("encoder.subsampling.layers." + std::string(n), {kChannels, kChannels, 1, 1});
        affine("encoder.subsampling.linear", {of.width, kChannels * of.mels / 8});
        for (int64_t n = 0; n < layers; ++n) layer("encoder.layers." + std::to_string(n) + ".", of.width);
        if (of.ctc) affine("ctc_head", {of.pieces + 1, of.width, 1});
        if (of.hidden_layers > 0) transducer(of);
    }

    // A safetensors file of it, of zeros.
    void write(const std::filesystem::path& path) const {
        std::string text = header_.dump();
        text.resize((text.size() + 7) / 8 * 8, ' ');  // as transformers does; else all is copied to where it is aligned
        const uint64_t length = text.size();
        write_file(path, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text);
        std::filesystem::resize_file(path, sizeof length + length + static_cast<uint64_t>(bytes_));
    }
    [[nodiscard]] double millions() const { return static_cast<double>(bytes_) / sizeof(float) / 1e6; }

private:
    void add(const std::string& name, const std::vector<int64_t>& shape) {
        int64_t size = sizeof(float);
        for (const int64_t extent : shape) size *= extent;
        header_[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", std::vector<int64_t>{bytes_, bytes_ + size}}};
        bytes_ += size;
    }
    void affine(const std::string& name, const std::vector<int64_t>& shape, bool bias = true) {
        add(name + ".weight", shape);
        if (bias) add(name + ".bias", {shape[0]});
    }
    void layer(const std::string& layer, int64_t width) {
        for (const char* const n : {"1", "2"}) {
            affine(layer + "feed_forward" + n + ".linear1", {4 * width, width}, biases_);
            affine(layer + "feed_forward" + n + ".linear2", {width, 4 * width}, biases_);
        }
        for (const char* const which : {"q", "k", "v", "o"})
            affine(layer + "self_attn." + std::string(which) + "_proj", {width, width}, biases_);
        add(layer + "self_attn.relative_k_proj.weight", {width, width});
        for (const char* const which : {"u", "v"}) add(layer + "self_attn.bias_" + which, {kHeads, width / kHeads});
        affine(layer + "conv.pointwise_conv1", {2 * width, width, 1}, biases_);
        affine(layer + "conv.depthwise_conv", {width, 1, kKernel}, biases_);
        affine(layer + "conv.norm", {width});
        add(layer + "conv.norm.running_mean", {width});
        add(layer + "conv.norm.running_var", {width});
        affine(layer + "conv.pointwise_conv2", {width, width, 1}, biases_);
        for (const char* const which :
             {"norm_feed_forward1", "norm_self_att", "norm_conv", "norm_feed_forward2", "norm_out"})
            affine(layer + which, {width});
    }
    void transducer(const Network& of) {
        affine("encoder_projector", {kHidden, of.width});
        add("decoder.embedding.weight", {of.pieces + 1, kHidden});
        for (int64_t n = 0; n < of.hidden_layers; ++n)
            for (const char* const which : {"ih", "hh"}) {
                add("decoder.lstm.weight_" + std::string(which) + "_l" + std::to_string(n), {4 * kHidden, kHidden});
                add("decoder.lstm.bias_" + std::string(which) + "_l" + std::to_string(n), {4 * kHidden});
            }
        affine("decoder.decoder_projector", {kHidden, kHidden});
        affine("joint.head", {of.pieces + 1 + (of.type == std::string("parakeet_tdt") ? kDurations : 0), kHidden});
    }

    bool biases_;
    Json header_ = Json::object();
    int64_t bytes_ = 0;
};

Json config_of(const Network& of, int64_t layers) {
    Json config{{"architectures", std::vector<std::string>{"a class"}},
                {"dtype", "float32"},
                {"model_type", of.type},
                {"vocab_size", of.pieces + 1},
                {"pad_token_id", of.pieces},
                {"initializer_range", 0.02},
                {"transformers_version", "5.17.0"},
                {"encoder_config",
                 {{"model_type", "parakeet_encoder"},
                  {"num_mel_bins", of.mels},
                  {"hidden_size", of.width},
                  {"num_hidden_layers", layers},
                  {"num_attention_heads", kHeads},
                  {"num_key_value_heads", kHeads},
                  {"intermediate_size", 4 * of.width},
                  {"conv_kernel_size", kKernel},
                  {"subsampling_factor", 8},
                  {"subsampling_conv_channels", kChannels},
                  {"subsampling_conv_kernel_size", 3},
                  {"subsampling_conv_stride", 2},
                  {"scale_input", of.biases},
                  {"attention_bias", of.biases},
                  {"convolution_bias", of.biases},
                  {"max_position_embeddings", 5000},
                  {"dropout", 0.1},
                  {"hidden_act", "silu"}}}};
    if (of.hidden_layers == 0) return config;
    config.update({{"blank_token_id", of.pieces},
                   {"decoder_hidden_size", kHidden},
                   {"num_decoder_layers", of.hidden_layers},
                   {"max_symbols_per_step", 10},
                   {"hidden_act", "relu"}});
    if (of.type == std::string("parakeet_tdt")) config["durations"] = std::vector<int64_t>{0, 1, 2, 3, 4};
    return config;
}

Json tokenizer_of(const Network& of) {
    Json vocab = Json::object();
    vocab["<unk>"] = 0;
    for (int64_t id = 1; id < of.pieces; ++id) vocab["\u2581" + std::to_string(id)] = id;
    return {{"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}, {"added_tokens", Json::array()}};
}

class Published : public ::testing::TestWithParam<Network> {
protected:
    // Of so many layers in place of the network's own.
    StateDict write(int64_t layers) {
        const Network& of = GetParam();
        StateDict weights(of, layers);
        weights.write(folder / "model.safetensors");
        write_file(folder / "config.json", config_of(of, layers).dump());
        write_file(folder / "tokenizer.json", tokenizer_of(of).dump());
        write_file(folder / "processor_config.json",
                   Json{{"feature_extractor",
                         {{"feature_size", of.mels}, {"hop_length", 160}, {"n_fft", 512}, {"win_length", 400}}}}
                       .dump());
        return weights;
    }
    void expect_is(const Config& config, int64_t layers) const {
        const Network& of = GetParam();
        EXPECT_EQ(config.encoder.layers, layers);
        EXPECT_EQ(config.encoder.d_model, of.width);
        EXPECT_EQ(config.encoder.mels, of.mels);
        EXPECT_EQ(config.encoder.use_bias, of.biases);
        EXPECT_EQ(config.encoder.xscaling, of.biases);
        EXPECT_EQ(config.vocab_size, of.pieces);
        EXPECT_EQ(config.blank_id, of.pieces);
        EXPECT_EQ(config.ctc, of.ctc);
        ASSERT_EQ(config.transducer.has_value(), of.hidden_layers > 0);
        if (!config.transducer) return;
        EXPECT_EQ(config.transducer->pred_hidden, kHidden);
        EXPECT_EQ(config.transducer->pred_layers, of.hidden_layers);
        EXPECT_EQ(config.transducer->durations.size(), of.type == std::string("parakeet_tdt") ? kDurations : 0U);
    }
    const TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Networks, Published, ::testing::ValuesIn(kPublished), [](const auto& network) {
    std::string name = network.param.name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
});

TEST_P(Published, IsReadAsAFolderOfItsSize) {
    const StateDict weights = write(GetParam().layers);
    EXPECT_NEAR(weights.millions(), GetParam().millions, 0.01 * GetParam().millions);
    const ModelFile model = ModelFile::open(folder.path());
    expect_is(model.config(), GetParam().layers);
    int64_t parameters = 0;
    for (const parakeet::Tensor& tensor : model.tensors()) parameters += static_cast<int64_t>(tensor.bytes.size()) / 4;
    EXPECT_EQ(static_cast<double>(parameters) / 1e6, weights.millions()) << "a tensor that nobody takes, or takes twice";
}

TEST_P(Published, IsTheSameNetworkAsGguf) {
    write(1);
    const ModelFile model = ModelFile::open(folder.path());
    parakeet::write_gguf(model, DType::q8_0, folder / "converted.gguf");
    const ModelFile converted = ModelFile::open(folder / "converted.gguf");
    expect_is(converted.config(), 1);
    EXPECT_EQ(converted.config(), model.config());
    EXPECT_EQ(converted.pieces(), model.pieces());
    ASSERT_EQ(converted.tensors().size(), model.tensors().size() + 2) << "and filters and window of the features";
    for (const parakeet::Tensor& tensor : model.tensors()) EXPECT_EQ(converted.at(tensor.name).shape, tensor.shape);
}

}  // namespace
}  // namespace backplane
