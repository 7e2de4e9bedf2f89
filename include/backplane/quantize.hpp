// The weights of any network in fewer bits, from GGUF, safetensors or ONNX files to GGUF. In the library backplane::models.
//
//   for (const QuantizedTensor& tensor : quantize(WeightFile::open("model.safetensors"), "model-q4_k.gguf", {.dtype = DType::q4_k}))
//       std::cout << tensor.name << ' ' << tensor.error << '\n';
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "backplane/weight_file.hpp"

namespace backplane {

struct QuantizeOptions {
    DType dtype = DType::q8_0;                       // of matrices: f32, f16, bf16, q8_0, q6_k, q5_k, q5_0, q4_k or q4_0
    std::vector<std::string> keep;                   // patterns of names (`*`, `?`) that stay as they are
    bool embeddings = false;                         // embeddings too, whose rows are looked up and not multiplied by
    uint32_t threads = 0;                            // 0: as many as the machine has processors
    std::function<void(double done)> progress = {};  // 0 to 1, on the calling thread
    const std::atomic<uint32_t>* cancel = nullptr;   // non-zero: stops with Error(cancelled), leaving no file
};

struct QuantizedTensor {
    std::string name;
    std::string from;  // its type in the file that was read, as that calls it
    DType to = DType::unknown;
    Shape shape;
    uint64_t bytes_before = 0, bytes_after = 0;
    double error = 0;  // root of the mean square of what it differs by, by that of its numbers; of what stays as it is 0
    std::string why;   // it stays as it is, or is of another type than asked for; else empty
};

// Matrices, tensors of two axes or more whose rows (along the last) are whole blocks, become `dtype`; where a row is none of blocks of 256, blocks of 32
// (q6_k: q8_0; q5_k, q4_k: q5_0). All else stays as it is: what has one axis, biases, norms, embeddings (by their names), what is in blocks already, what
// is no float, what `keep` names. Metadata is copied; general.file_type, where there is one, says what the most are now. The file appears whole or not
// at all. Takes the memory of the largest tensor. Tensors in the order of the file. Throws Error: invalid (a type that is not made, a pattern of `keep`
// that names no tensor, a tensor with numbers that its new type does not hold), unsupported (a tensor whose type GGUF, or graphs, do not have), corrupt
// (numbers that are not finite, naming the tensor), cancelled, and what the system says.
std::vector<QuantizedTensor> quantize(const WeightFile& from, const std::filesystem::path& gguf,
                                      const QuantizeOptions& options = {});

}  // namespace backplane
