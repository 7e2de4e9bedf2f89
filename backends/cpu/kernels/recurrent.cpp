#include "kernels/recurrent.h"

#include "kernels/functions.h"

namespace {

using backplane::cpu::PackedType;
using backplane::cpu::RecurrentCell;
using backplane::cpu::RecurrentFunction;
using backplane::cpu::RecurrentSums;

template <PackedType TYPE>
HWY_INLINE VF weight_at(const void* weights, int64_t i) {
    if constexpr (TYPE == backplane::cpu::kPackedF32) {
        return hn::LoadU(f, static_cast<const float*>(weights) + i);
    } else if constexpr (TYPE == backplane::cpu::kPackedF16) {
        const hn::Rebind<hwy::float16_t, F> d;
        return hn::PromoteTo(f, hn::LoadU(d, static_cast<const hwy::float16_t*>(weights) + i));
    } else {
        const hn::Rebind<uint16_t, F> d;
        return hn::BitCast(f,
                           hn::ShiftLeft<16>(hn::PromoteTo(I(), hn::LoadU(d, static_cast<const uint16_t*>(weights) + i))));
    }
}

// All that a step takes is read once, out of caches far away: asked for so many bytes before it is needed. By itself the processor asks for no
// more than the rest of a page.
constexpr int64_t kAhead = 8192, kLineBytes = 64;

template <PackedType TYPE, int GATES, int ROWS>
HWY_INLINE void sum_rows(const RecurrentSums& t, int64_t row) {
    // One row has too few sums to hide the latency of the additions.
    constexpr int SETS = ROWS == 1 ? 2 : 1;
    VF sums[SETS][ROWS][GATES];
    for (int s = 0; s < SETS; ++s)
        for (int i = 0; i < ROWS; ++i)
            for (int g = 0; g < GATES; ++g) sums[s][i][g] = hn::Zero(f);
    const float* state = t.state + row * t.depth;
    constexpr int64_t kStep = GATES * kLanes * (TYPE == backplane::cpu::kPackedF32 ? 4 : 2);
    const int64_t bytes = t.depth * kStep;
    const auto add = [&](int s, int64_t k) HWY_ATTR {
        const int64_t ahead = k * kStep + kAhead;
        const auto* soon =
            static_cast<const uint8_t*>(ahead < bytes ? t.weights : t.next) + (ahead < bytes ? ahead : ahead - bytes);
        for (int64_t i = 0; i < kStep; i += kLineBytes) __builtin_prefetch(soon + i);
        VF w[GATES];
#pragma GCC unroll 4
        for (int g = 0; g < GATES; ++g) w[g] = weight_at<TYPE>(t.weights, (k * GATES + g) * kLanes);
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; ++i) {
            const VF x = hn::Set(f, state[i * t.depth + k]);
#pragma GCC unroll 4
            for (int g = 0; g < GATES; ++g) sums[s][i][g] = hn::MulAdd(x, w[g], sums[s][i][g]);
        }
    };
    int64_t k = 0;
    for (; k + 2 <= t.depth; k += 2) {
        add(0, k);
        add(SETS - 1, k + 1);
    }
    if (k < t.depth) add(0, k);
    float* to = t.sums + row * GATES * kLanes;
    for (int i = 0; i < ROWS; ++i)
        for (int g = 0; g < GATES; ++g, to += kLanes)
            hn::StoreU(SETS == 2 ? VF(hn::Add(sums[0][i][g], sums[SETS - 1][i][g])) : VF(sums[0][i][g]), f, to);
}

template <PackedType TYPE, int GATES>
HWY_NOINLINE void sums_of(const RecurrentSums& t) {
    int64_t row = 0;
    for (; row + 3 <= t.rows; row += 3) sum_rows<TYPE, GATES, 3>(t, row);
    if (t.rows - row == 2) sum_rows<TYPE, GATES, 2>(t, row);
    if (t.rows - row == 1) sum_rows<TYPE, GATES, 1>(t, row);
}

