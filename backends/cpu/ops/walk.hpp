// Walking the operands of an element-wise op on all threads.
#pragma once

#include <algorithm>
#include <array>

#include "common/strided.hpp"
#include "loop_nest.hpp"
#include "lowering.hpp"

namespace backplane::cpu {

// Elements a thread should get at least: below, handing out a chunk costs more than computing it.
inline constexpr int64_t kGrainElements = 8192;

// Loops over the elements of `out` and of what is broadcast to it, in this order.
template <typename... Ids>
LoopNest<1 + sizeof...(Ids)> nest_of(const Lowering& to, ValueId out, Ids... operands) {
    const auto& dim = to[out].dim;
    return simplify<1 + sizeof...(Ids)>(dim, {strides_of(to[out]), backend::broadcast_strides(to[operands], dim)...});
}

// body(at, n): n elements of the innermost loop, of which operand k's first lies at at[k].
template <size_t K, typename Body>
void for_each_stretch(const Run& run, const LoopNest<K>& nest, const Body& body) {
    const int64_t rows = nest.rows();
    const int64_t inner = nest.inner();
    if (rows == 1) {  // one long row: split it
        run.ranges(inner, kGrainElements, [&](int64_t begin, int64_t end) {
            std::array<int64_t, K> at{};
            for (size_t k = 0; k < K; ++k) at[k] = begin * nest.stride[k].back();
            body(at, end - begin);
        });
        return;
    }
    run.ranges(rows, std::max<int64_t>(1, kGrainElements / inner), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) body(nest.row(r), inner);
    });
}

// A position on an axis: a negative index counts from its end. Throws Failure(BP_INVALID): an index read at run time cannot be judged
// earlier, and must not become a place outside the operand.
inline int64_t position_of(uint32_t op, int64_t index, int64_t extent) {
    if (index < -extent || index >= extent)
        throw sdk::Failure(BP_INVALID, "run: " + std::string(sdk::op_name(op)) + " got the index " + std::to_string(index) +
                                           " on an axis of " + std::to_string(extent));
    return index < 0 ? index + extent : index;
}

// as(T()) for T an element of so many bytes.
template <typename As>
void for_size(int64_t bytes, const As& as) {
    switch (bytes) {
        case 1: return as(uint8_t());
        case 2: return as(uint16_t());
        case 4: return as(uint32_t());
        default: return as(uint64_t());
    }
}

// as(T()) for T what numbers of this type are computed in.
template <typename As>
void for_type(uint32_t dtype, const As& as) {
    switch (dtype) {
        case BP_I32: return as(int32_t());
        case BP_I64: return as(int64_t());
        case BP_F64: return as(double());
        default: return as(float());
    }
}

}  // namespace backplane::cpu
