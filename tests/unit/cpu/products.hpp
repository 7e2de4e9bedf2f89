// Products of known weights, and what they should be.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "backplane/ops/blocks.hpp"
#include "backplane/sdk.hpp"
#include "harness.hpp"

namespace harness {

// A matrix of `columns` x `depth` in a type that weights may have, and the numbers it stands for.
struct Packed {
    std::vector<std::byte> bytes;
    std::vector<double> plain;
};

inline Packed blocks_of(uint32_t dtype, int64_t columns, int64_t depth) {
    Packed out;
    const backplane::blocks::Facts facts = backplane::blocks::facts_of(dtype);
    if (facts.elements == 0) throw std::invalid_argument("not a type in blocks");
    const size_t size = backplane::sdk::dtype_info(dtype).bytes;
    const int64_t count = columns * depth / facts.elements;
    out.bytes.resize(static_cast<size_t>(count) * size);
    for (size_t i = 0; i < out.bytes.size(); ++i) out.bytes[i] = static_cast<std::byte>(37 * i + i / 251 + 11);
    for (size_t b = 0; b < static_cast<size_t>(count); ++b)
        for (const int factor : {facts.scale, facts.least}) {
            if (factor < 0) continue;
            std::byte* at = out.bytes.data() + b * size + static_cast<size_t>(factor);
            at[0] = std::byte{0};
            at[1] =
                static_cast<std::byte>((facts.largest > 128 ? 0x18 : 0x30) + b % 3 * 4);  // 2^-9 or 2^-3, and its doubles
        }
    out.plain.resize(static_cast<size_t>(columns * depth));
    backplane::blocks::decode(dtype, out.bytes.data(), count, static_cast<uint32_t>(size), out.plain.data());
    return out;
}

inline constexpr std::array<uint32_t, 12> block_types{BP_Q8_0, BP_Q4_0, BP_Q4_1, BP_Q5_0, BP_Q5_1, BP_IQ4_NL,
                                                      BP_Q2_K, BP_Q3_K, BP_Q4_K, BP_Q5_K, BP_Q6_K, BP_IQ4_XS};

// Halves with few digits, the same numbers in both types: +-(1 + i / 8) / 4.
inline Packed halves_of(uint32_t dtype, int64_t columns, int64_t depth) {
    Packed out;
    for (int64_t i = 0; i < columns * depth; ++i) {
        const auto digits = static_cast<uint32_t>(i * 5 % 8);
        const uint32_t sign = i * 7 % 3 == 0 ? 1 : 0;
        const uint32_t bits = dtype == BP_F16 ? sign << 15 | 13u << 10 | digits << 7 : sign << 15 | 125u << 7 | digits << 4;
        out.bytes.push_back(static_cast<std::byte>(bits & 0xff));
        out.bytes.push_back(static_cast<std::byte>(bits >> 8));
        out.plain.push_back((sign != 0 ? -0.25 : 0.25) * (1 + digits / 8.0));
    }
    return out;
}

struct Exact {
    double sum = 0;
    double size = 0;  // sum of the magnitudes
};

// Row r by column c, of k terms.
Exact exact(const Floats& a, const Packed& b, int64_t k, int64_t r, int64_t c);

// What rounding activations to bytes may cost such a sum: half a step of the largest of 32, for each.
double byte_bound(const Floats& a, const Packed& b, int64_t k, int64_t r, int64_t c);

// m rows of k floats by n columns of weights.
inline Floats product(Device& device, const Floats& a, const Packed& b, uint32_t dtype, int64_t m, int64_t n, int64_t k,
                      uint32_t math = BP_MATH_DEFAULT) {
    Graph g;
    const auto w = g.bound_bytes(BP_ROLE_WEIGHT, {n, k}, dtype, b.bytes);
    const auto y = g.add(BP_OP_matmul, {g.input({m, k}, a), w}, {m, n}, {integer(BP_ATTR_transpose_b, 1)});
    g.output(y);
    Program program(device, g, math);
    program.run();
    return program.read(y);
}

// The bound of conformance, of the sum of magnitudes.
inline double bound_of(int64_t depth) { return (8 + 2 * std::sqrt(depth)) * 0x1p-24; }

}  // namespace harness
