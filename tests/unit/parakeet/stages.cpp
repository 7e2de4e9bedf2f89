// parakeet_stages NETWORK DEVICE f32|f16 BATCH OUT CLIP...: features, encoder's output and tokens of clips, for comparisons with other programs.
//
// A clip is a file of f32 samples at the network's rate. BATCH clips run at a time. OUT/N.features and OUT/N.encoded get f32 rows of the Nth
// clip; a line of JSON for each goes to the output: {"frames": .., "encoded": .., "tokens": [..]}. Modules are those of BACKPLANE_PATH and of
// this build. Exit code 1 with a sentence where something fails.
#include "stages.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "backplane/context.hpp"
#include "models/parakeet/recognizer.hpp"

namespace backplane::parakeet {
namespace {

std::vector<float> samples_of_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error(Code::not_found, "cannot read '" + path.string() + "'");
    std::vector<float> samples(std::filesystem::file_size(path) / sizeof(float));
    in.read(reinterpret_cast<char*>(samples.data()), static_cast<std::streamsize>(samples.size() * sizeof(float)));
    return samples;
}

void write(const std::filesystem::path& path, const StageRows& rows) {
    std::ofstream out(path, std::ios::binary);
    for (const auto& row : rows)
        for (const double value : row) {
            const auto x = static_cast<float>(value);
            out.write(reinterpret_cast<const char*>(&x), sizeof x);
        }
    if (!out.flush()) throw Error(Code::denied, "cannot write '" + path.string() + "'");
}

void run(const std::vector<std::string>& words) {
    const ModelFile file = ModelFile::open(words.at(0));
    const DType compute = words.at(2) == "f16" ? DType::f16 : DType::f32;
    const auto batch = static_cast<size_t>(std::stoul(words.at(3)));
    const std::filesystem::path folder = words.at(4);
    ContextOptions options;
    options.device_filter = words.at(1);
    const Context context(options);
    const Device device = context.choose();
    NetworkWeights weights(file, compute);
    const Weights source([&](std::string_view name) { return weights.bytes(name); });
    Recognizer recognizer({device}, file, compute, file.config().transducer ? Head::transducer : Head::ctc);
    std::vector<std::vector<float>> clips;
    for (size_t i = 5; i < words.size(); ++i) clips.push_back(samples_of_file(words[i]));
    for (size_t first = 0; first < clips.size(); first += batch) {
        const auto begin = clips.begin() + static_cast<std::ptrdiff_t>(first);
        const std::vector<std::vector<float>> some(
            begin, begin + static_cast<std::ptrdiff_t>(std::min(batch, clips.size() - first)));
        int64_t reach = 1;
        for (const auto& clip : some)
            reach = std::max(reach, encoded_frames(file.config().encoder, static_cast<int64_t>(clip.size()) /
                                                                              file.config().preprocessor.hop_length));
        const Stages stages = stages_of(weights, source, device, some, some.size() > 1, reach);
        const std::vector<std::span<const float>> spans(some.begin(), some.end());
        const std::vector<std::vector<Token>> tokens = recognizer.run(spans, nullptr);
        for (size_t i = 0; i < some.size(); ++i) {
            write(folder / (std::to_string(first + i) + ".features"), stages.features[i]);
            write(folder / (std::to_string(first + i) + ".encoded"), stages.encoded[i]);
            std::string line = "{\"frames\": " + std::to_string(stages.features[i].size()) +
                               ", \"encoded\": " + std::to_string(stages.encoded[i].size()) + ", \"tokens\": [";
            for (size_t t = 0; t < tokens[i].size(); ++t) line += (t > 0 ? ", " : "") + std::to_string(tokens[i][t].id);
            std::cout << line << "]}" << std::endl;
        }
    }
}

}  // namespace
}  // namespace backplane::parakeet

int main(int count, char** words) {
    if (count < 7) {
        std::cerr << "usage: parakeet_stages NETWORK DEVICE f32|f16 BATCH OUT CLIP...\n";
        return 2;
    }
    try {
        backplane::parakeet::run({words + 1, words + count});
    } catch (const std::exception& error) {
        std::cerr << "parakeet_stages: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
