#include "limits.hpp"

#include "common/shape_rules.hpp"

namespace backplane::ggml {

namespace {

// Above every extent that makes sense; products of two do not overflow, and ggml keeps some as int32.
constexpr int64_t kMost = int64_t{1} << 30;
constexpr int64_t kMostElements = int64_t{1} << 40;

void require(bool holds, uint32_t reason, const char* text) {
    if (!holds) throw Refusal{reason, text};
}

void check_tensor(const bp_tensor& t) {
    int64_t elements = 1;
    for (uint32_t d = 0; d < t.rank; ++d) {
        require(t.dim[d] >= 0 && t.dim[d] <= kMost, BP_WHY_SHAPE, "a dimension is too large for ggml");
        require(t.dim[d] == 0 || elements <= kMostElements / t.dim[d], BP_WHY_SHAPE, "a tensor is too large for ggml");
        elements *= t.dim[d];
    }
    static_cast<void>(ggml_type(t.dtype));
}

bool is_block(uint32_t dtype) { return sdk::dtype_info(dtype).block != 1; }

// All ops but Cast have the type of their first operand. Ops that move bytes need all operands alike but indices.
void check_types(const sdk::GraphView& view, const Node& node) {
    const auto dtype = [&](uint32_t tensor) { return view.tensor(tensor).dtype; };
    const uint32_t type = dtype(node.inputs[0]);
    if (node.op == BP_OP_cast) return;
    require(type == dtype(node.output), BP_WHY_DTYPE, "its result has another element type than its operand");
    require(!is_block(type), BP_WHY_DTYPE, "blocks are decoded by Cast and MatMul only");
    if (node.op == BP_OP_gather)
        require(dtype(node.inputs[1]) == BP_I32 || dtype(node.inputs[1]) == BP_I64, BP_WHY_DTYPE,
                "its indices are neither i32 nor i64");
    if (node.op == BP_OP_matmul)
        require(!is_block(dtype(node.inputs[1])) || node.as<backplane::ops::MatMulAttributes>().transpose_b, BP_WHY_SHAPE,
                "blocks must run along the inner dimension");
    if (node.op == BP_OP_matmul || node.op == BP_OP_conv || node.op == BP_OP_gather) return;
    for (const uint32_t in : node.inputs)
        require(in == kNone || dtype(in) == type, BP_WHY_DTYPE, "its operands have different element types");
}

}  // namespace

void check_node(const sdk::GraphView& view, const Node& node) {
    std::vector<uint32_t> tensors = node.inputs;
    tensors.push_back(node.output);
    for (const uint32_t tensor : tensors)
        if (tensor != kNone) check_tensor(view.tensor(tensor));
    std::vector<backend::Value> values(tensors.size());
    std::vector<const backend::Value*> given(node.inputs.size());
    for (size_t k = 0; k < tensors.size(); ++k) {
        if (tensors[k] == kNone) continue;
        values[k] = backend::read_tensor(view, tensors[k]);
        if (k < given.size()) given[k] = &values[k];
    }
    if (const backend::Verdict verdict = check_shapes(node, given, values.back()); verdict.reason != BP_WHY_NONE)
        throw Refusal{verdict.reason, verdict.text.substr(node.text().size())};  // who catches it names the node
    check_types(view, node);
}

}  // namespace backplane::ggml
