#include "ops/table.hpp"

namespace backplane::cpu {

const OpLowering* find_lowering(uint32_t op) {
#define BP_CPU_OP_FAMILY(name) &ops::name::ops_##name,
    static const OpFamily* const families[] = {BP_CPU_OPS(BP_CPU_OP_FAMILY)};
#undef BP_CPU_OP_FAMILY
    for (const OpFamily* family : families)
        for (size_t i = 0; i < family->count; ++i)
            if (family->first[i].op == op) return &family->first[i];
    return nullptr;
}

}  // namespace backplane::cpu
