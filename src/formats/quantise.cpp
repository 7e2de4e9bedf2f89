// Loops over groups are vectors (-O3, src/CMakeLists.txt): a network of a billion weights goes through them.
#include "formats/quantise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "backplane/ops/blocks.hpp"
#include "graph/element_types.hpp"

namespace backplane::formats {

namespace {

constexpr size_t kBlock = 32, kSuper = 256;
constexpr int kTries = 9;         // to either side of the scale that the extremes ask for,
constexpr float kTryStep = 0.1F;  // so many digits apart
constexpr int kRounds = 3;        // of a block's common factors, at most

// To nearest, ties to even, for numbers below 2^22: no call, so that loops of it are vectors.
float rounded(float x) { return (x + 0x1.8p23F) - 0x1.8p23F; }

float write_half(float value, std::byte* at) {
    const uint16_t bits = graph::f16_from_double(std::clamp(static_cast<double>(value), -65504.0, 65504.0));
    std::memcpy(at, &bits, sizeof bits);
    return blocks::from_half(bits);
}
float as_half(float value) {
    std::array<std::byte, 2> bytes{};
    return write_half(value, bytes.data());
}
void put(std::byte* block, size_t byte, uint32_t bits, size_t shift) {
    block[byte] |= static_cast<std::byte>(bits << shift & 0xFF);
}

// ---- x ~ scale * digit, digits from -half to half - 1 --------------------------------------------------------------------------

template <size_t n>
float digits_of(const float* x, float scale, float half, float* digits) {
    const float inverse = scale != 0 ? 1 / scale : 0;
    float error = 0;
    for (size_t i = 0; i < n; ++i) {
        digits[i] = std::clamp(rounded(std::clamp(x[i] * inverse, -1e6F, 1e6F)), -half, half - 1);
        const float off = x[i] - scale * digits[i];
        error += off * off;
    }
    return error;
}

template <size_t n>
float best_scale(const float* x, float half) {
    float most = 0;  // with its sign
    for (size_t i = 0; i < n; ++i)
        if (std::fabs(x[i]) > std::fabs(most)) most = x[i];
    if (std::fabs(most) < 1e-30F) return 0;
    std::array<float, n> digits;
    float best = 0, least = HUGE_VALF;
    for (int k = -kTries; k <= kTries; ++k) {
        digits_of<n>(x, -most / (half + kTryStep * static_cast<float>(k)), half, digits.data());
        float xq = 0, qq = 0;
        for (size_t i = 0; i < n; ++i) {
            xq += x[i] * digits[i];
            qq += digits[i] * digits[i];
        }
        if (qq == 0) continue;
        const float scale = xq / qq;
        float error = 0;
        for (size_t i = 0; i < n; ++i) error += (x[i] - scale * digits[i]) * (x[i] - scale * digits[i]);
        if (error >= least) continue;
        least = error;
        best = scale;
    }
    return best;
}

void encode_q4_0(const float* x, std::byte* block) {
    std::array<float, kBlock> digits;
    digits_of<kBlock>(x, write_half(best_scale<kBlock>(x, 8), block), 8, digits.data());
    for (size_t j = 0; j < kBlock; ++j) put(block, 2 + j % 16, static_cast<uint32_t>(digits[j] + 8), j / 16 * 4);
}

void encode_q5_0(const float* x, std::byte* block) {
    std::array<float, kBlock> digits;
    digits_of<kBlock>(x, write_half(best_scale<kBlock>(x, 16), block), 16, digits.data());
    for (size_t j = 0; j < kBlock; ++j) {
        const auto digit = static_cast<uint32_t>(digits[j] + 16);
        put(block, 6 + j % 16, digit & 15, j / 16 * 4);
        put(block, 2 + j / 8, digit >> 4, j % 8);
    }
}

// 16 groups of 16, each with a whole number that the common factor is multiplied by.
struct Scaled {
    static constexpr size_t kGroup = 16, kGroups = kSuper / kGroup;
    float factor = 0, error = HUGE_VALF;
    std::array<float, kGroups> scales{};
    std::array<float, kSuper> digits{};
};

void fit_groups(const float* x, const std::array<float, Scaled::kGroups>& wanted, Scaled& fit) {
    fit.error = 0;
    for (size_t g = 0; g < Scaled::kGroups; ++g) {
        const float centre = fit.factor != 0 ? rounded(wanted[g] / fit.factor) : 0;
        float least = HUGE_VALF;
        for (const float step : {0.0F, -1.0F, 1.0F}) {
            const float scale = std::clamp(centre + step, -128.0F, 127.0F);
            std::array<float, Scaled::kGroup> digits;
            const float error = digits_of<Scaled::kGroup>(x + g * Scaled::kGroup, scale * fit.factor, 32, digits.data());
            if (error >= least) continue;
            least = error;
            fit.scales[g] = scale;
            std::copy(digits.begin(), digits.end(), fit.digits.begin() + static_cast<std::ptrdiff_t>(g * Scaled::kGroup));
        }
        fit.error += least;
    }
}

void encode_q6_k(const float* x, std::byte* block) {
    std::array<float, Scaled::kGroups> wanted{};
    float most = 0;
    for (size_t g = 0; g < Scaled::kGroups; ++g) {
        wanted[g] = best_scale<Scaled::kGroup>(x + g * Scaled::kGroup, 32);
        if (std::fabs(wanted[g]) > std::fabs(most)) most = wanted[g];
    }
    Scaled best, fit;
    fit.factor = as_half(most / -128);
    for (int round = 0; round < kRounds; ++round) {
        fit_groups(x, wanted, fit);
        if (fit.error >= best.error) break;
        best = fit;
        float xa = 0, aa = 0;
        for (size_t i = 0; i < kSuper; ++i) {
            const float a = fit.scales[i / Scaled::kGroup] * fit.digits[i];
            xa += x[i] * a;
            aa += a * a;
        }
        if (aa == 0) break;
        fit.factor = as_half(xa / aa);
    }
    write_half(best.factor, block + 208);
    for (size_t g = 0; g < Scaled::kGroups; ++g)
        block[192 + g] = static_cast<std::byte>(static_cast<int8_t>(best.scales[g]));
    for (size_t i = 0; i < kSuper; ++i) {
        const auto digit = static_cast<uint32_t>(best.digits[i] + 32);
        put(block, i / 128 * 64 + i % 64, digit & 15, i / 64 % 2 * 4);
        put(block, 128 + i / 128 * 32 + i % 32, digit >> 4, i / 32 % 4 * 2);
    }
}

// ---- x ~ scale * digit - least, digits from 0 to most --------------------------------------------------------------------------

struct Affine {
    float scale = 0, least = 0;
};

float affine_digits(const float* x, const Affine& a, float most, float* digits) {
    const float inverse = a.scale > 0 ? 1 / a.scale : 0;
    float error = 0;
    for (size_t i = 0; i < kBlock; ++i) {
        digits[i] = rounded(std::clamp((x[i] + a.least) * inverse, 0.0F, most));
        const float off = x[i] - (a.scale * digits[i] - a.least);
        error += off * off;
    }
    return error;
}

// The line through numbers by their digits that is off least, of those that take nothing or something away.
Affine solved(const float* x, const float* digits) {
    float sum_x = 0, sum_q = 0, sum_xq = 0, sum_qq = 0;
    for (size_t i = 0; i < kBlock; ++i) {
        sum_x += x[i];
        sum_q += digits[i];
        sum_xq += x[i] * digits[i];
        sum_qq += digits[i] * digits[i];
    }
    constexpr auto kCount = static_cast<float>(kBlock);
    const float spread = kCount * sum_qq - sum_q * sum_q;
    Affine a;
    if (spread > 0) {
        a.scale = (kCount * sum_xq - sum_x * sum_q) / spread;
        a.least = (a.scale * sum_q - sum_x) / kCount;
    }
    if (a.least < 0 || spread <= 0) a = {sum_qq > 0 ? sum_xq / sum_qq : 0, 0};
    return a;
}

Affine best_affine(const float* x, float most) {
    const auto [low, high] = std::minmax_element(x, x + kBlock);
    const float least = -std::min(*low, 0.0F);
    const float reach = *high + least;
    if (reach < 1e-30F) return {0, least};
    Affine best;
    float lowest = HUGE_VALF;
    std::array<float, kBlock> digits;
    for (int k = -kTries; k <= kTries; ++k) {
        affine_digits(x, {reach / (most + kTryStep * static_cast<float>(k)), least}, most, digits.data());
        const Affine a = solved(x, digits.data());
        const float error = affine_digits(x, a, most, digits.data());
        if (error >= lowest || a.scale <= 0) continue;
        lowest = error;
        best = a;
    }
    return best;
}

// 8 groups of 32, each with two whole numbers that the common factors are multiplied by.
struct Offset {
    static constexpr size_t kGroups = kSuper / kBlock;
    Affine factors;
    float error = HUGE_VALF;
    std::array<float, kGroups> scales{}, leasts{};
    std::array<float, kSuper> digits{};
};

void fit_groups(const float* x, const std::array<Affine, Offset::kGroups>& wanted, float most, Offset& fit) {
    constexpr std::array<std::array<float, 2>, 9> kSteps{
        {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}}};
    fit.error = 0;
    for (size_t g = 0; g < Offset::kGroups; ++g) {
        const auto whole = [](float value, float factor) { return factor > 0 ? rounded(value / factor) : 0; };
        const float scale = whole(wanted[g].scale, fit.factors.scale), least = whole(wanted[g].least, fit.factors.least);
        float lowest = HUGE_VALF;
        for (const auto& step : kSteps) {
            const float s = std::clamp(scale + step[0], 0.0F, 63.0F), m = std::clamp(least + step[1], 0.0F, 63.0F);
            std::array<float, kBlock> digits;
            const float error =
                affine_digits(x + g * kBlock, {s * fit.factors.scale, m * fit.factors.least}, most, digits.data());
            if (error >= lowest) continue;
            lowest = error;
            fit.scales[g] = s;
            fit.leasts[g] = m;
            std::copy(digits.begin(), digits.end(), fit.digits.begin() + static_cast<std::ptrdiff_t>(g * kBlock));
        }
        fit.error += lowest;
    }
}

// The common factors that are off least for the digits that are there.
Affine solved(const float* x, const Offset& fit) {
    float xa = 0, xb = 0, aa = 0, ab = 0, bb = 0;
    for (size_t i = 0; i < kSuper; ++i) {
        const float a = fit.scales[i / kBlock] * fit.digits[i], b = fit.leasts[i / kBlock];
        xa += x[i] * a;
        xb += x[i] * b;
        aa += a * a;
        ab += a * b;
        bb += b * b;
    }
    const float spread = aa * bb - ab * ab;
    Affine factors = fit.factors;
    if (spread > 0) factors = {(xa * bb - xb * ab) / spread, (xa * ab - xb * aa) / spread};
    if (factors.scale <= 0 || factors.least < 0) return fit.factors;
    return {as_half(factors.scale), as_half(factors.least)};
}

Offset best_offset(const float* x, float most) {
    std::array<Affine, Offset::kGroups> wanted;
    Affine highest;
    for (size_t g = 0; g < Offset::kGroups; ++g) {
        wanted[g] = best_affine(x + g * kBlock, most);
        highest = {std::max(highest.scale, wanted[g].scale), std::max(highest.least, wanted[g].least)};
    }
    Offset best, fit;
    fit.factors = {as_half(highest.scale / 63), as_half(highest.least / 63)};
    for (int round = 0; round < kRounds; ++round) {
        fit_groups(x, wanted, most, fit);
        if (fit.error >= best.error) break;
        best = fit;
        fit.factors = solved(x, fit);
    }
    return best;
}

// q4_k, and q5_k with the fifth bits before the others.
void encode_offset(const float* x, bool five, std::byte* block) {
    const Offset fit = best_offset(x, five ? 31 : 15);
    write_half(fit.factors.scale, block);
    write_half(fit.factors.least, block + 2);
    for (size_t g = 0; g < Offset::kGroups; ++g) {
        const auto scale = static_cast<uint32_t>(fit.scales[g]), least = static_cast<uint32_t>(fit.leasts[g]);
        if (g < 4) {
            put(block, 4 + g, scale, 0);
            put(block, 8 + g, least, 0);
            continue;
        }
        put(block, 8 + g, scale & 15, 0);
        put(block, 8 + g, least & 15, 4);
        put(block, g, scale >> 4, 6);
        put(block, 4 + g, least >> 4, 6);
    }
    for (size_t i = 0; i < kSuper; ++i) {
        const auto digit = static_cast<uint32_t>(fit.digits[i]);
        put(block, (five ? 48 : 16) + i / 64 * 32 + i % 32, digit & 15, i / 32 % 2 * 4);
        if (five) put(block, 16 + i % 32, digit >> 4, i / 32);
    }
}

void encode_block(const float* x, DType dtype, std::byte* block) {
    switch (dtype) {
        case DType::q4_0: return encode_q4_0(x, block);
        case DType::q5_0: return encode_q5_0(x, block);
        case DType::q6_k: return encode_q6_k(x, block);
        default: return encode_offset(x, dtype == DType::q5_k, block);
    }
}

}  // namespace

