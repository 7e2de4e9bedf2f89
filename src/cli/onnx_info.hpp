// What `model info` says of an ONNX file.
#pragma once

#include <string>

#include "cli/cli.hpp"

namespace backplane::cli {

bool is_onnx(const std::string& path);  // by its name
void show_onnx(const std::string& path, bool all, const Run& run);

}  // namespace backplane::cli
