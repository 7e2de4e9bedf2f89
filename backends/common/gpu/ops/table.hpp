// The ops of GPUs: each file of ops/ that defines an OpFamily is in the list, which the build makes of the folder.
#pragma once

#include <span>

#include "common/gpu/lowering.hpp"

namespace backplane::gpu {

using OpFamily = std::span<const OpLowering>;
#include "gpu_op_families.h"

// The variant of a moving kernel for elements of `bytes`: `first` is the one for 1.
inline uint32_t variant_for(uint32_t first, uint32_t bytes) {
    return first + (bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3);
}
// The variant for f32, or the one behind it for f16.
inline uint32_t variant_for_type(uint32_t f32, uint32_t dtype) { return f32 + (dtype == BP_F16 ? 1 : 0); }
// Of four that stand together: for f32, f16, i32 and i64.
inline uint32_t variant_for_number(uint32_t f32, uint32_t dtype) {
    return f32 + (dtype == BP_F16 ? 1 : dtype == BP_I32 ? 2 : dtype == BP_I64 ? 3 : 0);
}
// Words of one of these whole numbers, i32 or i64; 0: kernels read none.
inline uint32_t words_of_index(const Lowering& to, ValueId numbers) {
    return numbers == kNone ? 0 : to[numbers].dtype == BP_I64 ? 2 : 1;
}

}  // namespace backplane::gpu
