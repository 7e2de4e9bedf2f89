// Parakeet networks of random weights, and a sound for them: the work of a network without its words, for measurements and tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet {

// The networks that NVIDIA publishes, by size: "110m" (TDT and CTC heads), "0.6b" and "1.1b" (TDT 0.6b-v2's and 1.1b's, and a CTC head
// beside it). Model cards and configurations: huggingface.co/nvidia/parakeet-tdt_ctc-110m, parakeet-tdt-0.6b-v2, parakeet-tdt-1.1b.
// Throws Error(invalid) for another name.
const std::vector<std::string>& published_sizes();
Config published_config(std::string_view size);

struct RandomChoice {
    unsigned seed = 1;
    DType dtype = DType::f32;  // of matrices, where a row is whole blocks of it: f32, f16, bf16, q8_0, q4_0
    float blank = 0;           // added to the bias of blank in all heads: more of it, fewer tokens
    int64_t duration = -1;     // which of the durations every step of a TDT has; -1: as it comes
};

// A GGUF file that ModelFile reads, the same for the same arguments. Activations stay near 1. Large matrices are windows on the same random
// numbers: a file of gigabytes takes little more memory than its largest tensors, and no longer than writing it. Throws Error as GgufWriter does.
void write_random_network(const std::filesystem::path& path, const Config& config, const RandomChoice& choice);

// Something like speech at 16 kHz: harmonics that glide, come and go, and a little noise.
std::vector<float> random_sound(size_t samples, unsigned seed);

// Floating-point operations (two a multiply-add) of the encoder for so many frames of features of one clip: subsampling, products, attention
// with its relative positions, convolutions. Not counted: the front end, norms and other element-wise work, below a hundredth of them, and the
// products of the positions' encodings, which are the same for every clip.
double encoder_flops(const EncoderConfig& config, int64_t frames);

}  // namespace backplane::parakeet
