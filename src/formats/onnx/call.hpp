// One node of ONNX on its way into a graph: what the rules of the operators (rules_*.cpp) see.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/convert.hpp"

namespace backplane::formats {

// What a name of the model stands for.
struct OnnxOperand {
    DType dtype = DType::unknown;
    Shape shape;
    TensorId tensor;                            // in the graph; invalid until a node takes it as a tensor
    std::shared_ptr<const OnnxTensor> content;  // of a constant
    bool is_input = false;
    int64_t type = 0;  // of an input, as the file has it
    bool holds_unsigned = false;

    // Of uint32 or uint64, whose bits i32 or i64 hold.
    [[nodiscard]] bool is_unsigned() const { return content ? content->is_unsigned : holds_unsigned; }
};
using OnnxNames = std::map<std::string, OnnxOperand, std::less<>>;

// What the values of a graph are as far as they follow from its constants and from inputs whose content is known. Only what is small is computed:
// sizes, positions, conditions.
class OnnxKnownValues {
public:
    OnnxKnownValues(const Graph& graph, const OnnxKnown& known) : graph_(graph), known_(known) {}
    // Of what a name stands for; null: it does not follow. The tensor lives as long as this.
    const OnnxTensor* find(const std::string& name, const OnnxOperand& operand);

private:
    const OnnxTensor* find(TensorId tensor, int depth);
    std::optional<OnnxTensor> computed(TensorId tensor, int depth);
    [[nodiscard]] const Node* writer(TensorId tensor);

    const Graph& graph_;
    const OnnxKnown& known_;
    std::map<uint32_t, std::optional<OnnxTensor>> found_;
    std::map<uint32_t, size_t> writers_;  // the node that writes a tensor,
    size_t indexed_ = 0;                  // of so many nodes
};

inline size_t at(int64_t i) { return static_cast<size_t>(i); }  // an axis or extent as an index

class OnnxCall;
using OnnxRule = void (*)(OnnxCall&);

class OnnxCall {
public:
    // `values`: of `to`; null: its constants alone are known.
    OnnxCall(Graph& to, const OnnxNode& from, int64_t version, OnnxNames& names, OnnxKnownValues* values = nullptr)
        : graph(to), node(from), opset(version), names_(names), values_(values) {}

    Graph& graph;
    const OnnxNode& node;
    const int64_t opset;

    [[noreturn]] void refuse(const std::string& why) const;  // Error(unsupported): "Resize: why"

