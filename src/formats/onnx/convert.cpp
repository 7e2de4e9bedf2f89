#include "formats/onnx/convert.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "formats/onnx/call.hpp"
#include "graph/evaluate.hpp"
#include "graph/graph_access.hpp"

namespace backplane::formats {
namespace {

OnnxRule rule_of(std::string_view op) {
    for (const auto rules : {onnx_rules_elementwise(), onnx_rules_moves(), onnx_rules_networks(), onnx_rules_places(),
                             onnx_rules_attention(), onnx_rules_quantised(), onnx_rules_reductions(), onnx_rules_resize(),
                             onnx_rules_signals(), onnx_rules_losses(), onnx_rules_sizes()})
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
constexpr std::string_view kNoLoops =
    "graphs have no loops: export the model with it unrolled, or run its body as a model of its own";
constexpr std::string_view kNoChance = "results of graphs do not depend on chance";
constexpr WhyNot kWhyNot[] = {{"Sequence", kNoSequences},
                              {"Optional", kNoSequences},
                              {"String", kNoStrings},
                              {"TfIdf", kNoStrings},
                              {"Loop", kNoLoops},
                              {"Scan", kNoLoops},
                              {"Random", kNoChance},
                              {"Bernoulli", kNoChance},
                              {"Multinomial", kNoChance},
                              {"SplitToSequence", kNoSequences},
                              {"ConcatFromSequence", kNoSequences}};

bool is_of_onnx(const OnnxNode& node) { return node.domain.empty() || node.domain == "ai.onnx"; }

[[noreturn]] void refuse_operator(const OnnxNode& node) {
    if (!is_of_onnx(node)) throw Error(Code::unsupported, node.op + ": an operator of the domain " + node.domain);
    const auto row = std::find_if(std::begin(kWhyNot), std::end(kWhyNot),
                                  [&](const WhyNot& not_here) { return node.op.rfind(not_here.begins, 0) == 0; });
    const std::string_view why = row == std::end(kWhyNot) ? why_no_op(node.op) : row->why;
    throw Error(Code::unsupported, node.op + ": " + (why.empty() ? "there is no such op" : std::string(why)));
}

TensorId as_output(Graph& graph, TensorId tensor, const std::string& name) {
    if (graph[tensor].role != Role::temporary)  // an output is what a node wrote
        tensor = graph.add(Op::reshape, {tensor}, {{Attr::shape, graph[tensor].shape}});
    graph.output(tensor, name);
    return tensor;
}

constexpr uint32_t kNowhere = UINT32_MAX;
// Elements of what is computed when a graph is made: no more than a few times what the operands have. What is larger is computed where the graph runs.
constexpr int64_t kMostFolded = 1 << 26, kAlwaysFolded = 1 << 20;

// The same without what no output needs. `moved`: where each node is by then, kNowhere: nowhere.
Graph pruned(const Graph& from, std::vector<uint32_t>& moved) {
    std::vector<bool> needed(from.tensors().size());
    std::vector<bool> kept(from.nodes().size());
    for (const TensorId id : from.with_role(Role::output)) needed[id.index] = true;
    const auto need = [&](const std::vector<TensorId>& ids) {
        for (const TensorId id : ids)
            if (id.valid()) needed[id.index] = true;
    };
    for (size_t n = from.nodes().size(); n-- > 0;) {
        const Node& node = from.nodes()[n];
        kept[n] = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) { return needed[id.index]; });
        if (!kept[n]) continue;
        need(node.inputs);
        need(node.outputs);
    }
    Graph graph;
    std::vector<TensorId> at(needed.size());
    std::vector<TensorInfo>& tensors = GraphAccess::tensors(graph);
    for (uint32_t i = 0; i < needed.size(); ++i) {
        if (!needed[i]) continue;
        at[i] = {static_cast<uint32_t>(tensors.size())};
        tensors.push_back(from.tensors()[i]);
    }
    moved.assign(kept.size(), kNowhere);
    std::vector<Node>& nodes = GraphAccess::nodes(graph);
    for (size_t n = 0; n < kept.size(); ++n) {
        if (!kept[n]) continue;
        moved[n] = static_cast<uint32_t>(nodes.size());
        Node node = from.nodes()[n];
        for (std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
            for (TensorId& id : *ids) id = id.valid() ? at[id.index] : id;
        nodes.push_back(std::move(node));
    }
    return graph;
}

class Converter {
public:
    Converter(const OnnxModel& model, const OnnxGiven& given, bool goes_on)
        : model_(model), given_(given), goes_on_(goes_on), values_(graph_, given_.content) {}

