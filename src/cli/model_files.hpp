// Which file a model's short name means.
#pragma once

#include <filesystem>
#include <string>

namespace backplane::cli {

inline constexpr const char* kUsualModel = "medium";  // of every command that takes one

// `model`: a file, or "slim", "medium", "thick", which are looked for as esrgan-NAME-xSCALE.gguf in `folder` when it is given, else in
// BACKPLANE_MODELS and in folders beside the program. Throws Error(not_found) that says where it looked and how to get it.
std::filesystem::path find_model(const std::string& model, int scale, const std::string& folder);

}  // namespace backplane::cli
