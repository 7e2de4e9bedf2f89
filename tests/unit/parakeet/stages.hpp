// Clips as a batch, and what front end and encoder make of them on a device: a graph of its own whose inner values are outputs.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "models/parakeet/encoder.hpp"

namespace backplane::parakeet {

// Clips as the rows of what a front end reads; what lies behind a clip's end must not matter.
struct Batch {
    Batch(const PreprocessorConfig& p, const std::vector<std::vector<float>>& clips, bool padded)
        : shape{static_cast<int64_t>(clips.size()), 0, padded} {
        for (const auto& clip : clips) {
            shape.frames = std::max(shape.frames, static_cast<int64_t>(clip.size()) / p.hop_length);
            samples.push_back(static_cast<int32_t>(clip.size()));
        }
        const auto row = static_cast<size_t>(samples_of(p, shape.frames));
        audio.assign(row * clips.size(), 0.25F);
        for (size_t i = 0; i < clips.size(); ++i)
            std::copy(clips[i].begin(), clips[i].end(), audio.begin() + static_cast<std::ptrdiff_t>(i * row));
    }
    [[nodiscard]] std::vector<Input> inputs() const {
        return {{"audio", std::as_bytes(std::span(audio))}, {"samples", std::as_bytes(std::span(samples))}};
    }
    BatchShape shape;
    std::vector<int32_t> samples;
    std::vector<float> audio;
};

using StageRows = std::vector<std::vector<double>>;  // [frame][mels or d_model]

struct Stages {  // of each clip, cut to its own frames
    std::vector<StageRows> features, encoded;
};

// Clips are padded right to the longest. `source` gives the bytes of `weights`; `padded`: their lengths are told to the graph, else all have
// the same; `reach`: at least the encoded frames. Throws what Session throws.
inline Stages stages_of(NetworkWeights& weights, const Weights& source, const Device& device,
                        const std::vector<std::vector<float>>& clips, bool padded, int64_t reach) {
    const ModelFile& file = weights.file();
    const PreprocessorConfig& p = file.config().preprocessor;
    const Batch batch(p, clips, padded);

    std::vector<backplane::Tensor> tables(static_cast<size_t>(file.config().encoder.layers));
    std::vector<std::string> names;
    for (size_t i = 0; i < tables.size(); ++i) names.push_back(positions_name(static_cast<int64_t>(i)));
    std::vector<Output> made;
    for (size_t i = 0; i < tables.size(); ++i) made.emplace_back(names[i], &tables[i]);
    Session positions(device, positions_graph(weights, reach), source);
    positions.run({}, made);

    Graph graph;
    const auto shown = [&](TensorId x, DType dtype, const char* name) {
        const TensorId out = dtype == DType::f32 ? ops::mul(graph, x, graph.constant(1))
                                                 : ops::cast(graph, x, {.to = static_cast<int64_t>(DType::f32)});
        graph.output(out, name);
    };
    const Features features = add_front_end(graph, weights, batch.shape);
    const Encoded encoded = add_encoder(graph, weights, batch.shape, features, reach);
    shown(features.values, DType::f32, "features");
    shown(encoded.values, weights.compute(), "encoded");
    Session session(device, graph, source);
    std::vector<Input> inputs = batch.inputs();
    for (size_t i = 0; i < tables.size(); ++i) inputs.emplace_back(names[i], tables[i]);
    const int64_t mels = file.config().encoder.mels;
    const int64_t width = file.config().encoder.d_model;
    const int64_t frames = encoded_frames(file.config().encoder, batch.shape.frames);
    std::vector<float> heard(clips.size() * static_cast<size_t>(batch.shape.frames * mels));
    std::vector<float> values(clips.size() * static_cast<size_t>(frames * width));
    const std::vector<Output> outputs{{"features", std::as_writable_bytes(std::span(heard))},
                                      {"encoded", std::as_writable_bytes(std::span(values))}};
    session.run(inputs, outputs);

    const auto cut = [](const std::vector<float>& all, size_t clip, int64_t whole, int64_t own, int64_t wide) {
        StageRows rows;
        for (int64_t t = 0; t < own; ++t) {
            const auto at = all.begin() + (static_cast<int64_t>(clip) * whole + t) * wide;
            rows.emplace_back(at, at + wide);
        }
        return rows;
    };
    Stages all;
    for (size_t clip = 0; clip < clips.size(); ++clip) {
        const int64_t own = static_cast<int64_t>(clips[clip].size()) / p.hop_length;
        all.features.push_back(cut(heard, clip, batch.shape.frames, own, mels));
        all.encoded.push_back(cut(values, clip, frames, encoded_frames(file.config().encoder, own), width));
    }
    return all;
}

}  // namespace backplane::parakeet
