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

// What follows a record lies where kernels look for it.
static_assert(sizeof(ConvParameters) == CONV_EPILOGUE * sizeof(uint32_t));
static_assert(sizeof(ConvDepthwiseParameters) == CONV_EPILOGUE * sizeof(uint32_t));
static_assert(sizeof(AttentionParameters) == ATTENTION_VIEWS * sizeof(uint32_t));
static_assert(sizeof(MatMulParameters) == MATMUL_EPILOGUE * sizeof(uint32_t));

}  // namespace backplane::gpu
