#include "kernels/peak.h"

#include "kernels/simd.h"

namespace {

// As many as the matrix kernels keep: enough for latency times pipes on every core we know.
constexpr int kPeakChains = kVectors == 2 ? 12 : 24;

float multiply_add(int64_t rounds, double* flops) {
    VF v[kPeakChains];
#pragma GCC unroll 24
    for (int i = 0; i < kPeakChains; ++i) v[i] = hn::Set(f, 1.0f + static_cast<float>(i));
    const VF a = hn::Set(f, 0.999f);
    const VF b = hn::Set(f, 0.001f);
    for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 24
        for (int i = 0; i < kPeakChains; ++i) v[i] = hn::MulAdd(v[i], a, b);
    VF sum = v[0];
#pragma GCC unroll 24
    for (int i = 1; i < kPeakChains; ++i) sum = hn::Add(sum, v[i]);
    *flops += 2.0 * kPeakChains * static_cast<double>(kLanes) * static_cast<double>(rounds);
    return hn::GetLane(hn::SumOfLanes(f, plain(sum)));
}

float sum(const float* from, int64_t n) {
    VF v[4] = {hn::Zero(f), hn::Zero(f), hn::Zero(f), hn::Zero(f)};
    for (int64_t i = 0; i + 4 * kLanes <= n; i += 4 * kLanes)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) v[j] = hn::Add(v[j], hn::LoadU(f, from + i + j * kLanes));
    return hn::GetLane(hn::SumOfLanes(f, plain(hn::Add(hn::Add(v[0], v[1]), hn::Add(v[2], v[3])))));
}

}  // namespace

BP_CPU_ENTRY(peak, PeakKernels) {
    table->multiply_add = multiply_add;
    table->sum = sum;
}
