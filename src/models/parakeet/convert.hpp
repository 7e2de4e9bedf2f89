// From either format of a Parakeet network to GGUF.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet {

// Writes the network with the matrices of its products as `dtype`: f32, f16, bf16 or a block type of formats::can_quantise(). Where a row is no whole
// number of blocks of 256, as a type of blocks of 32 (q6_k: q8_0; q5_k, q4_k: q5_0); where it is none of these, as f16. Norms, biases, filters and
// kernels over frames are f32. A network in blocks is decoded first, but for matrices that are of the type already.
// Gives a sentence for each type that matrices are not stored in as told. Throws Error: invalid (a type that cannot be written), corrupt (a weight that
// is no finite number), and what the system says.
std::vector<std::string> write_gguf(const ModelFile& model, DType dtype, const std::filesystem::path& gguf);

}  // namespace backplane::parakeet