bool can_quantise(DType dtype) noexcept {
    constexpr DType kAll[] = {DType::q8_0, DType::q6_k, DType::q5_k, DType::q5_0, DType::q4_k, DType::q4_0};
    return std::find(std::begin(kAll), std::end(kAll), dtype) != std::end(kAll);
}

DType quantised_type(DType dtype, int64_t row) noexcept {
    const DType smaller = dtype == DType::q6_k                           ? DType::q8_0
                          : dtype == DType::q5_k || dtype == DType::q4_k ? DType::q5_0
                                                                         : dtype;
    for (const DType fits : {dtype, smaller})
        if (row % std::max(1, blocks::facts_of(static_cast<uint32_t>(fits)).elements) == 0) return fits;
    return DType::unknown;
}

std::vector<std::byte> quantise(std::span<const double> values, DType dtype) {
    if (!can_quantise(dtype)) throw Error(Code::invalid, std::string("cannot quantise to ") + name_of(dtype));
    const auto n = static_cast<size_t>(blocks::facts_of(static_cast<uint32_t>(dtype)).elements);
    if (values.size() % n != 0)
        throw Error(Code::invalid, "cannot quantise " + std::to_string(values.size()) + " numbers to " + name_of(dtype) +
                                       ": no multiple of " + std::to_string(n));
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
        throw Error(Code::invalid, std::string("cannot quantise to ") + name_of(dtype) + ": not all are finite numbers");
    if (dtype == DType::q8_0) return graph::encode(values, dtype);
    const uint64_t size = backplane::bytes(dtype, {static_cast<int64_t>(n)});
    std::vector<std::byte> all(values.size() / n * size);  // zero: bits are put into it
    std::array<float, kSuper> x{};
    for (size_t b = 0; b < values.size() / n; ++b) {
        std::transform(values.begin() + static_cast<std::ptrdiff_t>(b * n),
                       values.begin() + static_cast<std::ptrdiff_t>((b + 1) * n), x.begin(),
                       [](double v) { return static_cast<float>(v); });
        encode_block(x.data(), dtype, all.data() + b * size);
    }
    return all;
}

}  // namespace backplane::formats
