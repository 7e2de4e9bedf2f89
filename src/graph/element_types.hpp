// Element types: bytes to numbers and back. Every plain type, and GGUF's block types, to which only q8_0 and q4_0 are encoded.
//
// All functions are pure and may be called from any thread. Bytes are little-endian, as everywhere in the project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::graph {

// IEEE 754 binary16 and bfloat16: to nearest, ties to even; overflow gives infinity; subnormals and signs are kept; NaN
// stays NaN.
double f16_to_double(uint16_t bits) noexcept;
uint16_t f16_from_double(double value) noexcept;
double bf16_to_double(uint16_t bits) noexcept;
uint16_t bf16_from_double(double value) noexcept;

// What `value` becomes when stored as `dtype` and read again. Float types round to nearest even; integers truncate and
// saturate, NaN gives 0; boolean: 0 or 1 (NaN gives 1). Of a block type: as it is, an op that writes one has rounded its blocks.
double round_to(double value, DType dtype);

// Numbers of a dense tensor. i64 beyond 2^53 loses its low bits. Throws Error(invalid): bytes.size() is no multiple of
// an element (of a block), or the type is unknown.
std::vector<double> decode(std::span<const std::byte> bytes, DType dtype);

// f16_from_double() of each. `into` has as many.
void f16_from_floats(std::span<const float> values, uint16_t* into) noexcept;

bool has_encoding(DType dtype) noexcept;  // plain types, q8_0 and q4_0

// The inverse, rounding as round_to does. Block types: GGUF's reference rule (q8_0: scale = most |x| / 127; q4_0: scale
// = the x of most magnitude / -8), values.size() a multiple of 32; what such blocks stand for gives the same blocks again.
// Throws Error(invalid), of types without encoding Error(unsupported).
std::vector<std::byte> encode(std::span<const double> values, DType dtype);

// Blocks of random bits, `next` in [0, 1); every seventh is zero, every seventh has all bits set. Their factors are such that no
// scale times its digit is over `most`. Throws Error(invalid) for other types.
std::vector<std::byte> random_blocks(DType dtype, size_t elements, double most, const std::function<double()>& next);

}  // namespace backplane::graph
