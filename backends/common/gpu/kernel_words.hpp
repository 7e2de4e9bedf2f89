// The parameter records of kernels/kernel_parameters.h in C++, and the words that a dispatch carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace backplane::gpu {

#include "common/gpu/kernels/kernel_parameters.h"
#undef RECORD
#undef UINT
#undef FLOAT
#undef WORDS
#undef END_RECORD
#undef CONVOLUTION

// The words of a record, in the order in which kernels know them.
template <class Record>
std::vector<uint32_t> words_of(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record> && alignof(Record) == sizeof(uint32_t));
    std::vector<uint32_t> words(sizeof(Record) / sizeof(uint32_t));
    std::memcpy(words.data(), &record, sizeof record);
    return words;
}

// What kernels read by position lies where they look for it.
static_assert(sizeof(ConvParameters) == CONV_EPILOGUE * sizeof(uint32_t));
static_assert(sizeof(ConvDepthwiseParameters) == CONV_EPILOGUE * sizeof(uint32_t));
static_assert(sizeof(MatMulParameters) == MATMUL_EPILOGUE * sizeof(uint32_t));
static_assert(offsetof(MatMulParameters, sizes) == MATMUL_SIZES * sizeof(uint32_t));
static_assert(offsetof(MatMulParameters, steps_a) == MATMUL_STEPS_A * sizeof(uint32_t));
static_assert(offsetof(MatMulParameters, steps_b) == MATMUL_STEPS_B * sizeof(uint32_t));
static_assert(offsetof(UnaryIntegerParameters, bounds) == UNARY_INTEGER_BOUNDS * sizeof(uint32_t));
static_assert(offsetof(BinaryParameters, nest) == BINARY_NEST * sizeof(uint32_t));
static_assert(offsetof(JudgeParameters, nest) == JUDGE_NEST * sizeof(uint32_t));
static_assert(offsetof(WhereParameters, nest) == WHERE_NEST * sizeof(uint32_t));
static_assert(offsetof(CopyParameters, nest) == COPY_NEST * sizeof(uint32_t));
static_assert(offsetof(ReduceParameters, kept) == REDUCE_KEPT * sizeof(uint32_t));
static_assert(offsetof(ReduceParameters, summed) == REDUCE_SUMMED * sizeof(uint32_t));
static_assert(offsetof(GatherParameters, nest) == GATHER_NEST * sizeof(uint32_t));
static_assert(offsetof(ScatterNDParameters, extents) == SCATTER_ND_EXTENTS * sizeof(uint32_t));
static_assert(offsetof(ScatterNDParameters, strides) == SCATTER_ND_STRIDES * sizeof(uint32_t));
static_assert(offsetof(RecurrentParameters, functions) == RECURRENT_FUNCTIONS * sizeof(uint32_t));
static_assert(offsetof(PoolParameters, extents) == POOL_EXTENTS * sizeof(uint32_t));
static_assert(offsetof(PoolParameters, results) == POOL_RESULTS * sizeof(uint32_t));
static_assert(offsetof(PoolParameters, window) == POOL_WINDOW * sizeof(uint32_t));
static_assert(offsetof(PoolParameters, steps) == POOL_STEPS * sizeof(uint32_t));
static_assert(offsetof(PoolParameters, before) == POOL_BEFORE * sizeof(uint32_t));
static_assert(offsetof(PoolParameters, after) == POOL_AFTER * sizeof(uint32_t));
static_assert(offsetof(PoolParameters, dilations) == POOL_DILATIONS * sizeof(uint32_t));
static_assert(offsetof(PadParameters, sizes) == PAD_SIZES * sizeof(uint32_t));
static_assert(offsetof(PadParameters, extents) == PAD_EXTENTS * sizeof(uint32_t));
static_assert(offsetof(PadParameters, before) == PAD_BEFORE * sizeof(uint32_t));

}  // namespace backplane::gpu
