// In place of formats/image where the image libraries are not there (BACKPLANE_IMAGES=OFF).
#include "backplane/image.hpp"

#include <string>

#include "backplane/error.hpp"

namespace backplane {

namespace {

Error no_images(const char* what, const std::filesystem::path& path) {
    return {Code::unsupported,
            std::string(what) + " '" + path.string() +
                "': this build reads and writes no images; build it with BACKPLANE_IMAGES=ON (needs libpng and libjpeg)"};
}

}  // namespace

std::unique_ptr<ImageReader> ImageReader::open(const std::filesystem::path& path) { throw no_images("cannot open", path); }

void ImageWriter::check_name(const std::filesystem::path& path) { throw no_images("cannot create", path); }

std::unique_ptr<ImageWriter> ImageWriter::create(const std::filesystem::path& path, const ImageInfo&,
                                                 const ImageWriteOptions&) {
    throw no_images("cannot create", path);
}

}  // namespace backplane
