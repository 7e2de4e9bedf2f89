#include "formats/onnx/call.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "graph/element_types.hpp"

namespace backplane::formats {

void OnnxCall::refuse(const std::string& why) const { throw Error(Code::unsupported, node.op + ": " + why); }

OnnxOperand& OnnxCall::operand(size_t i) const {
    if (!given(i)) throw Error(Code::invalid, node.op + ": operand " + std::to_string(i) + " is not given");
    const auto found = names_.find(node.inputs[i]);
    if (found == names_.end()) throw Error(Code::invalid, node.op + ": nothing gives '" + node.inputs[i] + "'");
    return found->second;
}

TensorId OnnxCall::in(size_t i) {
    if (!given(i)) return no_tensor;
    OnnxOperand& taken = operand(i);
    if (taken.tensor.valid()) return taken.tensor;
    if (taken.content) return taken.tensor = onnx_constant(graph, *taken.content);
    if (taken.dtype == DType::unknown)
        refuse("operand " + std::to_string(i) + " is of ONNX's type " + std::string(name_of_onnx(taken.type)) +
               ", which graphs do not have");
    return taken.tensor = graph.input(node.inputs[i], taken.dtype, taken.shape);
}

std::vector<TensorId> OnnxCall::all() {
    std::vector<TensorId> tensors;
    for (size_t i = 0; i < inputs(); ++i) tensors.push_back(in(i));
    return tensors;
}

const OnnxTensor* OnnxCall::known(size_t i) const {
    const OnnxOperand& from = operand(i);
    if (from.content) return from.content.get();
    return values_ != nullptr && from.dtype != DType::unknown ? values_->find(node.inputs[i], from) : nullptr;
}

bool OnnxCall::is_known(size_t i) const { return known(i) != nullptr; }

const OnnxTensor& OnnxCall::content(size_t i) const {
    if (const OnnxTensor* there = known(i)) return *there;
    refuse("operand " + std::to_string(i) + " must be known when the graph is made");
}

std::vector<double> OnnxCall::numbers(size_t i) const {
    const OnnxTensor& tensor = content(i);
    return graph::decode(tensor.bytes(), tensor.dtype);
}

std::vector<int64_t> OnnxCall::integers(size_t i) const {
    const OnnxTensor& tensor = content(i);
    if (is_float(tensor.dtype))
        refuse("operand " + std::to_string(i) + " of " + name_of(tensor.dtype) + ", it is of whole numbers: i64 or i32");
    const std::span<const std::byte> data = tensor.bytes();
    if (tensor.dtype == DType::i64) {  // all of its bits: bounds of slices go to the end of the type
        std::vector<int64_t> numbers(data.size() / sizeof(int64_t));
        if (!numbers.empty()) std::memcpy(numbers.data(), data.data(), data.size());
        return numbers;
    }
    std::vector<int64_t> whole;
    for (const double number : graph::decode(data, tensor.dtype)) whole.push_back(static_cast<int64_t>(number));
    return whole;
}

double OnnxCall::one_number(size_t i) const {
    const std::vector<double> all = numbers(i);
    if (all.size() != 1)
        refuse("operand " + std::to_string(i) + " of " + std::to_string(all.size()) + " elements, not of one");
    return all.front();
}

int64_t OnnxCall::one_integer(size_t i) const {
    static_cast<void>(one_number(i));
    return integers(i).front();
}

const OnnxAttribute* OnnxCall::attribute(const std::string& name) const {
    asked_.push_back(name);
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() ? nullptr : &found->second;
}

int64_t OnnxCall::integer(const std::string& name, int64_t otherwise) const {
    const OnnxAttribute* found = attribute(name);
    return found == nullptr || found->integers.empty() ? otherwise : found->integers.front();
}
double OnnxCall::number(const std::string& name, double otherwise) const {
    const OnnxAttribute* found = attribute(name);
    return found == nullptr || found->numbers.empty() ? otherwise : found->numbers.front();
}
std::string OnnxCall::text(const std::string& name, const std::string& otherwise) const {
    const OnnxAttribute* found = attribute(name);
    return found == nullptr || found->texts.empty() ? otherwise : found->texts.front();
}
std::vector<int64_t> OnnxCall::list(const std::string& name, const std::vector<int64_t>& otherwise) const {
    const OnnxAttribute* found = attribute(name);
    return found == nullptr ? otherwise : found->integers;
}
std::vector<std::string> OnnxCall::texts(const std::string& name) const {
    const OnnxAttribute* found = attribute(name);
    return found == nullptr ? std::vector<std::string>() : found->texts;
}

std::vector<int64_t> OnnxCall::list_or_input(const std::string& name, size_t i) const {
    const bool is_attribute = has(name);
    return is_attribute || !given(i) ? list(name) : integers(i);
}

void OnnxCall::finish() const {
    // The order in memory of positions that nobody asks for, and how sums are kept.
    constexpr std::array<std::string_view, 3> kOfNoMatter = {"storage_order", "stash_type", "consumed_inputs"};
    for (const auto& [name, value] : node.attributes) {
        if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
        if (std::find(kOfNoMatter.begin(), kOfNoMatter.end(), name) != kOfNoMatter.end()) continue;
        refuse("attribute '" + name + "'");
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
        if (wants(i) && names_.find(node.outputs[i]) == names_.end())
            refuse("result " + std::to_string(i) + " is not computed");
}

void OnnxCall::result(TensorId tensor, size_t i) {
    if (!wants(i)) return;
    const TensorInfo& info = graph[tensor];
    names_[node.outputs[i]] = {info.dtype, info.shape, tensor, {}, false};
}

void OnnxCall::result(OnnxTensor constant, size_t i) {
    if (!wants(i)) return;
    auto content = std::make_shared<const OnnxTensor>(std::move(constant));
    names_[node.outputs[i]] = {content->dtype, content->shape, no_tensor, content, false};
}

void OnnxCall::result_is_unsigned(size_t i, bool is) {
    if (wants(i)) names_[node.outputs[i]].holds_unsigned = is;
}

void OnnxCall::with_operand(size_t i, TensorId instead, bool holds_unsigned, const std::function<void()>& run) {
    OnnxOperand& there = operand(i);
    const OnnxOperand kept = std::exchange(there, {graph[instead].dtype, graph[instead].shape, instead, {}, false});
    there.holds_unsigned = holds_unsigned;
    try {
        run();
    } catch (...) {
        there = kept;
        throw;
    }
    there = kept;
}

TensorId OnnxCall::result_of(OnnxRule rule, TensorId instead) {
    with_operand(0, instead, false, [&] { rule(*this); });
    return wants(0) ? names_[node.outputs[0]].tensor : no_tensor;
}

TensorId OnnxCall::scalar(double value, DType dtype) {
    return graph.constant("", dtype, {}, graph::encode({&value, 1}, dtype));
}

TensorId OnnxCall::reshaped(TensorId tensor, const Shape& shape) {
    return add(Op::reshape, {tensor}, {{Attr::shape, shape}});
}

TensorId OnnxCall::as(TensorId tensor, DType dtype) {
    if (graph[tensor].dtype == dtype) return tensor;
    return add(Op::cast, {tensor}, {{Attr::to, static_cast<int64_t>(dtype)}});
}

TensorId OnnxCall::picked(TensorId tensor, const std::vector<int64_t>& positions, int64_t along) {
    const OnnxTensor indices = onnx_integers(positions, {static_cast<int64_t>(positions.size())});
    return add(Op::gather, {tensor, onnx_constant(graph, indices)}, {{Attr::axis, along}});
}

int64_t OnnxCall::axis(int64_t written, int64_t rank) const {
    const int64_t from_front = written < 0 ? written + rank : written;
    if (from_front < 0 || from_front >= rank)
        throw Error(Code::invalid, node.op + ": no axis " + std::to_string(written) + " among " + std::to_string(rank));
    return from_front;
}

void onnx_same(OnnxCall& call) {
    std::vector<Attribute> attributes;
    for (const auto& [name, value] : call.node.attributes) {
        const Attr id = attr_from_name(name);
        if (id == Attr::unknown || call.attribute(name) == nullptr) continue;  // finish() refuses it
        switch (value.kind) {
            case OnnxAttribute::Kind::integer: attributes.emplace_back(id, value.integers.front()); break;
            case OnnxAttribute::Kind::number: attributes.emplace_back(id, value.numbers.front()); break;
            case OnnxAttribute::Kind::integers: attributes.emplace_back(id, value.integers); break;
            default: call.refuse("attribute '" + name + "'");
        }
    }
    call.result(call.graph.add(op_from_name(call.node.op), call.all(), attributes, call.node.name));
}

OnnxTensor onnx_tensor(DType dtype, Shape shape, std::span<const double> values) {
    return {"", dtype, std::move(shape), graph::encode(values, dtype)};
}

OnnxTensor onnx_integers(const std::vector<int64_t>& values, Shape shape) {
    const std::vector<double> numbers(values.begin(), values.end());
    return onnx_tensor(DType::i64, std::move(shape), numbers);
}

TensorId onnx_constant(Graph& graph, const OnnxTensor& tensor) {
    if (!tensor.weight.empty()) {
        const TensorId there = graph.find(tensor.weight);
        return there.valid() ? there : graph.weight(tensor.weight, tensor.dtype, tensor.shape);
    }
    const std::span<const std::byte> data = tensor.bytes();
    return graph.constant("", tensor.dtype, tensor.shape, {data.begin(), data.end()});
}

}  // namespace backplane::formats
