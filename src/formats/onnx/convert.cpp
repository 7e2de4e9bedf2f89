#include "formats/onnx/convert.hpp"

#include <algorithm>
#include <utility>

#include "formats/onnx/call.hpp"
#include "graph/evaluate.hpp"

namespace backplane::formats {
namespace {

OnnxRule rule_of(std::string_view op) {
    for (const auto rules :
         {onnx_rules_elementwise(), onnx_rules_moves(), onnx_rules_networks(), onnx_rules_reductions(), onnx_rules_resize()})
        for (const OnnxRuleRow& row : rules)
            if (row.op == op) return row.rule;
    return nullptr;
}

// Operators by what their names begin with, and why none of them is here.
struct WhyNot {
    std::string_view begins, why;
};
constexpr std::string_view kNoSequences = "graphs have tensors alone, no sequences and no optional values";
constexpr std::string_view kNoStrings = "graphs have no strings";
constexpr std::string_view kNoBranches = "graphs have no branches and no loops";
constexpr std::string_view kNoChance = "results of graphs do not depend on chance";
constexpr WhyNot kWhyNot[] = {{"Sequence", kNoSequences}, {"Optional", kNoSequences}, {"String", kNoStrings},
                              {"TfIdf", kNoStrings},      {"If", kNoBranches},        {"Loop", kNoBranches},
                              {"Scan", kNoBranches},      {"Random", kNoChance},      {"Bernoulli", kNoChance}};

bool is_of_onnx(const OnnxNode& node) { return node.domain.empty() || node.domain == "ai.onnx"; }

[[noreturn]] void refuse_operator(const OnnxNode& node) {
    if (!is_of_onnx(node)) throw Error(Code::unsupported, node.op + ": an operator of the domain " + node.domain);
    const auto row = std::find_if(std::begin(kWhyNot), std::end(kWhyNot),
                                  [&](const WhyNot& not_here) { return node.op.rfind(not_here.begins, 0) == 0; });
    const std::string_view why = row == std::end(kWhyNot) ? why_no_op(node.op) : row->why;
    throw Error(Code::unsupported, node.op + ": " + (why.empty() ? "there is no such op" : std::string(why)));
}

class Converter {
public:
    Converter(const OnnxModel& model, const OnnxKnown& known) : model_(model), known_(known) {}

    Graph convert() {
        for (const OnnxValue& input : model_.inputs) take_input(input);
        for (const OnnxTensor& tensor : model_.initializers)
            names_[tensor.name] = {tensor.dtype, tensor.shape, no_tensor, std::make_shared<const OnnxTensor>(tensor), false};
        for (const OnnxNode& node : model_.nodes) add(node);
        for (const OnnxValue& output : model_.outputs) give(output.name);
        return std::move(graph_);
    }

private:
    void take_input(const OnnxValue& input) {
        if (!input.is_tensor) throw Error(Code::unsupported, "input '" + input.name + "' is no tensor");
        Shape shape = input.shape;
        if (const OnnxTensor* content = known_ ? known_(input.name) : nullptr) shape = content->shape;
        if (std::find(shape.begin(), shape.end(), -1) != shape.end())
            throw Error(Code::unsupported, "input '" + input.name + "' leaves its shape open");
        names_[input.name] = {input.dtype, std::move(shape), no_tensor, {}, true};
    }

    void add(const OnnxNode& node) {
        const OnnxRule rule = is_of_onnx(node) ? rule_of(node.op) : nullptr;
        if (rule == nullptr) refuse_operator(node);
        if (depends_on_constants_alone(node)) return fold(node, rule);
        OnnxCall call(graph_, node, model_.opset, names_, known_);
        rule(call);
        call.finish();
    }

    [[nodiscard]] bool depends_on_constants_alone(const OnnxNode& node) const {
        return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& name) {
            const auto found = names_.find(name);
            return name.empty() || (found != names_.end() && found->second.content);
        });
    }

    // Computes a node here, in a graph of its own.
    void fold(const OnnxNode& node, OnnxRule rule) {
        Graph graph;
        OnnxNames names;
        for (const std::string& name : node.inputs) {
            if (name.empty()) continue;
            names[name] = names_.at(name);
            names[name].tensor = no_tensor;
        }
        OnnxCall call(graph, node, model_.opset, names, known_);
        rule(call);
        call.finish();
        std::vector<graph::TensorRoom> rooms;
        for (const std::string& name : node.outputs) {
            if (name.empty()) continue;
            const OnnxOperand& made = names.at(name);
            if (made.content) {
                names_[name] = made;
                continue;
            }
            auto content = std::make_shared<OnnxTensor>(
                OnnxTensor{name, made.dtype, made.shape, std::vector<std::byte>(bytes(made.dtype, made.shape))});
            const TensorId tensor = as_output(graph, made.tensor, name);
            rooms.push_back({tensor, content->data});
            names_[name] = {made.dtype, made.shape, no_tensor, content, false};
        }
        if (!rooms.empty()) graph::evaluate(graph, {}, rooms);
    }

    static TensorId as_output(Graph& graph, TensorId tensor, const std::string& name) {
        if (graph[tensor].role != Role::temporary)  // an output is what a node wrote
            tensor = graph.add(Op::reshape, {tensor}, {{Attr::shape, graph[tensor].shape}});
        graph.output(tensor, name);
        return tensor;
    }

    void give(const std::string& name) {
        const auto found = names_.find(name);
        if (found == names_.end()) throw Error(Code::invalid, "no node writes the output '" + name + "'");
        OnnxOperand& made = found->second;
        if (!made.tensor.valid() && made.content) made.tensor = onnx_constant(graph_, *made.content);
        if (!made.tensor.valid()) made.tensor = graph_.input(name, made.dtype, made.shape);
        as_output(graph_, made.tensor, name);
    }

    const OnnxModel& model_;
    const OnnxKnown& known_;
    Graph graph_;
    OnnxNames names_;
};

}  // namespace

Graph graph_of(const OnnxModel& model, const OnnxKnown& known) { return Converter(model, known).convert(); }

}  // namespace backplane::formats
