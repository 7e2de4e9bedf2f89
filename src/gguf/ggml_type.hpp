// The element types of GGML, by number.
#pragma once

#include <cstdint>

#include "backplane/graph.hpp"

namespace backplane::formats {

struct GgmlType {
    uint32_t number = 0;
    const char* name = "";
    uint32_t block = 1;            // elements
    uint32_t bytes = 0;            // of a block
    DType dtype = DType::unknown;  // unknown: known to GGML, without use here
};

// Null when there is no such type.
const GgmlType* find_ggml_type(uint32_t number) noexcept;
const GgmlType* find_ggml_type(DType dtype) noexcept;

}  // namespace backplane::formats
