// onnx MODULE_FOLDER MODEL: a stranger's program, which runs a network of an ONNX file: x of [batch, 4], y of [batch, 3].
#include <cstdio>
#include <vector>

#include "backplane/model.hpp"

int main(int argc, char** argv) try {
    if (argc != 3) return 2;
    backplane::ContextOptions options;
    options.module_paths = {argv[1]};
    const backplane::Context context(options);
    backplane::ModelSession session(context.choose_with_fallback(), backplane::Model::from_onnx(argv[2]));
    const std::vector<float> x{1, 2, 3, 4};
    const auto results = session.run({{"x", std::as_bytes(std::span(x)), {1, 4}}});
    for (const float value : results.at(0).as<float>()) std::printf("%g ", value);
    std::puts("");
} catch (const backplane::Error& error) {
    std::fprintf(stderr, "onnx: %s\n", error.what());
    return 1;
}