HWY_INLINE VF function(RecurrentFunction which, VF x, float clip) {
    x = v_clamp(x, -clip, clip);
    if (which == backplane::cpu::kRecurrentSigmoid) return v_sigmoid(x);
    if (which == backplane::cpu::kRecurrentTanh) return v_tanh(x);
    return f_relu(x, 0, 0);
}

HWY_INLINE VF load(const RecurrentCell& t, const float* from) { return load_first(from, t.units); }
HWY_INLINE VF plus(const RecurrentCell& t, VF sum, const float* bias, int gate) {
    return bias != nullptr ? VF(hn::Add(sum, load(t, bias + gate * t.stride))) : sum;
}
// What the input and the state make of a gate.
HWY_INLINE VF from_input(const RecurrentCell& t, int gate) {
    return plus(t, load(t, t.inputs + gate * t.stride), t.input_bias, gate);
}
HWY_INLINE VF from_state(const RecurrentCell& t, int gate, int place) {
    return plus(t, hn::LoadU(f, t.sums + place * kLanes), t.state_bias, gate);
}
HWY_INLINE VF from_both(const RecurrentCell& t, int gate) { return hn::Add(from_input(t, gate), from_state(t, gate, gate)); }
HWY_INLINE void finish(const RecurrentCell& t, VF state) {
    store_first(state, t.after, t.units);
    store_first(state, t.result, t.units);
}

void lstm(const RecurrentCell& t) {
    enum { input, output, forget, content };
    const VF old = load(t, t.cell);
    const auto gate = [&](int which, VF cell) HWY_ATTR {
        VF sum = from_both(t, which);
        if (t.peepholes != nullptr) sum = hn::MulAdd(cell, load(t, t.peepholes + which * t.stride), sum);
        return function(t.functions[0], sum, t.clip);
    };
    const VF in = gate(input, old);
    const VF kept = t.input_forget ? VF(hn::Sub(hn::Set(f, 1.0f), in)) : VF(gate(forget, old));
    const VF cell = hn::MulAdd(in, function(t.functions[1], from_both(t, content), t.clip), hn::Mul(kept, old));
    store_first(cell, t.cell, t.units);
    finish(t, hn::Mul(gate(output, cell), function(t.functions[2], cell, t.clip)));
}

// (1 - update) content + update state
HWY_INLINE void mix(const RecurrentCell& t, VF update, VF content) {
    finish(t, hn::MulAdd(update, load(t, t.before), hn::Mul(hn::Sub(hn::Set(f, 1.0f), update), content)));
}

void gru(const RecurrentCell& t) {
    enum { update, reset, content };
    const VF open = function(t.functions[0], from_both(t, reset), t.clip);
    const VF sum = hn::MulAdd(open, from_state(t, content, content), from_input(t, content));
    mix(t, function(t.functions[0], from_both(t, update), t.clip), function(t.functions[1], sum, t.clip));
}

void gru_gates(const RecurrentCell& t) {
    enum { update, reset };
    store_first(function(t.functions[0], from_both(t, update), t.clip), t.update, t.units);
    store_first(hn::Mul(function(t.functions[0], from_both(t, reset), t.clip), load(t, t.before)), t.reached, t.units);
}

void gru_content(const RecurrentCell& t) {
    constexpr int content = 2;
    const VF sum = hn::Add(from_input(t, content), from_state(t, content, 0));
    mix(t, load(t, t.update), function(t.functions[1], sum, t.clip));
}

template <int GATES>
void fill(void (*(&to)[3])(const RecurrentSums&)) {
    to[backplane::cpu::kPackedF32] = sums_of<backplane::cpu::kPackedF32, GATES>;
    to[backplane::cpu::kPackedF16] = sums_of<backplane::cpu::kPackedF16, GATES>;
    to[backplane::cpu::kPackedBF16] = sums_of<backplane::cpu::kPackedBF16, GATES>;
}

}  // namespace

BP_CPU_ENTRY(recurrent, RecurrentKernels) {
    table->lanes = kLanes;
    fill<1>(table->sums[0]);
    fill<2>(table->sums[1]);
    fill<3>(table->sums[2]);
    fill<4>(table->sums[3]);
    table->lstm = lstm;
    table->gru = gru;
    table->gru_gates = gru_gates;
    table->gru_content = gru_content;
}
