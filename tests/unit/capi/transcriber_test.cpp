// Gives transcriber_test.c the network of the repository and its clip, as a file and as samples; where the build reads no sound files a network of
// random weights and something like speech.
#include "transcriber_test.h"

#include <cstdio>

#include "backplane/audio.hpp"
#include "tiny_network.hpp"

namespace {

constexpr const char* kExampleSays =
    "there are many things that can be said about the weather in this country and most of them have been said before a "
    "small house by "
    "the river";

std::vector<float> read_all(backplane::AudioReader& audio) {
    std::vector<float> samples;
    for (size_t n = 1; n > 0;) {
        const size_t had = samples.size();
        samples.resize(had + 16000);
        n = audio.read(std::span(samples).subspan(had));
        samples.resize(had + n);
    }
    return samples;
}

}  // namespace

int main() {
    const std::string modules = std::string(BP_TEST_BINARY_DIR) + "/lib/backplane";
    const std::string mini = std::string(BP_OWN_MODELS) + "/parakeet-mini";
    const std::string clip = mini + "/example.flac";
    const backplane::TemporaryFolder folder;
    std::string model = mini + "/parakeet-mini-q8_0.gguf";
    transcriber_given given{};
    std::vector<float> samples;
    try {
        samples = read_all(*backplane::AudioReader::open(clip));
        given.clip = clip.c_str();
        given.want = kExampleSays;
    } catch (const backplane::Error& error) {
        if (error.code() != backplane::Code::unsupported) {
            std::printf("FAILED: %s\n", error.what());
            return 1;
        }
        model = (folder / "tiny.gguf").string();
        backplane::parakeet::write_random_network(model, backplane::parakeet::tiny_transducer({0, 1, 2, 3, 4}),
                                                  {.seed = 21, .blank = 1});
        samples = backplane::parakeet::random_sound(80000, 1);
    }
    given.modules = modules.c_str();
    given.model = model.c_str();
    given.samples = samples.data();
    given.count = samples.size();
    return check_transcriber(&given);
}
