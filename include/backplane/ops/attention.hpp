// Description of attention.
#pragma once

#include <cmath>

#include "backplane/ops/description.hpp"

namespace backplane::ops {

struct AttentionAttributes {
    bool causal = false;
    int64_t window = 0;  // 0: none
    double scale = 0;    // 0: 1 / sqrt(D)
    double softcap = 0;  // 0: none
    // Of heads of `size` numbers.
    [[nodiscard]] double scale_of(int64_t size) const {
        return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(size < 1 ? 1 : size));
    }
};

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
    const Dims scores{q[0], q[1], q[2], k[2]};
    if (call.has(3)) {
        const auto why = [&] { return call.text(3) + " does not broadcast to the scores " + text_of(scores); };
        require(call.rank(3) <= 4, why);
        require(broadcast(scores, call.dims(3), why) == scores, why);
    }
    require(!call.has(4) || call.dims(4) == Dims{q[0]}, [&] {
        return call.text(4) + " must have one length for each of the " + std::to_string(q[0]) + " in " + call.text(0);
    });
    out[0].dims = {q[0], q[1], q[2], v[3]};
}
inline constexpr auto op_attention = describe<AttentionAttributes>(
    {.id = BP_OP_attention,
     .summary = "softmax(scale * q k^T + mask) v, without the scores in memory; where a row sees no key, zeros",
     .shapes =
         "q[N, H, T, D], k[N, K, S, D], v[N, K, S, E], mask? that broadcasts to [N, H, T, S] (bool: what is seen; a number "
         "is added), lengths[N]? (keys that are valid, S without) -> y[N, H, T, E]. H/K heads of q share one of k. Query i "
         "stands at length - T + i: causal sees no key behind it, a window of w none w or more away. softcap c: scores "
         "become c tanh(score / c), before the mask",
     .inputs = {{"q", one_of(kFloats)},
                {"k", like(0)},
                {"v", like(0)},
                {"mask", one_of(kFloats | type(BP_BOOL)), true},
                {"lengths", one_of(kWhole), true}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&AttentionAttributes::causal>(BP_ATTR_causal),
                    attribute<&AttentionAttributes::window>(BP_ATTR_window, at_least(0)),
                    attribute<&AttentionAttributes::scale>(BP_ATTR_scale),
                    attribute<&AttentionAttributes::softcap>(BP_ATTR_softcap)},
     .shape = attention_shape});

}  // namespace backplane::ops