    OnnxFindings convert() {
        for (const OnnxValue& input : model_.inputs) take_input(input);
        take(model_);
        OnnxFindings found;
        found.whole = !failed_;
        if (failed_) {
            found.graph = std::move(graph_);
            found.nodes = std::move(nodes_);
            return found;
        }
        for (const OnnxValue& output : model_.outputs) give(output);
        std::vector<uint32_t> moved;
        found.graph = pruned(graph_, moved);
        for (OnnxNodeFound& node : nodes_) {
            std::vector<size_t> there;
            for (const size_t n : node.nodes)
                if (moved[n] != kNowhere) there.push_back(moved[n]);
            node.nodes = std::move(there);
        }
        found.nodes = std::move(nodes_);
        return found;
    }

private:
    void take_input(const OnnxValue& input) {
        if (!input.is_tensor) throw Error(Code::unsupported, "input '" + input.name + "' is no tensor");
        const Shape* shape = given_.shape ? given_.shape(input.name) : nullptr;
        const bool open = !input.has_shape || std::find(input.shape.begin(), input.shape.end(), -1) != input.shape.end();
        const OnnxTensor* content = shape == nullptr && given_.content ? given_.content(input.name) : nullptr;
        if (content != nullptr) shape = &content->shape;
        if (shape == nullptr && open)
            throw Error(Code::unsupported, "input '" + input.name + "' leaves its shape open: say which it has");
        names_[input.name] = {input.dtype,      shape == nullptr ? input.shape : *shape, no_tensor, {}, true, input.type,
                              input.is_unsigned};
    }

    // A graph's own constants and nodes.
    void take(const OnnxModel& graph) {
        for (const OnnxTensor& tensor : graph.initializers) {
            const std::shared_ptr<const OnnxTensor> content(std::shared_ptr<const void>(), &tensor);  // the model's
            names_[tensor.name] = {tensor.dtype, tensor.shape, no_tensor, content, false};
        }
        for (const OnnxNode& node : graph.nodes) look_at(node);
    }

    static std::string name_for(const OnnxNode& node) {
        return node.name.empty() && !node.outputs.empty() ? node.outputs.front() : node.name;
    }

    void look_at(const OnnxNode& node) {
        const size_t own = nodes_.size();
        nodes_.push_back({name_for(node), node.op, {}, {}, true});
        const auto names = [&](const std::string& name) { return missing_.count(name) != 0; };
        try {
            nodes_[own].reached = std::none_of(node.inputs.begin(), node.inputs.end(), names);
            if (nodes_[own].reached)
                add(node, own);
            else if (node.op != "If" && (!is_of_onnx(node) || rule_of(node.op) == nullptr))
                refuse_operator(node);
        } catch (const Error& error) {
            if (!goes_on_) throw;
            nodes_[own].why = error.what();
        }
        if (nodes_[own].reached && nodes_[own].why.empty()) return;
        failed_ = true;
        missing_.insert(node.outputs.begin(), node.outputs.end());
    }

    void add(const OnnxNode& node, size_t own) {
        if (is_of_onnx(node) && node.op == "If") return take_branch(node);
        const OnnxRule rule = is_of_onnx(node) ? rule_of(node.op) : nullptr;
        if (rule == nullptr) refuse_operator(node);
        if (onnx_fold(node, model_.opset, names_)) return;
        const size_t before = graph_.nodes().size();
        OnnxCall call(graph_, node, model_.opset, names_, &values_);
        onnx_apply(rule, call);
        for (size_t n = before; n < graph_.nodes().size(); ++n) {
            GraphAccess::nodes(graph_)[n].name = nodes_[own].name;
            nodes_[own].nodes.push_back(n);
        }
    }

    // The nodes of the branch that its condition takes, in place of an If.
    void take_branch(const OnnxNode& node) {
        OnnxCall call(graph_, node, model_.opset, names_, &values_);
        std::vector<int64_t> condition;
        try {
            condition = call.integers(0);
        } catch (const Error& error) {
            if (error.code() != Code::unsupported) throw;
            call.refuse(
                "graphs have no branches: its condition must follow from sizes, constants and inputs whose content is "
                "given");
        }
        if (condition.size() != 1) call.refuse("a condition of " + std::to_string(condition.size()) + " elements");
        const OnnxAttribute* branch = call.attribute(condition.front() != 0 ? "then_branch" : "else_branch");
        if (branch == nullptr || !branch->graph)
            call.refuse("the branch that it takes is not there, or has what graphs do not have");
        const OnnxModel& body = *branch->graph;
        if (body.outputs.size() != node.outputs.size())
            call.refuse("its branch has " + std::to_string(body.outputs.size()) + " results, not " +
                        std::to_string(node.outputs.size()));
        const OnnxNames hidden = hidden_by(body);
        take(body);
        OnnxNames results;
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (missing_.count(body.outputs[i].name) != 0)
                missing_.insert(node.outputs[i]);
            else
                results[node.outputs[i]] = in_graph(body.outputs[i].name);
        }
        for (const OnnxNames& names : {hidden, results})
            for (const auto& [name, operand] : names) names_[name] = operand;
    }

