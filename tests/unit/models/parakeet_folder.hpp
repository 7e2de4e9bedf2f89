// A transformers folder of a tiny Parakeet network, written by hand: names, shapes and JSON as transformers has them.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "base/json.hpp"
#include "support.hpp"

namespace backplane {

using base::Json;

struct FolderTensor {
    std::string type = "F32";
    std::vector<int64_t> shape;
    std::string bytes;
};

// A safetensors file of these, in their order.
inline std::string safetensors(const std::vector<std::pair<std::string, FolderTensor>>& tensors, size_t padding = 8) {
    Json header = Json::object();
    std::string data;
    for (const auto& [name, tensor] : tensors) {
        const auto begin = static_cast<int64_t>(data.size());
        data += tensor.bytes;
        header[name] = {{"dtype", tensor.type},
                        {"shape", tensor.shape},
                        {"data_offsets", std::vector<int64_t>{begin, static_cast<int64_t>(data.size())}}};
    }
    std::string text = header.dump();
    if (padding > 0) text.resize((text.size() + padding - 1) / padding * padding, ' ');
    const uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data;
}

enum class FolderHead { ctc, rnnt, tdt };

class ParakeetFolder {
public:
    static constexpr int64_t kMels = 10, kWidth = 32, kHeads = 4, kWide = 256, kKernel = 5, kChannels = 6, kPieces = 8,
                             kHidden = 32;

    explicit ParakeetFolder(FolderHead head = FolderHead::ctc) : head_(head) {
        encoder = {{"model_type", "parakeet_encoder"},
                   {"num_mel_bins", kMels},
                   {"hidden_size", kWidth},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", kHeads},
                   {"intermediate_size", kWide},
                   {"conv_kernel_size", kKernel},
                   {"subsampling_factor", 8},
                   {"subsampling_conv_channels", kChannels},
                   {"scale_input", false},
                   {"attention_bias", true},
                   {"convolution_bias", true},
                   {"hidden_act", "silu"}};
        config = {{"vocab_size", kPieces + 1}, {"pad_token_id", kPieces}, {"model_type", "parakeet_ctc"}};
        if (head != FolderHead::ctc) {
            config.update({{"model_type", head == FolderHead::tdt ? "parakeet_tdt" : "parakeet_rnnt"},
                           {"pad_token_id", 2},
                           {"blank_token_id", kPieces},
                           {"decoder_hidden_size", kHidden},
                           {"num_decoder_layers", 2},
                           {"max_symbols_per_step", 7},
                           {"hidden_act", "relu"}});
            if (head == FolderHead::tdt) config["durations"] = std::vector<int64_t>{0, 1, 2};
        }
        tokenizer = {{"model", {{"type", "BPE"}, {"vocab", Json::object()}, {"merges", Json::array()}}},
                     {"added_tokens", Json::array()}};
        int id = 0;
        for (const char* const piece : {"<unk>", "\u2581he", "l", "lo", "\u2581wor", "ld", "<0xC3>", "<0xA9>"})
            tokenizer["model"]["vocab"][piece] = id++;
        tokenizer["added_tokens"].push_back({{"id", 0}, {"content", "<unk>"}, {"special", true}});
        tokenizer["added_tokens"].push_back({{"id", kPieces}, {"content", "<pad>"}, {"special", true}});
        processor = {{"feature_extractor",
                      {{"feature_size", kMels},
                       {"sampling_rate", 16000},
                       {"n_fft", 512},
                       {"win_length", 320},
                       {"hop_length", 160},
                       {"preemphasis", 0.95}}}};
        add_tensors();
    }

    // What the test changes before write().
    Json encoder, config, tokenizer, processor;
    std::vector<std::pair<std::string, FolderTensor>> tensors;

    FolderTensor& at(const std::string& name) {
        for (auto& [key, tensor] : tensors)
            if (key == name) return tensor;
        throw Error(Code::not_found, name);
    }
    void remove(const std::string& name) {
        std::erase_if(tensors, [&](const auto& item) { return item.first == name; });
    }

