#include "common/gpu/ops/table.hpp"

namespace backplane::gpu {

const OpLowering* find_lowering(uint32_t op) {
#define BP_GPU_OP_FAMILY(name) &ops::name::ops_##name,
    static const OpFamily* const families[] = {BP_OP_FAMILIES(BP_GPU_OP_FAMILY)};
#undef BP_GPU_OP_FAMILY
    for (const OpFamily* family : families)
        for (size_t i = 0; i < family->count; ++i)
            if (family->first[i].op == op) return &family->first[i];
    return nullptr;
}

uint32_t variant_for(uint32_t first, uint32_t bytes) {
    return first + (bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3);
}

}  // namespace backplane::gpu
