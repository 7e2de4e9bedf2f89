// Integers held in doubles: arithmetic modulo 2^32 or 2^64, as the hardware does it.
#pragma once

#include <cstdint>

#include "graph/element_types.hpp"

namespace backplane::graph {

inline bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

// The whole number in `value`, saturated to int64.
inline int64_t to_integer(double value) {
    if (value >= 9223372036854775808.0) return INT64_MAX;
    if (value <= -9223372036854775808.0) return INT64_MIN;
    return static_cast<int64_t>(value);
}

// `value` as an i32 or i64 holds it.
inline double wrapped(uint64_t value, DType dtype) {
    if (dtype == DType::i32) return static_cast<int32_t>(static_cast<uint32_t>(value));
    return static_cast<double>(static_cast<int64_t>(value));
}

}  // namespace backplane::graph