    [[nodiscard]] size_t inputs() const { return node.inputs.size(); }
    [[nodiscard]] bool given(size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
    [[nodiscard]] DType dtype(size_t i) const { return operand(i).dtype; }
    [[nodiscard]] bool is_unsigned(size_t i) const { return given(i) && operand(i).is_unsigned(); }
    [[nodiscard]] const Shape& shape(size_t i) const { return operand(i).shape; }
    [[nodiscard]] int64_t rank(size_t i) const { return static_cast<int64_t>(shape(i).size()); }
    // Operands as tensors of the graph, with no_tensor for those not given.
    TensorId in(size_t i);
    std::vector<TensorId> all();
    // The content of an operand that must be known.
    [[nodiscard]] std::vector<double> numbers(size_t i) const;
    [[nodiscard]] std::vector<int64_t> integers(size_t i) const;
    [[nodiscard]] bool is_known(size_t i) const;
    [[nodiscard]] bool is_constant(size_t i) const { return operand(i).content != nullptr; }
    // The same where there must be one element.
    [[nodiscard]] double one_number(size_t i) const;
    [[nodiscard]] int64_t one_integer(size_t i) const;

    // Attributes; those that a rule has not asked for are refused by finish(), unless they say how results are made and not what they are.
    [[nodiscard]] bool has(const std::string& name) const { return attribute(name) != nullptr; }
    [[nodiscard]] int64_t integer(const std::string& name, int64_t otherwise) const;
    [[nodiscard]] double number(const std::string& name, double otherwise) const;
    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const;
    [[nodiscard]] std::vector<int64_t> list(const std::string& name, const std::vector<int64_t>& otherwise = {}) const;
    [[nodiscard]] std::vector<std::string> texts(const std::string& name) const;
    [[nodiscard]] const OnnxAttribute* attribute(const std::string& name) const;
    void finish() const;
    // Of a list that is an attribute in older opsets and operand i in newer ones.
    [[nodiscard]] std::vector<int64_t> list_or_input(const std::string& name, size_t i) const;

    [[nodiscard]] bool wants(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
    void result(TensorId tensor, size_t i = 0);
    void result(OnnxTensor constant, size_t i = 0);
    void result_is_unsigned(size_t i, bool is);  // of a tensor that was given as it

    // What a rule has for result 0 where another tensor is operand 0; invalid where nobody wants it. It stays the result.
    TensorId result_of(OnnxRule rule, TensorId instead);
    // Does something while another tensor is operand i; and the call of another node on the same names.
    void with_operand(size_t i, TensorId instead, bool holds_unsigned, const std::function<void()>& run);
    [[nodiscard]] OnnxCall with(const OnnxNode& other) const { return {graph, other, opset, names_, values_}; }

    // A number as a scalar of a type, and the same elements under another shape.
    TensorId scalar(double value, DType dtype);
    TensorId reshaped(TensorId tensor, const Shape& shape);
    // The same as another type, and the slices along an axis at some positions.
    TensorId as(TensorId tensor, DType dtype);
    TensorId picked(TensorId tensor, const std::vector<int64_t>& positions, int64_t along);
    TensorId add(Op op, std::initializer_list<TensorId> inputs, const std::vector<Attribute>& attributes = {}) {
        return graph.add(op, inputs, attributes);
    }
    [[nodiscard]] const Shape& shape_of(TensorId tensor) const { return graph[tensor].shape; }
    // An axis from 0 on. Refuses one that there is not.
    [[nodiscard]] int64_t axis(int64_t written, int64_t rank) const;

private:
    [[nodiscard]] OnnxOperand& operand(size_t i) const;  // among the names, which are not the call's
    [[nodiscard]] const OnnxTensor* known(size_t i) const;
    [[nodiscard]] const OnnxTensor& content(size_t i) const;

    OnnxNames& names_;
    OnnxKnownValues* values_;
    mutable std::vector<std::string> asked_;
};

struct OnnxRuleRow {
    std::string_view op;
    OnnxRule rule;
};
std::span<const OnnxRuleRow> onnx_rules_attention();
std::span<const OnnxRuleRow> onnx_rules_elementwise();
std::span<const OnnxRuleRow> onnx_rules_losses();
std::span<const OnnxRuleRow> onnx_rules_moves();
std::span<const OnnxRuleRow> onnx_rules_networks();
std::span<const OnnxRuleRow> onnx_rules_places();
std::span<const OnnxRuleRow> onnx_rules_quantised();
std::span<const OnnxRuleRow> onnx_rules_reductions();
std::span<const OnnxRuleRow> onnx_rules_resize();
std::span<const OnnxRuleRow> onnx_rules_signals();
std::span<const OnnxRuleRow> onnx_rules_sizes();

// The rule on a call, and finish(): before opset 7 on what later ones write in place of it (before_7.cpp), on operands that are unsigned another rule, or an
// Error(unsupported) (rules_unsigned.cpp).
void onnx_apply(OnnxRule rule, OnnxCall& call);
void onnx_apply_as_of_7(OnnxRule rule, OnnxCall& call);

// Computes a node whose operands are all constants, and puts its results among the names. False: they are not, it is no operator that there is, or its
// results are too large for it. Throws what the rule throws.
bool onnx_fold(const OnnxNode& node, int64_t opset, OnnxNames& names);

// A convolution with the attributes of a node, of which operand `filter` has the shape of w. `bias` may be no_tensor.
TensorId onnx_convolution(OnnxCall& call, TensorId x, TensorId w, TensorId bias, size_t filter);

// An op of the same name, operands and attributes.
void onnx_same(OnnxCall& call);

OnnxTensor onnx_tensor(DType dtype, Shape shape, std::span<const double> values);
OnnxTensor onnx_integers(const std::vector<int64_t>& values, Shape shape);  // of i64

// The tensor of a constant in the graph: a weight where it has the name of one.
TensorId onnx_constant(Graph& graph, const OnnxTensor& tensor);

}  // namespace backplane::formats
