// Descriptions of attention, and of the rotation that tells it positions.
#pragma once

#include <algorithm>
#include <cmath>

#include "backplane/ops/description.hpp"

namespace backplane::ops {

struct AttentionAttributes {
    bool causal = false;
    int64_t window = 0;  // 0: none
    double scale = 0;    // 0: 1 / sqrt(D)
    double softcap = 0;  // 0: none
    bool padded = false;
    // Of heads of `size` numbers.
    [[nodiscard]] double scale_of(int64_t size) const {
        return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(size < 1 ? 1 : size));
    }
    // Where query 0 of a sample with this many valid keys stands.
    [[nodiscard]] int64_t place_of(int64_t length, int64_t queries, int64_t keys) const {
        return (padded ? keys : length) - queries;
    }
};

// Distances -n to n stand in 2 n + 1 rows: do they cover all that is seen?
inline void relative_positions_shape(const Call& call) {
    const auto& a = call.as<AttentionAttributes>();
    const Dims& q = call.dims(0);
    require(call.has(5) || (!call.has(6) && !call.has(7)),
            [&] { return call.text(call.has(6) ? 6 : 7) + " is of relative positions: give them, too"; });
    if (!call.has(5)) return;
    const Dims& p = call.dims(5);
    require(call.rank(5) == 3 && p[0] == q[1] && p[2] == q[3] && p[1] % 2 == 1, [&] {
        return call.text(5) + " must be [" + std::to_string(q[1]) + ", R, " + std::to_string(q[3]) + "] with an odd R for " +
               call.text(0);
    });
    const int64_t longest = std::max<int64_t>(1, std::max(q[2], call.dims(1)[2]));
    const int64_t rows = 2 * (a.window > 0 ? std::min(a.window, longest) : longest) - 1;
    require(p[1] >= rows, [&] {
        return call.text(5) + " has too few rows: " + call.text(0) + " and " + call.text(1) + " need " +
               std::to_string(rows);
    });
    for (size_t i = 6; i < 8; ++i)
        require(!call.has(i) || call.dims(i) == Dims{q[1], q[3]}, [&] {
            return call.text(i) + " must be " + text_of(Dims{q[1], q[3]}) + " for " + call.text(0);
        });
}

inline void attention_shape(const Call& call, Outputs out) {
    const auto& a = call.as<AttentionAttributes>();
    require_attribute(std::isfinite(a.scale), [] { return std::string("attribute scale must be a number"); });
    require_attribute(std::isfinite(a.softcap) && a.softcap >= 0,
                      [] { return std::string("attribute softcap must be 0 or more"); });
    for (size_t i = 0; i < 3; ++i) require_rank(call, i, 4);
    const Dims& q = call.dims(0);
    const Dims& k = call.dims(1);
    const Dims& v = call.dims(2);
    require(k[0] == q[0] && k[3] == q[3],
            [&] { return call.text(1) + " does not fit " + call.text(0) + ": batch and size of a head are alike"; });
    require(k[1] != 0 ? q[1] % k[1] == 0 : q[1] == 0, [&] {
        return "the " + std::to_string(q[1]) + " heads of " + call.text(0) + " do not divide among the " +
               std::to_string(k[1]) + " of " + call.text(1);
    });
    require(v[0] == k[0] && v[1] == k[1] && v[2] == k[2],
            [&] { return call.text(2) + " must be alike " + call.text(1) + " but for the size of a head"; });
    require(call.dtype(2) == call.dtype(1), BP_WHY_DTYPE,
            [&] { return call.typed_text(1) + " and " + call.typed_text(2) + " must be of one element type"; });
    const Dims scores{q[0], q[1], q[2], k[2]};
    if (call.has(3)) {
        const auto why = [&] { return call.text(3) + " does not broadcast to the scores " + text_of(scores); };
        require(call.rank(3) <= 4, why);
        require(broadcast(scores, call.dims(3), why) == scores, why);
    }
    require(!call.has(4) || call.dims(4) == Dims{q[0]}, [&] {
        return call.text(4) + " must have one length for each of the " + std::to_string(q[0]) + " in " + call.text(0);
    });
    relative_positions_shape(call);
    out[0].dims = {q[0], q[1], q[2], v[3]};
}
inline constexpr auto op_attention = describe<AttentionAttributes>(
    {.id = BP_OP_attention,
     .summary = "softmax(scale * (q k^T + relative positions) + mask) v, without the scores in memory; where a row sees no "
                "key, zeros",
     .shapes =
         "q[N, H, T, D], k[N, K, S, D], v[N, K, S, E], mask? that broadcasts to [N, H, T, S] (bool: what is seen; a number "
         "is added), lengths[N]? (keys that are valid, S without), positions[H, R, D]?, pos_bias_u[H, D]?, "
         "pos_bias_v[H, D]? -> y[N, H, T, E]. H/K heads of q share one of k. Query i stands at length - T + i, where padded "
         "at "
         "S - T + i (what a length leaves out is padding, of q as of k, and no room in a cache): causal sees no key behind "
         "it, a window of w none w or more away. Of positions, R odd, row (R - 1)/2 - d is of keys d before the query: "
         "scores "
         "are scale * ((q + u) . k + (q + v) . p). R is at least 2 max(T, S) - 1, or 2 w - 1 if that is less. softcap c: "
         "scores become c tanh(score / c), before the mask",
     .inputs = {{"q", one_of(kFloats)},
                {"k", like(0, type(BP_Q8_0), kFloats)},
                {"v", like(0, type(BP_Q8_0), kFloats)},
                {"mask", one_of(kFloats | type(BP_BOOL)), true},
                {"lengths", one_of(kWhole), true},
                {"positions", like(0), true},
                {"pos_bias_u", like(0), true},
                {"pos_bias_v", like(0), true}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&AttentionAttributes::causal>(BP_ATTR_causal),
                    attribute<&AttentionAttributes::window>(BP_ATTR_window, at_least(0)),
                    attribute<&AttentionAttributes::scale>(BP_ATTR_scale),
                    attribute<&AttentionAttributes::softcap>(BP_ATTR_softcap),
                    attribute<&AttentionAttributes::padded>(BP_ATTR_padded)},
     .shape = attention_shape});

