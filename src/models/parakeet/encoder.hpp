// FastConformer (arXiv:2305.05084): subsampling by strided convolutions, then layers of feed-forward, attention with relative positions
// (arXiv:1901.02860), convolution and feed-forward, as NeMo's ConformerEncoder has them.
#pragma once

#include "models/parakeet/front_end.hpp"

namespace backplane::parakeet {

// Frames that subsampling leaves of so many: each of its convolutions rounds up.
[[nodiscard]] int64_t encoded_frames(const EncoderConfig& config, int64_t frames) noexcept;

// The name of a layer's table of projected relative positions: an input of the encoder's graph, [heads, 2 * reach - 1, d_model / heads], of
// the type of the feature maps; row reach - 1 - d is of keys d before the query.
[[nodiscard]] std::string positions_name(int64_t layer);
// Of devices that have a part of the frames each: the table of a part, and how far its row of a distance is from where that is in the table for all, which
// stands queries at the end of the keys.
[[nodiscard]] std::string positions_name(int64_t layer, uint32_t part, uint32_t parts);
[[nodiscard]] int64_t positions_shift(int64_t encoded, uint32_t part, uint32_t parts) noexcept;
// Makes those tables for sequences of up to `reach` encoded frames, as outputs of these names. They are the same for every clip, so that an
// encoder that is given them does a product a layer less.
[[nodiscard]] Graph positions_graph(NetworkWeights& weights, int64_t reach, int64_t shift = 0);

// The reach that tables are made for where so many encoded frames are wanted: a power of two, so that longer ones seldom need new tables.
[[nodiscard]] int64_t reach_of(int64_t encoded) noexcept;

struct Encoded {
    TensorId values;   // of the type of the feature maps, [clips, encoded frames, d_model]
    TensorId lengths;  // i32 [clips]; no_tensor: all are the whole
};

// Adds inputs positions_name(0) ... for tables of `reach`, at least the encoded frames.
Encoded add_encoder(Graph& graph, NetworkWeights& weights, const BatchShape& shape, const Features& features, int64_t reach);
// Likewise in as many parts of the frames as there are features: of each part all features are wanted and the tables positions_name(layer, part, parts).
// A part's queries see all keys, so keys and values go from each to each, and beside them what a convolution over time reads of its neighbours.
Encoded add_encoder(Graph& graph, NetworkWeights& weights, const BatchShape& shape, const std::vector<Features>& features,
                    int64_t reach, NodeParts& nodes);
// Whether the frames of a batch go in so many parts: evenly, and none less than what a convolution reads of it.
[[nodiscard]] bool goes_in_parts(const EncoderConfig& config, int64_t frames, int64_t parts) noexcept;

}  // namespace backplane::parakeet