    // What names of a branch stand for outside of it. There should be none that do, and there are files.
    [[nodiscard]] OnnxNames hidden_by(const OnnxModel& body) const {
        OnnxNames hidden;
        const auto look = [&](const std::string& name) {
            if (const auto found = names_.find(name); found != names_.end()) hidden.insert(*found);
        };
        for (const OnnxTensor& tensor : body.initializers) look(tensor.name);
        for (const OnnxNode& node : body.nodes) std::for_each(node.outputs.begin(), node.outputs.end(), look);
        return hidden;
    }

    // What a name stands for, taken as a tensor if it is an input.
    OnnxOperand& in_graph(const std::string& name) {
        const auto found = names_.find(name);
        if (found == names_.end()) throw Error(Code::invalid, "no node writes the output '" + name + "'");
        OnnxOperand& made = found->second;
        if (!made.tensor.valid() && !made.content) made.tensor = graph_.input(name, made.dtype, made.shape);
        return made;
    }

    void give(const OnnxValue& output) {
        const std::string& name = output.name;
        OnnxOperand& made = in_graph(name);
        if (output.type != 0 && output.is_unsigned != made.is_unsigned())
            throw Error(Code::invalid, "output '" + name + "' is declared as " + std::string(name_of_onnx(output.type)) +
                                           ", and its node makes " + (made.is_unsigned() ? "an unsigned type" : "none"));
        if (!made.tensor.valid()) made.tensor = onnx_constant(graph_, *made.content);
        as_output(graph_, made.tensor, name);
    }

    const OnnxModel& model_;
    const OnnxGiven& given_;
    const bool goes_on_;
    Graph graph_;
    OnnxKnownValues values_;
    OnnxNames names_;
    std::vector<OnnxNodeFound> nodes_;
    std::set<std::string> missing_;  // names that nodes would give which did not go
    bool failed_ = false;
};

// What is computed here has 53 bits.
bool is_exact_on_devices_alone(const OnnxOperand& operand) { return operand.is_unsigned() && operand.dtype == DType::i64; }

bool is_constant(const OnnxNames& names, const std::string& name) {
    const auto found = names.find(name);
    return name.empty() || (found != names.end() && found->second.content);
}

}  // namespace

bool onnx_fold(const OnnxNode& node, int64_t opset, OnnxNames& names) {
    const OnnxRule rule = is_of_onnx(node) ? rule_of(node.op) : nullptr;
    const auto constant = [&](const std::string& name) { return is_constant(names, name); };
    if (rule == nullptr || node.inputs.empty() || !std::all_of(node.inputs.begin(), node.inputs.end(), constant))
        return false;
    Graph graph;
    OnnxNames own;
    std::map<std::string, std::span<const std::byte>> weights;
    int64_t operands = 0;
    for (const std::string& name : node.inputs) {
        if (name.empty()) continue;
        operands += elements(names.find(name)->second.shape);
        OnnxOperand& operand = own[name] = names.find(name)->second;
        operand.tensor = no_tensor;
        weights[operand.content->weight] = operand.content->bytes();
    }
    OnnxCall call(graph, node, opset, own);
    onnx_apply(rule, call);
    if (std::any_of(own.begin(), own.end(), [](const auto& one) { return is_exact_on_devices_alone(one.second); }))
        return false;
    int64_t most = 0;
    for (const TensorInfo& info : graph.tensors()) most = std::max(most, elements(info.shape));
    if (most > kMostFolded || most > std::max(kAlwaysFolded, 4 * operands)) return false;
    std::vector<graph::TensorRoom> rooms;
    std::map<std::string, OnnxOperand> results;
    for (const std::string& name : node.outputs) {
        if (name.empty()) continue;
        const OnnxOperand& made = own.at(name);
        if (made.content) {
            results[name] = made;
            continue;
        }
        auto content = std::make_shared<OnnxTensor>(
            OnnxTensor{name, made.dtype, made.shape, std::vector<std::byte>(bytes(made.dtype, made.shape))});
        content->is_unsigned = made.holds_unsigned;
        rooms.push_back({as_output(graph, made.tensor, name), content->data});
        results[name] = {made.dtype, made.shape, no_tensor, content, false};
    }
    std::vector<graph::TensorBytes> in;
    for (const TensorId id : graph.with_role(Role::weight)) in.push_back({id, weights.at(graph[id].name)});
    if (!rooms.empty()) graph::evaluate(graph, in, rooms);
    for (auto& [name, operand] : results) names[name] = std::move(operand);
    return true;
}

Graph graph_of(const OnnxModel& model, const OnnxGiven& given) { return Converter(model, given, false).convert().graph; }

OnnxFindings findings_of(const OnnxModel& model, const OnnxGiven& given) { return Converter(model, given, true).convert(); }

}  // namespace backplane::formats
