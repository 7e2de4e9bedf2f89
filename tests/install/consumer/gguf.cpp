// gguf FILE: writes a GGUF file, reads it again and finds in it what it put there. Of the library alone, without its models.
#include <cstdio>
#include <filesystem>
#include <span>
#include <vector>

#include "backplane/gguf.hpp"

int main(int argc, char** argv) {
    if (argc < 2) return std::fputs("usage: gguf FILE\n", stderr), 2;
    try {
        const std::vector<float> w{1, 2, 3, 4, 5, 6};
        backplane::GgufWriter writer;
        writer.set("general.architecture", std::string("none"));
        writer.add("w", backplane::DType::f32, {2, 3}, std::as_bytes(std::span(w)));
        writer.write(argv[1]);
        const backplane::GgufFile file = backplane::GgufFile::open(argv[1]);
        const auto bytes = file.data("w");
        const std::span read(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float));
        std::printf("%s %s %g\n", file.text("general.architecture").c_str(), file.tensors().at(0).name.c_str(), read.back());
        return 0;
    } catch (const backplane::Error& error) {
        std::fprintf(stderr, "gguf: %s\n", error.what());
        return 1;
    }
}