    const std::filesystem::path& write() {
        config["encoder_config"] = encoder;
        write_file(folder_ / "config.json", config.dump());
        write_file(folder_ / "tokenizer.json", tokenizer.dump());
        write_file(folder_ / "processor_config.json", processor.dump());
        write_file(folder_ / "model.safetensors", safetensors(tensors, padding));
        return folder_.path();
    }
    // The same in two files and an index.
    const std::filesystem::path& write_sharded() {
        write();
        std::filesystem::remove(folder_ / "model.safetensors");
        const auto middle = tensors.begin() + static_cast<std::ptrdiff_t>(tensors.size() / 2);
        Json map = Json::object();
        for (auto tensor = tensors.begin(); tensor != tensors.end(); ++tensor)
            map[tensor->first] = tensor < middle ? "model-1.safetensors" : "model-2.safetensors";
        write_file(folder_ / "model-1.safetensors", safetensors({tensors.begin(), middle}));
        write_file(folder_ / "model-2.safetensors", safetensors({middle, tensors.end()}));
        write_file(folder_ / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
        return folder_.path();
    }
    std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

    size_t padding = 8;  // what the header's length is a multiple of

private:
    void add(const std::string& name, std::vector<int64_t> shape) {
        int64_t n = 1;
        for (const int64_t extent : shape) n *= extent;
        std::uniform_real_distribution<float> values(-1, 1);
        FolderTensor tensor{"F32", std::move(shape), {}};
        for (int64_t i = 0; i < n; ++i) {
            const float value = values(random_);
            tensor.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
        tensors.emplace_back(name, std::move(tensor));
    }
    void affine(const std::string& name, const std::vector<int64_t>& shape) {
        add(name + ".weight", shape);
        add(name + ".bias", {shape[0]});
    }

    void add_tensors() {
        affine("encoder.subsampling.layers.0", {kChannels, 1, 3, 3});
        for (const char* const n : {"2", "5"}) affine("encoder.subsampling.layers." + std::string(n), {kChannels, 1, 3, 3});
        for (const char* const n : {"3", "6"})
            affine("encoder.subsampling.layers." + std::string(n), {kChannels, kChannels, 1, 1});
        affine("encoder.subsampling.linear", {kWidth, kChannels * 2});  // 10 features become 5, 3, 2
        for (const char* const n : {"0", "1"}) add_layer("encoder.layers." + std::string(n) + ".");
        if (head_ == FolderHead::ctc) return affine("ctc_head", {kPieces + 1, kWidth, 1});
        affine("encoder_projector", {kHidden, kWidth});
        add("decoder.embedding.weight", {kPieces + 1, kHidden});
        for (const char* const n : {"0", "1"}) {
            for (const char* const which : {"weight_ih_l", "weight_hh_l"})
                add("decoder.lstm." + std::string(which) + n, {4 * kHidden, kHidden});
            for (const char* const which : {"bias_ih_l", "bias_hh_l"})
                add("decoder.lstm." + std::string(which) + n, {4 * kHidden});
        }
        affine("decoder.decoder_projector", {kHidden, kHidden});
        affine("joint.head", {kPieces + 1 + (head_ == FolderHead::tdt ? 3 : 0), kHidden});
    }
    void add_layer(const std::string& layer) {
        for (const char* const n : {"1", "2"}) {
            affine(layer + "feed_forward" + n + ".linear1", {kWide, kWidth});
            affine(layer + "feed_forward" + n + ".linear2", {kWidth, kWide});
        }
        for (const char* const which : {"q", "k", "v", "o"})
            affine(layer + "self_attn." + std::string(which) + "_proj", {kWidth, kWidth});
        add(layer + "self_attn.relative_k_proj.weight", {kWidth, kWidth});
        for (const char* const which : {"u", "v"}) add(layer + "self_attn.bias_" + which, {kHeads, kWidth / kHeads});
        affine(layer + "conv.pointwise_conv1", {2 * kWidth, kWidth, 1});
        affine(layer + "conv.depthwise_conv", {kWidth, 1, kKernel});
        affine(layer + "conv.norm", {kWidth});
        add(layer + "conv.norm.running_mean", {kWidth});
        add(layer + "conv.norm.running_var", {kWidth});
        tensors.emplace_back(layer + "conv.norm.num_batches_tracked", FolderTensor{"I64", {}, std::string(8, '\0')});
        affine(layer + "conv.pointwise_conv2", {kWidth, kWidth, 1});
        for (const char* const which :
             {"norm_feed_forward1", "norm_self_att", "norm_conv", "norm_feed_forward2", "norm_out"})
            affine(layer + which, {kWidth});
    }

    FolderHead head_;
    TemporaryFolder folder_;
    std::mt19937 random_{7};
};

}  // namespace backplane