// ---- RotaryEmbedding --------------------------------------------------------------------------------------------------------

struct RotaryEmbeddingAttributes {
    bool interleaved = false;          // pairs are neighbours; else the halves of what is rotated
    int64_t num_heads = 0;             // of x[N, T, ...]
    int64_t rotary_embedding_dim = 0;  // numbers of a head that are rotated; 0: all
};

// Where the heads of x lie: [N, H, T, D], or [N, T, H * D].
struct RotaryShape {
    int64_t batch, heads, tokens, size, rotated;
    bool heads_first;  // rank 4
    RotaryShape(std::span<const int64_t> x, const RotaryEmbeddingAttributes& a)
        : batch(x[0]),
          heads(x.size() == 4 ? x[1] : a.num_heads),
          tokens(x.size() == 4 ? x[2] : x[1]),
          size(x.size() == 4 ? x[3] : x[2] / (a.num_heads < 1 ? 1 : a.num_heads)),
          rotated(a.rotary_embedding_dim != 0 ? a.rotary_embedding_dim : size),
          heads_first(x.size() == 4) {}
};

inline void rotary_embedding_shape(const Call& call, Outputs out) {
    const auto& a = call.as<RotaryEmbeddingAttributes>();
    require(call.rank(0) == 3 || call.rank(0) == 4, [&] { return call.text(0) + " must have rank 3 or 4"; });
    if (call.rank(0) == 3)
        require_attribute(a.num_heads > 0 && call.dims(0)[2] % a.num_heads == 0, [&] {
            return call.text(0) + " of rank 3 needs num_heads, of which its last axis has a multiple, not " +
                   std::to_string(a.num_heads);
        });
    const RotaryShape s(call.dims(0), a);
    require_attribute(s.rotated % 2 == 0 && s.rotated <= s.size, [&] {
        return "rotary_embedding_dim is " + std::to_string(s.rotated) + ", which is odd or more than the " +
               std::to_string(s.size) + " numbers of a head of " + call.text(0);
    });
    for (size_t i = 1; i < 3; ++i) {
        const Dims& table = call.dims(i);
        const bool fits =
            call.has(3) ? table.size() == 2 && table[1] == s.rotated / 2 : table == Dims{s.batch, s.tokens, s.rotated / 2};
        require(fits && table == call.dims(1), [&] {
            return call.text(i) + (call.has(3) ? " must be [P, " : " must be [N, T, ") + std::to_string(s.rotated / 2) +
                   "] for " + call.text(0) + ", and cos and sin alike";
        });
    }
    require(!call.has(3) || call.dims(3) == Dims{s.batch, s.tokens}, [&] {
        return call.text(3) + " must be " + text_of(Dims{s.batch, s.tokens}) + " for " + call.text(0);
    });
    same_shape(call, out);
}
inline constexpr auto op_rotary_embedding = describe<RotaryEmbeddingAttributes>(
    {.id = BP_OP_rotary_embedding,
     .summary = "pairs of a head's numbers turned by an angle that depends on the position",
     .shapes =
         "x[N, H, T, D], or x[N, T, H * D] with num_heads H; cos and sin [P, R/2] with positions[N, T], or [N, T, R/2] "
         "without -> y alike: (a, b) becomes (a cos - b sin, a sin + b cos), of the first R = rotary_embedding_dim "
         "numbers of each head; a and b are halves apart, or neighbours where interleaved",
     .inputs = {{"x", one_of(kFloats)}, {"cos", like(0)}, {"sin", like(0)}, {"positions", one_of(kWhole), true}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&RotaryEmbeddingAttributes::interleaved>(BP_ATTR_interleaved),
                    attribute<&RotaryEmbeddingAttributes::num_heads>(BP_ATTR_num_heads, at_least(0)),
                    attribute<&RotaryEmbeddingAttributes::rotary_embedding_dim>(BP_ATTR_rotary_embedding_dim, at_least(0))},
     .shape = rotary_embedding_shape});

}  // namespace backplane::ops
