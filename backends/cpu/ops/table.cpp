#include "ops/table.hpp"

#include "common/op_rows.hpp"

namespace backplane::cpu {

const OpLowering* find_lowering(uint32_t op) {
    static const backend::OpRows<OpLowering> all({BP_OP_FAMILIES});
    return all.find(op);
}

}  // namespace backplane::cpu
