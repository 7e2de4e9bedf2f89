#include "formats/onnx/prepare.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "formats/onnx/call.hpp"
#include "formats/onnx/simplify.hpp"

namespace backplane::formats {
namespace {

constexpr size_t kLeastWeight = 1024;  // bytes; what is smaller is a constant of each graph

std::shared_ptr<const OnnxTensor> lent(const OnnxTensor& tensor) { return {std::shared_ptr<const void>(), &tensor}; }

// A Constant whose value is a tensor; null: it is none.
const OnnxTensor* value_of(const OnnxNode& node) {
    const auto value = node.attributes.find("value");
    const bool is =
        node.op == "Constant" && node.domain.empty() && node.outputs.size() == 1 && value != node.attributes.end();
    return is ? value->second.tensor.get() : nullptr;
}

bool is_folded(const OnnxNode& node, int64_t opset, OnnxNames& known) {
    try {
        return onnx_fold(node, opset, known);
    } catch (const Error&) {
        return false;  // graph_of() comes to it again, and says what is wrong with it
    }
}

// `known`: the constants of the graphs around it and its own.
void fold(OnnxModel& graph, int64_t opset, OnnxNames known) {
    for (const OnnxTensor& tensor : graph.initializers)
        known[tensor.name] = {tensor.dtype, tensor.shape, no_tensor, lent(tensor), false};
    std::vector<OnnxNode> left;
    std::vector<OnnxTensor> made;
    for (OnnxNode& node : graph.nodes) {
        if (const OnnxTensor* value = value_of(node)) {
            const std::string& name = node.outputs.front();
            OnnxTensor tensor = *value;
            tensor.name = name;
            known[name] = {tensor.dtype, tensor.shape, no_tensor, std::make_shared<const OnnxTensor>(tensor), false};
            made.push_back(std::move(tensor));
            continue;
        }
        if (is_folded(node, opset, known)) {
            for (const std::string& name : node.outputs) {
                if (name.empty()) continue;
                made.push_back(*known.at(name).content);
                made.back().name = name;
            }
            continue;
        }
        for (auto& [name, attribute] : node.attributes) {
            if (!attribute.graph) continue;
            OnnxModel body = *attribute.graph;
            fold(body, opset, known);
            attribute.graph = std::make_shared<const OnnxModel>(std::move(body));
        }
        left.push_back(std::move(node));
    }
    graph.nodes = std::move(left);
    std::move(made.begin(), made.end(), std::back_inserter(graph.initializers));
}

void name_weights(OnnxModel& graph, std::set<std::string>& taken) {
    for (OnnxTensor& tensor : graph.initializers) {
        if (tensor.bytes().size() < kLeastWeight) continue;
        std::string name = tensor.name;
        for (size_t n = 2; !taken.insert(name).second; ++n) name = tensor.name + "#" + std::to_string(n);
        tensor.weight = std::move(name);
    }
    for (OnnxNode& node : graph.nodes)
        for (auto& [name, attribute] : node.attributes) {
            if (!attribute.graph) continue;
            OnnxModel body = *attribute.graph;
            name_weights(body, taken);
            attribute.graph = std::make_shared<const OnnxModel>(std::move(body));
        }
}

void collect(const OnnxModel& graph, OnnxWeights& weights) {
    for (const OnnxTensor& tensor : graph.initializers)
        if (!tensor.weight.empty()) weights[tensor.weight] = {tensor.dtype, tensor.bytes()};
    for (const OnnxNode& node : graph.nodes)
        for (const auto& [name, attribute] : node.attributes)
            if (attribute.graph) collect(*attribute.graph, weights);
}

}  // namespace

OnnxModel prepared(OnnxModel model) {
    // An initializer that is named as an input, too, as all were before IR version 4, is no input here.
    std::set<std::string> constants;
    for (const OnnxTensor& tensor : model.initializers) constants.insert(tensor.name);
    const auto is_constant = [&](const OnnxValue& input) { return constants.count(input.name) != 0; };
    model.inputs.erase(std::remove_if(model.inputs.begin(), model.inputs.end(), is_constant), model.inputs.end());
    fold(model, model.opset, {});
    if (model.opset >= 7) simplify(model, model.opset);  // before that operands broadcast in other ways
    std::set<std::string> taken;
    for (const OnnxValue& input : model.inputs) taken.insert(input.name);
    name_weights(model, taken);
    return model;
}

OnnxWeights weights_of(const OnnxModel& model) {
    OnnxWeights weights;
    collect(model, weights);
    return weights;
}

}  // namespace backplane::formats
