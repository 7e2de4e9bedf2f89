// Gives upscaler_test.c a small network, pixels, what the C++ API makes of them, and, where the build reads pictures, a file.
#include "upscaler_test.h"

#include <cstdio>

#include "esrgan_file.hpp"

int main() {
    const std::string modules = std::string(BP_TEST_BINARY_DIR) + "/lib/backplane";
    const backplane::TemporaryFolder folder;
    const std::string model = (folder / "tiny.gguf").string();
    const std::string picture = (folder / "in.png").string();
    const std::string output = (folder / "out.png").string();
    const backplane::EsrganFile file;
    file.write(model);
    std::vector<uint8_t> pixels(size_t{60} * 50 * 3);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37 % 251);
    std::vector<uint8_t> want(pixels.size() * 4);
    upscaler_given given{};
    try {
        backplane::ContextOptions options;
        options.module_paths = {modules};
        options.search_defaults = options.use_environment = false;
        const backplane::Context context(options);
        backplane::UpscaleOptions how;
        how.tile = 32;
        backplane::Upscaler(context.choose("cpu"), std::make_shared<const backplane::Esrgan>(file.open()))
            .run(pixels, 60, 50, 3, want, how);
    } catch (const backplane::Error& error) {
        std::printf("FAILED: %s\n", error.what());
        return 1;
    }
    try {
        const auto writer = backplane::ImageWriter::create(picture, {60, 50, 3, {}});
        writer->write(pixels);
        writer->finish();
        given.picture = picture.c_str();
    } catch (const backplane::Error& error) {
        if (error.code() != backplane::Code::unsupported) {
            std::printf("FAILED: %s\n", error.what());
            return 1;
        }
    }
    given.modules = modules.c_str();
    given.model = model.c_str();
    given.output = output.c_str();
    given.pixels = pixels.data();
    given.want = want.data();
    return check_upscaler(&given);
}
