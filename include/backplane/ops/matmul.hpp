// Description of MatMul.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

struct MatMulAttributes {
    bool transpose_a = false;  // a is [..., K, M]
    bool transpose_b = false;  // b is [..., N, K]
};

inline void matmul_shape(const Call& call, Outputs out) {
    const auto& t = call.as<MatMulAttributes>();
    require((type(call.dtype(1)) & kBlocks) == 0 || t.transpose_b, BP_WHY_DTYPE,
            [&] { return call.typed_text(1) + " needs transpose_b: its blocks must run along K"; });
    for (uint32_t i = 0; i < 2; ++i) require(call.rank(i) >= 2, [&] { return call.text(i) + " must have rank 2 or more"; });
    Dims a = call.dims(0);
    Dims b = call.dims(1);
    if (t.transpose_a) std::swap(a[a.size() - 2], a[a.size() - 1]);
    if (t.transpose_b) std::swap(b[b.size() - 2], b[b.size() - 1]);
    require(a.back() == b[b.size() - 2], [&] {
        return call.text(0) + (t.transpose_a ? " transposed" : "") + " has K = " + std::to_string(a.back()) + ", " +
               call.text(1) + (t.transpose_b ? " transposed" : "") + " has K = " + std::to_string(b[b.size() - 2]);
    });
    const int64_t rows = a[a.size() - 2];
    const int64_t columns = b.back();
    a.count -= 2;
    b.count -= 2;
    out[0].dims = broadcast(call, a, b);
    out[0].dims.push_back(rows);
    out[0].dims.push_back(columns);
}

inline constexpr auto op_matmul = describe<MatMulAttributes>(
    {.id = BP_OP_matmul,
     .summary = "matrix product, batched",
     .shapes = "a[..., M, K], b[..., K, N] -> y[..., M, N]; the axes before the last two broadcast as numpy's",
     .inputs = {{"a", one_of(kFloats)}, {"b", like(0, kHalves | kBlocks)}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&MatMulAttributes::transpose_a>(BP_ATTR_transpose_a),
                    attribute<&MatMulAttributes::transpose_b>(BP_ATTR_transpose_b)},
     .shape = matmul_shape});

}  // namespace backplane::ops
