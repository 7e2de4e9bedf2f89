#include "common/gpu/ops/table.hpp"

#include "common/op_rows.hpp"

namespace backplane::gpu {

const OpLowering* find_lowering(uint32_t op) {
    static const backend::OpRows<OpLowering> all({BP_OP_FAMILIES});
    return all.find(op);
}

uint32_t variant_for(uint32_t first, uint32_t bytes) {
    return first + (bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3);
}

}  // namespace backplane::gpu
