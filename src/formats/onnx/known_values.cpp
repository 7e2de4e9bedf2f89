#include <algorithm>

#include "formats/onnx/call.hpp"
#include "graph/element_types.hpp"
#include "graph/evaluate.hpp"

namespace backplane::formats {
namespace {

constexpr int64_t kMostElements = 1 << 16;  // of a size, a condition, a table of positions: more is work for a device
constexpr int kDeepest = 256;

OnnxTensor constant_of(const TensorInfo& info) { return {"", info.dtype, info.shape, info.data}; }

}  // namespace

const OnnxTensor* OnnxKnownValues::find(const std::string& name, const OnnxOperand& operand) {
    if (operand.is_input && !operand.tensor.valid()) return known_ ? known_(name) : nullptr;
    return operand.tensor.valid() ? find(operand.tensor, 0) : nullptr;
}

const OnnxTensor* OnnxKnownValues::find(TensorId tensor, int depth) {
    const auto there = found_.find(tensor.index);
    if (there != found_.end()) return there->second ? &*there->second : nullptr;
    std::optional<OnnxTensor> made = computed(tensor, depth);
    const std::optional<OnnxTensor>& kept = found_[tensor.index] = std::move(made);
    return kept ? &*kept : nullptr;
}

const Node* OnnxKnownValues::writer(TensorId tensor) {
    const std::vector<Node>& nodes = graph_.nodes();
    for (; indexed_ < nodes.size(); ++indexed_)
        for (const TensorId id : nodes[indexed_].outputs) writers_[id.index] = indexed_;
    const auto found = writers_.find(tensor.index);
    return found == writers_.end() ? nullptr : &nodes[found->second];
}

std::optional<OnnxTensor> OnnxKnownValues::computed(TensorId tensor, int depth) {
    const TensorInfo& info = graph_[tensor];
    if (depth > kDeepest || elements(info.shape) > kMostElements) return std::nullopt;
    if (info.role == Role::constant) return constant_of(info);
    if (info.role == Role::input) {
        const OnnxTensor* given = known_ ? known_(info.name) : nullptr;
        return given == nullptr ? std::nullopt : std::optional(*given);
    }
    const Node* node = writer(tensor);
    if (node == nullptr) return std::nullopt;
    std::vector<graph::ReferenceTensor> operands;
    for (const TensorId id : node->inputs) {
        const OnnxTensor* operand = id.valid() ? find(id, depth + 1) : nullptr;
        if (id.valid() && operand == nullptr) return std::nullopt;
        operands.push_back(operand == nullptr ? graph::ReferenceTensor()
                                              : graph::ReferenceTensor{operand->shape, operand->dtype,
                                                                       graph::decode(operand->bytes(), operand->dtype)});
    }
    std::vector<const graph::ReferenceTensor*> given;
    for (size_t i = 0; i < operands.size(); ++i) given.push_back(node->inputs[i].valid() ? &operands[i] : nullptr);
    const std::vector<graph::ReferenceTensor> made =
        graph::evaluate_node(*graph::find_op(node->op), given, node->attributes, graph::outputs_of(graph_, *node));
    const auto k =
        static_cast<size_t>(std::find(node->outputs.begin(), node->outputs.end(), tensor) - node->outputs.begin());
    return OnnxTensor{"", info.dtype, info.shape, graph::encode(made[k].data, info.dtype)};
}

}  // namespace backplane::formats
