#include "kernels/normalize.h"

#include "kernels/functions.h"

namespace {

// body(index, floats) for every vector of n floats; the last may be short.
template <typename Body>
HWY_INLINE void vectors(int64_t n, Body body) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
    if (i < n) body(i, n - i);
}

template <bool SCALE, bool BIAS>
void normalize(const float* x, float* out, int64_t n, float mean, float factor, const float* scale, const float* bias) {
    const VF m = hn::Set(f, mean);
    const VF k = hn::Set(f, factor);
    vectors(n, [=](int64_t i, int64_t count) HWY_ATTR {
        VF v = hn::Mul(hn::Sub(load_first(x + i, count), m), k);
        if constexpr (SCALE) v = hn::Mul(v, load_first(scale + i, count));
        if constexpr (BIAS) v = hn::Add(v, load_first(bias + i, count));
        store_first(v, out + i, count);
    });
}

void row(const float* x, float* out, int64_t n, float mean, float factor, const float* scale, const float* bias) {
    if (scale != nullptr && bias != nullptr) return normalize<true, true>(x, out, n, mean, factor, scale, bias);
    if (scale != nullptr) return normalize<true, false>(x, out, n, mean, factor, scale, bias);
    if (bias != nullptr) return normalize<false, true>(x, out, n, mean, factor, scale, bias);
    normalize<false, false>(x, out, n, mean, factor, scale, bias);
}

void affine(const float* x, float* out, int64_t n, float mean, float factor, float bias) {
    const VF m = hn::Set(f, mean);
    const VF k = hn::Set(f, factor);
    const VF b = hn::Set(f, bias);
    vectors(n, [=](int64_t i, int64_t count)
                   HWY_ATTR { store_first(hn::MulAdd(hn::Sub(load_first(x + i, count), m), k, b), out + i, count); });
}

void affine_columns(const float* x, float* out, int64_t n, const float* mean, const float* factor, const float* bias) {
    vectors(n, [=](int64_t i, int64_t count) HWY_ATTR {
        const VF centred = hn::Sub(load_first(x + i, count), load_first(mean + i, count));
        store_first(hn::MulAdd(centred, load_first(factor + i, count), load_first(bias + i, count)), out + i, count);
    });
}

// Independent chains that hide the latency of additions and maxima.
constexpr int64_t kChains = 4;

// The largest of a row; what it gives when there is a NaN does not matter: the sum of the exponentials is NaN then.
float greatest(const float* x, int64_t n) {
    VF best[kChains];
    for (VF& v : best) v = hn::Set(f, x[0]);
    int64_t i = 0;
    for (; i + kChains * kLanes <= n; i += kChains * kLanes)
#pragma GCC unroll 4
        for (int j = 0; j < kChains; ++j) best[j] = hn::Max(hn::LoadU(f, x + i + j * kLanes), best[j]);
    for (; i < n; i += kLanes) {
        const VF v = load_first(x + i, n - i);
        const VF most = hn::Max(v, best[0]);
        best[0] = n - i >= kLanes ? most : VF(hn::IfThenElse(hn::FirstN(f, static_cast<size_t>(n - i)), most, best[0]));
    }
    return hn::GetLane(hn::MaxOfLanes(f, plain(hn::Max(hn::Max(best[0], best[1]), hn::Max(best[2], best[3])))));
}

// out = e^(x - most) for a piece of a row, and the sum.
double exponentials(const float* x, float* out, int64_t n, VF most) {
    VF sum[kChains];
    for (VF& v : sum) v = hn::Zero(f);
    int64_t i = 0;
    for (; i + kChains * kLanes <= n; i += kChains * kLanes)
#pragma GCC unroll 4
        for (int j = 0; j < kChains; ++j) {
            const VF e = v_exp(hn::Sub(hn::LoadU(f, x + i + j * kLanes), most));
            hn::StoreU(e, f, out + i + j * kLanes);
            sum[j] = hn::Add(sum[j], e);
        }
    for (; i < n; i += kLanes) {
        VF e = v_exp(hn::Sub(load_first(x + i, n - i), most));
        store_first(e, out + i, n - i);
        if (n - i < kLanes) e = hn::IfThenElseZero(hn::FirstN(f, static_cast<size_t>(n - i)), plain(e));
        sum[0] = hn::Add(sum[0], e);
    }
    float lane[kLanes];
    hn::StoreU(hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])), f, lane);
    double total = 0;
    for (int64_t l = 0; l < kLanes; ++l) total += static_cast<double>(lane[l]);
    return total;
}

template <bool LOGARITHM>
void softmax(const float* x, float* out, int64_t n) {
    const VF most = hn::Set(f, greatest(x, n));
    double total = 0;
    // Pieces keep the float32 sums short.
    constexpr int64_t kPiece = 256 * kLanes;
    for (int64_t begin = 0; begin < n; begin += kPiece)
        total += exponentials(x + begin, out + begin, HWY_MIN(kPiece, n - begin), most);
    if constexpr (LOGARITHM) {
        const VF lost = hn::Set(f, static_cast<float>(log(total)));
        vectors(n, [=](int64_t i, int64_t count)
                       HWY_ATTR { store_first(hn::Sub(hn::Sub(load_first(x + i, count), most), lost), out + i, count); });
        return;
    }
    const VF factor = hn::Set(f, static_cast<float>(1.0 / total));
    vectors(n, [=](int64_t i, int64_t count)
                   HWY_ATTR { store_first(hn::Mul(load_first(out + i, count), factor), out + i, count); });
}

template <bool LOGARITHM>
void softmax_columns(const float* x, float* out, int64_t n, int64_t stride, int64_t columns) {
    vectors(columns, [=](int64_t c, int64_t count) HWY_ATTR {
        VF most = load_first(x + c, count);
        for (int64_t k = 1; k < n; ++k) most = f_max(most, load_first(x + k * stride + c, count));
        VF total = hn::Zero(f);
        for (int64_t begin = 0; begin < n; begin += 64) {
            const int64_t end = n - begin < 64 ? n : begin + 64;
            VF sum = hn::Zero(f);
            for (int64_t k = begin; k < end; ++k) {
                const VF e = v_exp(hn::Sub(load_first(x + k * stride + c, count), most));
                store_first(e, out + k * stride + c, count);
                sum = hn::Add(sum, e);
            }
            total = hn::Add(total, sum);
        }
        const VF factor = LOGARITHM ? v_log(total) : VF(hn::Div(hn::Set(f, 1.0f), total));
        for (int64_t k = 0; k < n; ++k) {
            float* at = out + k * stride + c;
            if constexpr (LOGARITHM)
                store_first(hn::Sub(hn::Sub(load_first(x + k * stride + c, count), most), factor), at, count);
            else
                store_first(hn::Mul(load_first(at, count), factor), at, count);
        }
    });
}

void blend(const float* a, const float* b, float t, float* out, int64_t n) {
    const VF after = hn::Set(f, t);
    const VF before = hn::Set(f, 1.0f - t);
    vectors(n, [=](int64_t i, int64_t count) HWY_ATTR {
        store_first(hn::MulAdd(load_first(a + i, count), before, hn::Mul(load_first(b + i, count), after)), out + i, count);
    });
}

}  // namespace

BP_CPU_ENTRY(normalize, NormalizeKernels) {
    table->row = row;
    table->affine = affine;
    table->affine_columns = affine_columns;
    table->softmax = softmax<false>;
    table->softmax_columns = softmax_columns<false>;
    table->log_softmax = softmax<true>;
    table->log_softmax_columns = softmax_columns<true>;
    table->blend = blend;
}
