// Copies of elements of 1, 2, 4 or 8 bytes, whatever their type, and of blocks that follow each other.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

// Distances count elements, not bytes.
struct CopyTask {
    const void* from = nullptr;
    void* into = nullptr;
    int64_t from_outer = 0, from_inner = 0, into_outer = 0, into_inner = 0;
    int64_t outer = 0, inner = 0;
    int64_t size = 0;  // bytes of an element
};

struct MoveKernels {
    // into[i * into_outer + j * into_inner] = from[i * from_outer + j * from_inner]
    void (*copy)(const CopyTask& task);
    // The same with from_outer = 1 and into_inner = 1: both sides are walked by cache lines.
    void (*transpose)(const CopyTask& task);
};

}  // namespace backplane::cpu
