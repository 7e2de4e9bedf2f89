// Element types as the tables of lowerings speak of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backplane/sdk.hpp"

namespace backplane::backend {

inline bool is_half(uint32_t dtype) { return dtype == BP_F16 || dtype == BP_BF16; }
inline bool is_block(uint32_t dtype) { return sdk::dtype_info(dtype).block != 1; }
inline bool is_whole(uint32_t dtype) { return dtype == BP_I32 || dtype == BP_I64; }

// What operands and result of an op may be.
enum class Types : uint8_t {
    computes,  // floats: what kernels do not compute with is cast before and after
    numbers,   // the same for floats; i32 and i64 reach `lower` as they are
    judges,    // operands as of `numbers`, or bool; the result is bool, or positions as i64
    moves      // copies elements of any type but the block types
};

// f64 is moved and cast, not computed with; the cpu backend has rows of their own for nodes that do.
inline bool welcome(Types types, uint32_t dtype) {
    switch (types) {
        case Types::computes: return dtype == BP_F32 || is_half(dtype);
        case Types::numbers: return welcome(Types::computes, dtype) || is_whole(dtype);
        case Types::judges: return welcome(Types::numbers, dtype) || dtype == BP_BOOL;
        default: return sdk::dtype_info(dtype).bytes != 0;
    }
}

struct Node;

// The Types of a node: the same for all of an op, or as its attributes say.
class TypesOf {
public:
    constexpr TypesOf(Types always = Types::moves)
        : always_(always) {}                                       // NOLINT(google-explicit-constructor): a row of a table
    constexpr TypesOf(Types (*of)(const Node& node)) : of_(of) {}  // NOLINT(google-explicit-constructor)
    [[nodiscard]] Types operator()(const Node& node) const { return of_ != nullptr ? of_(node) : always_; }

private:
    Types always_ = Types::moves;
    Types (*of_)(const Node& node) = nullptr;
};

// Is operand k among those that bits name?
constexpr bool names_operand(uint32_t bits, size_t k) { return k < 32 && (bits >> k & 1) != 0; }

}  // namespace backplane::backend
