// speech MODULE_FOLDER NETWORK SOUND: a stranger's program, which writes down what is said in a file.
#include <cstdio>
#include <span>

#include "backplane/audio.hpp"
#include "backplane/transcriber.hpp"

int main(int argc, char** argv) try {
    if (argc != 4) return 2;
    backplane::ContextOptions options;
    options.module_paths = {argv[1]};
    const backplane::Context context(options);
    backplane::Transcriber transcriber(context.choose_with_fallback(), argv[2]);
    const auto sound = backplane::AudioReader::open(argv[3]);
    const backplane::Transcript said = transcriber.transcribe([&](std::span<float> into) { return sound->read(into); });
    std::printf("%s\n", said.text.c_str());
} catch (const backplane::Error& error) {
    std::fprintf(stderr, "speech: %s\n", error.what());
    return 1;
}
