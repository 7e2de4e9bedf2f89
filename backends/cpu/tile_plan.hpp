// Whether a matrix product goes to the processor's matrix unit, and how: planes of bf16 (kernels/tiles.h).
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace backplane::cpu {

struct TileRequest {
    int64_t batches = 1, rows = 0, depth = 0, columns = 0;
    PackedType type = kPackedF32;
    uint32_t math = 0;    // BP_MATH_*
    int a_bits = 24;      // of what the activations are made of: 8 (bf16), 11 (f16), 24
    bool rounds = false;  // without the unit activations become bytes
    uint32_t threads = 1;
    bool shares_cores = false;  // Plan::shares_cores: two threads may have one unit
};

struct TilePlan {
    bool used = false;
    bool exact = true;  // planes hold all that counts of a number; otherwise one of activations, rounded
    int a_planes = 0, b_planes = 0;
    int64_t chunk = 0;  // rows that a thread takes at a time
};

TilePlan plan_tiles(const Kernels& kernels, const TileRequest& request);

}  // namespace backplane::cpu
