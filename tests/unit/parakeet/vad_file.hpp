// Files of Silero VAD's form: of random weights, and one that hears a tone of 1000 Hz and nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/silero/voice_detector.hpp"
#include "protobuf_bytes.hpp"
#include "support.hpp"

namespace backplane::silero {

using Values = std::vector<float>;

// An ONNX file with the branches of both sample rates, as the published ones have them.
class VadFile {
public:
    VadFile() {
        set("stft.forward_basis_buffer", {258, 1, 256}, 0.05F);
        const std::vector<std::vector<uint64_t>> kernels{{128, 129, 3}, {64, 128, 3}, {64, 64, 3}, {128, 64, 3}};
        for (size_t i = 0; i < kernels.size(); ++i) {
            set("encoder." + std::to_string(i) + ".reparam_conv.weight", kernels[i], 0.1F);
            set("encoder." + std::to_string(i) + ".reparam_conv.bias", {kernels[i][0]}, 0.1F);
        }
        for (const char* const which : {"ih", "hh"}) {
            set("decoder.rnn.weight_" + std::string(which), {512, 128}, 0.2F);
            set("decoder.rnn.bias_" + std::string(which), {512}, 0.5F);
        }
        set("decoder.decoder.2.weight", {1, 128, 1}, 0.5F);
        set("decoder.decoder.2.bias", {1}, 0.1F);
    }
    const Values& operator[](const std::string& name) const { return tensors_.at(name).second; }
    void set(const std::string& name, std::vector<uint64_t> shape, float most) {
        size_t n = 1;
        for (const uint64_t extent : shape) n *= extent;
        std::uniform_real_distribution<float> values(-most, most);
        Values made(n);
        for (float& value : made) value = values(random_);
        tensors_[name] = {std::move(shape), std::move(made)};
    }
    void fill(const std::string& name, float value) { std::ranges::fill(tensors_.at(name).second, value); }
    float& at(const std::string& name, size_t i) { return tensors_.at(name).second.at(i); }
    void remove(const std::string& name) { tensors_.erase(name); }
    float& first(const std::string& name) { return tensors_.at(name).second[0]; }

    [[nodiscard]] std::filesystem::path write() const {
        const std::string branch = nodes("If_0_then_branch__Inline_0__", tensors_);
        auto other = tensors_;
        other["stft.forward_basis_buffer"] = {{130, 1, 128}, Values(130 * 128)};
        other["encoder.1.reparam_conv.bias"].second.assign(64, 9.0F);  // not to be taken for the one of 16 kHz
        const std::string narrow = nodes("If_0_else_branch__Inline_0__", other);
        const std::string node = field(4, "If") + field(5, field(1, "else_branch") + field(6, narrow) + field(20, 5)) +
                                 field(5, field(1, "then_branch") + field(6, branch) + field(20, 5));
        write_file(folder_ / "vad.onnx", field(7, field(1, node)));
        return folder_ / "vad.onnx";
    }
    void expect_refused(const std::string& about, Code code = Code::corrupt) const {
        expect_error([&] { VoiceNetwork::open(write()); }, code, about);
    }

private:
    using Tensors = std::map<std::string, std::pair<std::vector<uint64_t>, Values>>;

    static std::string nodes(const std::string& prefix, const Tensors& tensors) {
        std::string graph;
        for (const auto& [name, tensor] : tensors) {
            std::string content;
            for (const uint64_t extent : tensor.first) content += field(1, extent);
            content += field(2, 1) + field(9, std::string(reinterpret_cast<const char*>(tensor.second.data()),
                                                          tensor.second.size() * sizeof(float)));
            graph += field(1, field(2, prefix + name) + field(4, "Constant") +
                                  field(5, field(1, "value") + field(5, content) + field(20, 4)));
        }
        return graph;
    }

    TemporaryFolder folder_;
    Tensors tensors_;
    std::mt19937 random_{11};
};

// Speech is what has a tone of 1000 Hz of an amplitude of 0.1 or more: the magnitude of that bin goes through the convolutions, and the cell
// forgets what was before.
class ToneDetector : public VadFile {
public:
    ToneDetector();
};
inline ToneDetector::ToneDetector() {
    VadFile& file = *this;
    for (const char* const name :
         {"stft.forward_basis_buffer", "encoder.0.reparam_conv.weight", "encoder.0.reparam_conv.bias",
          "encoder.1.reparam_conv.weight", "encoder.1.reparam_conv.bias", "encoder.2.reparam_conv.weight",
          "encoder.2.reparam_conv.bias", "encoder.3.reparam_conv.weight", "encoder.3.reparam_conv.bias",
          "decoder.rnn.weight_ih", "decoder.rnn.weight_hh", "decoder.rnn.bias_ih", "decoder.rnn.bias_hh",
          "decoder.decoder.2.weight", "decoder.decoder.2.bias"})
        file.fill(name, 0);
    constexpr size_t kBin = 16, kTap = 1;  // 1000 Hz of 16000 in 256; the middle of three
    for (size_t i = 0; i < 256; ++i) {
        const double angle = 2 * std::numbers::pi * kBin * static_cast<double>(i) / 256;
        const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / 256);
        file.at("stft.forward_basis_buffer", kBin * 256 + i) = static_cast<float>(hann * std::cos(angle));
        file.at("stft.forward_basis_buffer", (kBin + 129) * 256 + i) = static_cast<float>(hann * std::sin(angle));
    }
    // Of amplitude 1 the magnitude is 64; all taps of the two that halve the frames, so that each counts.
    file.at("encoder.0.reparam_conv.weight", kBin * 3 + kTap) = 1;
    for (size_t tap = 0; tap < 3; ++tap) {
        file.at("encoder.1.reparam_conv.weight", tap) = 1;
        file.at("encoder.2.reparam_conv.weight", tap) = 1;
    }
    file.at("encoder.3.reparam_conv.weight", kTap) = 1;
    file.at("decoder.rnn.weight_ih", 256 * 128) = 0.02F;  // the cell's gate; input and output are open
    file.at("decoder.rnn.bias_ih", 0) = 20;
    file.at("decoder.rnn.bias_ih", 128) = -20;
    file.at("decoder.rnn.bias_ih", 384) = 20;
    file.at("decoder.decoder.2.weight", 0) = 20;
    file.at("decoder.decoder.2.bias", 0) = -8;
}

// What it takes for speech for so many seconds, or a hum that is louder and that it does not; added to a sound.
inline void add_tone(Values& sound, double seconds, float loud = 0.3F) {
    const size_t end = sound.size() + static_cast<size_t>(seconds * 16000);
    for (size_t i = sound.size(); i < end; ++i)
        sound.push_back(loud * std::sin(2 * std::numbers::pi_v<float> * static_cast<float>(i % 16) / 16));
}
inline void add_hum(Values& sound, double seconds, float loud = 0.6F) {
    const size_t end = sound.size() + static_cast<size_t>(seconds * 16000);
    for (size_t i = sound.size(); i < end; ++i)
        sound.push_back(loud * std::sin(2 * std::numbers::pi_v<float> * static_cast<float>(i % 16) * 3 / 16));
}

}  // namespace backplane::silero
