// The table of ops: one row per line of BP_OPS, each defined in its own file of src/graph/ops/.
#include "graph/op_definition.hpp"

namespace backplane::graph {

const OpDefinition* find_op(Op op) noexcept {
    switch (op) {
#define BP_OP_ROW(id, identifier, name) \
    case Op::identifier: return &ops::identifier::op_##identifier;
        BP_OPS(BP_OP_ROW)
#undef BP_OP_ROW
        case Op::unknown: break;
    }
    return nullptr;
}

}  // namespace backplane::graph
