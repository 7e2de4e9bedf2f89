// From either format of a Parakeet network to GGUF.
#pragma once

#include <filesystem>

#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet {

// Writes the network with the matrices of its products as `dtype`: f32, f16, bf16 or a block type that there is an encoding to (q8_0, q4_0); where a
// row is no whole number of blocks, as f16. Norms, biases, filters and kernels over frames are f32. A network in blocks is decoded first.
// Throws Error: invalid (a type without an encoding), corrupt (a weight that is no finite number), and what the system says.
void write_gguf(const ModelFile& model, DType dtype, const std::filesystem::path& gguf);

}  // namespace backplane::parakeet
