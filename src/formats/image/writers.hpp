// The writers behind ImageWriter::create, which has checked `info` and the options.
#pragma once

#include <filesystem>
#include <memory>

#include "backplane/image.hpp"

namespace backplane::formats {

std::unique_ptr<ImageWriter> create_png(const std::filesystem::path& path, const ImageInfo& info,
                                        const ImageWriteOptions& options);
std::unique_ptr<ImageWriter> create_jpeg(const std::filesystem::path& path, const ImageInfo& info,
                                         const ImageWriteOptions& options);

}  // namespace backplane::formats
