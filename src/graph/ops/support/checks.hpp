// Checks that shape rules share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/op_definition.hpp"

namespace backplane::graph {

enum class Types { floats, numbers };  // numbers: floats, i32, i64

inline bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

inline void require(const InferCall& call, bool holds, const std::string& why) {
    if (!holds) call.refuse(why);
}

inline void require_types(const InferCall& call, size_t i, Types types) {
    if (is_float(call.dtype(i)) || (types == Types::numbers && is_integer(call.dtype(i)))) return;
    call.refuse("takes " +
                std::string(types == Types::floats ? "f32, f16, bf16 or f64" : "f32, f16, bf16, f64, i32 or i64") +
                ", not " + call.typed_text(i));
}

inline void require_plain(const InferCall& call, size_t i) {
    if (is_block(call.dtype(i))) call.refuse("does not take block types, " + call.typed_text(i) + " is one");
}

inline void require_same_dtype(const InferCall& call, size_t i, size_t j) {
    if (call.dtype(i) != call.dtype(j))
        call.refuse(call.typed_text(j) + " must have the element type of " + call.typed_text(i));
}

inline void require_rank(const InferCall& call, size_t i, size_t rank) {
    if (call.rank(i) != rank) call.refuse(call.text(i) + " must have rank " + std::to_string(rank));
}

inline void require_length(const InferCall& call, Attr id, size_t length) {
    const size_t n = call.integers(id).size();
    if (n != length)
        call.refuse(std::string("attribute ") + name_of(id) + " has " + std::to_string(n) + " numbers, needs " +
                    std::to_string(length) + " for " + call.text(0));
}

// Each number of a list attribute is at least `least`.
inline void require_at_least(const InferCall& call, Attr id, int64_t least) {
    for (const int64_t v : call.integers(id))
        if (v < least)
            call.refuse(std::string("attribute ") + name_of(id) + " " + to_string(call.integers(id)) + " must be " +
                        std::to_string(least) + " or more");
}

inline void require_axis(const InferCall& call, int64_t axis) {
    if (axis < 0 || static_cast<size_t>(axis) >= call.rank(0))
        call.refuse("axis " + std::to_string(axis) + " lies outside " + call.text(0));
}

inline int64_t checked_add(const InferCall& call, int64_t a, int64_t b) {
    int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) call.refuse("the shape is too large, " + call.text(0));
    return sum;
}

inline int64_t checked_mul(const InferCall& call, int64_t a, int64_t b) {
    int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) call.refuse("the shape is too large, " + call.text(0));
    return product;
}

// A negative axis counts from the end; what is out of range stays so, for the shape rule to refuse.
inline int64_t counted_from_start(int64_t axis, size_t rank) { return axis < 0 ? axis + static_cast<int64_t>(rank) : axis; }

// complete() of an op with one axis; `otherwise` when it is not stated.
template <int64_t otherwise>
void complete_axis(const InferCall& call, std::vector<Attribute>& attributes) {
    const int64_t axis = call.attributes().find(Attr::axis) != nullptr ? call.integer(Attr::axis) : otherwise;
    set(attributes, {Attr::axis, counted_from_start(axis, call.rank(0))});
}

}  // namespace backplane::graph
