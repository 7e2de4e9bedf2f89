// The readers behind ImageReader::open, which has looked at the first bytes.
#pragma once

#include <memory>

#include "backplane/image.hpp"
#include "formats/image/input_file.hpp"

namespace backplane::formats {

std::unique_ptr<ImageReader> open_png(std::unique_ptr<InputFile> file);
std::unique_ptr<ImageReader> open_jpeg(std::unique_ptr<InputFile> file);

}  // namespace backplane::formats
