// Attention: y[n, h, i] = sum over j of p[i, j] v[n, h', j], p[i] = softmax over j of scale * q[n, h, i] k[n, h', j] + mask, h' = h / (H / K).
// ONNX Attention 23 and 24 (lengths: nonpad_kv_seqlen). Two departures: a row that sees no key is zeros and not NaN; query i stands at
// length - T + i, which is ONNX's i + past where keys of the past stand before those of the queries. A window is Mistral's (arXiv:2310.06825),
// softcap Gemma 2's (arXiv:2408.00118), both before the mask. Online softmax in kernels: Milakov and Gimelshein, arXiv:1805.02867.
// Relative positions: Transformer-XL's (arXiv:1901.02860, 3.3), of which u and v may be left out; encodings come projected, the farthest past
// first, as NeMo's RelPositionMultiHeadAttention has them, whose batches of clips want `padded`.
// Types: f32, f16, bf16, f64. Attributes: causal, window, scale, softcap, padded.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::attention {

namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

// Where element [n, h, i, j] of the scores is in a mask that broadcasts to them.
struct MaskPlace {
    const ReferenceTensor* mask;
    std::vector<int64_t> strides;
    MaskPlace(const ReferenceTensor* given, const Shape& scores) : mask(given) {
        if (mask != nullptr) strides = broadcast_strides(mask->shape, scores);
    }
    [[nodiscard]] double added(int64_t n, int64_t h, int64_t i, int64_t j) const {
        if (mask == nullptr) return 0;
        const double value =
            mask->data[static_cast<size_t>(n * strides[0] + h * strides[1] + i * strides[2] + j * strides[3])];
        if (mask->dtype == DType::boolean) return value != 0 ? 0 : kUnseen;
        return value;
    }
};

// sum over d of (q[d] + bias[d]) * x[d]; no bias: null.
double product(const double* q, const double* bias, const double* x, int64_t size) {
    double sum = 0;
    for (int64_t d = 0; d < size; ++d) sum += (q[d] + (bias != nullptr ? bias[d] : 0)) * x[d];
    return sum;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& q = call.input(0);
    const ReferenceTensor& k = call.input(1);
    const ReferenceTensor& v = call.input(2);
    const int64_t heads = q.shape[1], queries = q.shape[2], size = q.shape[3], keys = k.shape[2], width = v.shape[3];
    const backplane::ops::AttentionAttributes a{call.attributes.integer(Attr::causal) != 0,
                                                call.attributes.integer(Attr::window), call.attributes.number(Attr::scale),
                                                call.attributes.number(Attr::softcap),
                                                call.attributes.integer(Attr::padded) != 0};
    const double scale = a.scale_of(size);
    const MaskPlace mask(call.has(3) ? &call.input(3) : nullptr, {q.shape[0], heads, queries, keys});
    std::vector<double> p(static_cast<size_t>(keys));
    const auto row = [](const ReferenceTensor& x, int64_t n, int64_t h, int64_t i) {
        return x.data.data() + ((n * x.shape[1] + h) * x.shape[2] + i) * x.shape[3];
    };
    const auto bias = [&](size_t input, int64_t h) {
        return call.has(input) ? call.input(input).data.data() + h * size : nullptr;
    };
    // Of keys `distance` before the query of head h.
    const auto position = [&](int64_t h, int64_t distance) {
        const int64_t rows = call.input(5).shape[1];
        return call.input(5).data.data() + (h * rows + (rows - 1) / 2 - distance) * size;
    };
    for (int64_t n = 0; n < q.shape[0]; ++n) {
        const int64_t length =
            call.has(4) ? std::clamp<int64_t>(to_integer(call.input(4).data[static_cast<size_t>(n)]), 0, keys) : keys;
        for (int64_t h = 0; h < heads; ++h) {
            const int64_t shared = h / (heads / k.shape[1]);
            for (int64_t i = 0; i < queries; ++i) {
                const int64_t at = a.place_of(length, queries, keys) + i;
                const double* from = row(q, n, h, i);
                double most = kUnseen;
                for (int64_t j = 0; j < keys; ++j) {
                    const bool near = a.window == 0 || std::abs(at - j) < a.window;
                    double& score = p[static_cast<size_t>(j)];
                    score = kUnseen;
                    if (j >= length || (a.causal && j > at) || !near) continue;
                    score = product(from, bias(6, h), row(k, n, shared, j), size);
                    if (call.has(5)) score += product(from, bias(7, h), position(h, at - j), size);
                    score *= scale;
                    if (a.softcap > 0) score = a.softcap * std::tanh(score / a.softcap);
                    score += mask.added(n, h, i, j);
                    most = std::max(most, score);
                }
                if (most == kUnseen) continue;
                double sum = 0;
                for (double& score : p) sum += score = std::exp(score - most);
                double* into = call.output.data.data() + ((n * heads + h) * queries + i) * width;
                for (int64_t j = 0; j < keys; ++j)
                    for (int64_t e = 0; e < width && p[static_cast<size_t>(j)] != 0; ++e)
                        into[e] += p[static_cast<size_t>(j)] / sum * row(v, n, shared, j)[e];
            }
        }
    }
}

}  // namespace

constinit const OpDefinition op_attention{backplane::ops::op_attention, reference};

}  // namespace backplane::graph::ops::attention
