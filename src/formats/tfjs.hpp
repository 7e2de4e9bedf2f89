// TensorFlow.js layers models: a model.json and its weight files (shards). Format: docs/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::formats {

// What a layer does; tensors are [batch, height, width, channels].
enum class TfjsKind {
    input,        // the image
    convolution,  // Conv2D of stride 1, padded to the same size: weights NAME/kernel [height, width, in, out], NAME/bias [out]
    relu,         // Activation relu
    identity,     // Activation linear
    concatenate,    // Concatenate of channels
    add,            // Add
    upsample,       // UpSampling2D nearest, `by` in both directions
    multiply,       // MultiplyBeta: by `factor`
    pixel_shuffle,  // PixelShuffle{2,3,4,8}x: tf.depthToSpace with block size `by`
};

struct TfjsLayer {
    TfjsKind kind = TfjsKind::input;
    std::string name;
    std::vector<size_t> inputs;  // indices of layers
    int64_t by = 1;
    double factor = 1;
    bool bias = false;    // convolution: it has one
    int64_t filters = 0;  // convolution: channels out
    Shape kernel;         // convolution: [height, width]
};

struct TfjsWeight {
    std::string name;
    Shape shape;
    std::vector<float> values;
};

struct TfjsModel {
    std::vector<TfjsLayer> layers;  // those that the output needs, each after its inputs; the output comes last
    std::vector<TfjsWeight> weights;

    [[nodiscard]] const TfjsWeight* find_weight(std::string_view name) const noexcept;  // null: there is none
};

// The bytes of the shard that the model calls `path`. Throws Error(not_found) when there is none.
using TfjsShards = std::function<std::vector<std::byte>(const std::string& path)>;

// Trusts nothing in `json` or the shards. `file` is for messages. Throws Error: corrupt (broken or incomplete JSON, layers that miss
// inputs or go in a circle, shards of another size than the weights), unsupported (another layer, attribute or element type).
TfjsModel parse_tfjs(std::string_view json, const std::string& file, const TfjsShards& shards);

// Reads the model.json and the shards beside it. Also throws what the system says: Error(not_found, denied).
TfjsModel read_tfjs(const std::filesystem::path& path);

}  // namespace backplane::formats
