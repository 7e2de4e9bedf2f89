// Log-mel features as NeMo's AudioToMelSpectrogramPreprocessor makes them, as part of a graph: pre-emphasis, the power of windowed frames'
// spectra, mel filters, logarithm, mean and deviation of each filter over the clip.
#pragma once

#include <cstdint>
#include <vector>

#include "backplane/graph.hpp"
#include "models/parakeet/weights.hpp"

namespace backplane::parakeet {

// Sizes of a batch of clips. Sizes are numbers of a graph: another batch is another graph.
struct BatchShape {
    int64_t clips = 1;
    int64_t frames = 0;   // of features, at least those of the longest clip: samples / hop_length; at least 1
    bool padded = false;  // clips may be shorter than that, by their "samples"; else all have exactly these frames
    int64_t parts = 1;   // of the frames, of which it is a multiple, each with its features: for devices that share the work
    bool apart = false;  // the encoder's frames are in these parts, too

    friend auto operator<=>(const BatchShape&, const BatchShape&) = default;
};

// Samples of a clip in the graph's input: what is behind its end is of no account.
[[nodiscard]] int64_t samples_of(const PreprocessorConfig& config, int64_t frames) noexcept;

// Those that a part of the frames has its features of, of each clip.
struct Stretch {
    int64_t begin = 0, length = 0;
};
[[nodiscard]] Stretch samples_of_part(const PreprocessorConfig& config, const BatchShape& shape, int64_t part) noexcept;
// The graph's inputs of sound, [clips, length] each: all samples or, with `apart`, those of each part.
[[nodiscard]] std::vector<Stretch> sound_inputs(const PreprocessorConfig& config, const BatchShape& shape);

// Triangular filters on Slaney's mel scale, each of area 2 / (its width in Hz): [mels, n_fft / 2 + 1], from 0 to half the sample rate.
[[nodiscard]] std::vector<float> slaney_filters(const PreprocessorConfig& config, int64_t mels);
// Hann window, symmetric: of `length` numbers, the first and the last 0.
[[nodiscard]] std::vector<float> hann(int64_t length);

struct Features {
    TensorId values;  // f32 [clips, frames, mels]; zero behind a clip's end
    TensorId frames;  // i32 [clips]: of each clip; no_tensor: all are the whole
};

// Of a graph that devices run together: by node the part, and so the device, that does it.
struct NodeParts {
    std::vector<uint32_t> of;
    // All nodes that were added since are of the part.
    void made(const Graph& graph, uint32_t part) { of.resize(graph.nodes().size(), part); }
};

// From inputs that it adds: "audio" f32 [clips, samples_of(frames)], -1 to 1, and "samples" i32 [clips].
Features add_front_end(Graph& graph, NetworkWeights& weights, const BatchShape& shape);
// Likewise; with `apart` for each part all features: it makes those of its frames, of row_input("audio", part, parts), and normalises by all.
std::vector<Features> add_front_end(Graph& graph, NetworkWeights& weights, const BatchShape& shape, NodeParts& nodes);

// As `dtype`; itself where it is of that type.
TensorId cast(Graph& graph, TensorId x, DType dtype);
// Whole numbers as an i32 constant, and one as a scalar.
TensorId wholes(Graph& graph, const std::vector<int32_t>& numbers, Shape shape);
TensorId whole(Graph& graph, int32_t number);

// 1 where a position, from `first` on, is within its length, f32 [clips, count, 1].
TensorId valid_positions(Graph& graph, TensorId lengths, int64_t clips, int64_t count, int64_t first = 0);

}  // namespace backplane::parakeet
