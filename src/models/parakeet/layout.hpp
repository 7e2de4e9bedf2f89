// Which tensors a network has, by its configuration.
#pragma once

#include <string>
#include <vector>

#include "backplane/error.hpp"
#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet {

// "cannot use 'FILE' as a Parakeet network: WHY"
[[noreturn]] void refuse(const std::string& file, const std::string& why, Code code = Code::corrupt);

// What files may bring of the front end, which makes its own otherwise.
inline constexpr const char* kFiltersTensor = "preprocessor.featurizer.fb";
inline constexpr const char* kWindowTensor = "preprocessor.featurizer.window";

enum class Kind {
    matrix,  // of a product: may be stored in blocks
    kernel,  // of a convolution over frames
    small,   // norms, biases, filters: kept as f32 when a file is written
};

struct Wanted {
    std::string name;  // NeMo's
    Shape shape;       // as ModelFile gives it
    Kind kind = Kind::small;
    int ones = 0;  // extents of 1 that NeMo has behind these
    bool optional = false;
};

// Numbers that do not fit together, or are out of what any Parakeet has: throws Error(corrupt, unsupported). `file` is for messages.
void check_config(const Config& config, const std::string& file);

// In the order of the list in model_file.hpp. The configuration was checked.
std::vector<Wanted> wanted_tensors(const Config& config);

// What transformers' state dict calls the tensor that NeMo calls `name`.
std::string transformers_name(std::string_view name);

}  // namespace backplane::parakeet
