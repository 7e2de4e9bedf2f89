// The table, what is expected of a case, and the comparison.
#include "conformance/conformance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "conformance/support.hpp"
#include "graph/element_types.hpp"
#include "graph/evaluate.hpp"

namespace backplane::graph {

namespace {

// Storing in `dtype`: the rounding unit, and the step where numbers are too small for it. Arithmetic in f32, bf16 and f64 may
// take numbers below the smallest normal one for 0, as many GPUs do; float32 never does so to an f16.
struct Storage {
    double unit, step;
};
Storage storage_of(DType dtype) {
    switch (dtype) {
        case DType::f16: return {0x1p-11, 0x1p-25};
        case DType::bf16: return {0x1p-8, 0x1p-127};
        case DType::f64: return {0x1p-53, 0x1p-1023};
        default: return {0x1p-24, 0x1p-127};
    }
}

// The run of one case: values and bounds of each tensor so far.
class Expectation {
public:
    explicit Expectation(const CaseData& data)
        : data_(data), tensors_(data.graph.tensors().size()), errors_(tensors_.size()) {
        for (const TensorContent& c : data.contents) give(c.tensor, c.bytes);
        for (uint32_t i = 0; i < tensors_.size(); ++i)
            if (data.graph.tensors()[i].role == Role::constant) give({i}, data.graph.tensors()[i].data);
    }

    void node(const Node& node) {
        const OpDefinition& definition = *find_op(node.op);
        const size_t places = std::max(node.inputs.size(),
                                       definition.description.any_inputs ? 0 : size_t{definition.description.inputs.size()});
        std::vector<const ReferenceTensor*> inputs(places), errors(places);
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            if (!node.inputs[k].valid()) continue;
            inputs[k] = &tensors_[node.inputs[k].index].value;
            if (!errors_[node.inputs[k].index].data.empty()) errors[k] = &errors_[node.inputs[k].index];
        }
        const std::vector<Operand> outputs = outputs_of(data_.graph, node);
        std::vector<ReferenceTensor> made = evaluate_node(definition, inputs, node.attributes, outputs);
        for (size_t k = 0; k < made.size(); ++k) {
            const TensorId id = node.outputs[k];
            const DType dtype = outputs[k].dtype;
            BoundedTensor& result = tensors_[id.index];
            result.value = std::move(made[k]);
            const double unit = dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
            result.bound = conformance_of(node.op).bound(
                {definition, inputs, errors, node.attributes, result.value, outputs, k, unit, data_.math == BP_MATH_STRICT});
            store(result, dtype);
            errors_[id.index] = {outputs[k].shape, dtype, result.bound};
        }
    }

    [[nodiscard]] std::vector<BoundedTensor> results() && { return std::move(tensors_); }

private:
    void give(TensorId id, std::span<const std::byte> bytes) {
        const TensorInfo& t = data_.graph[id];
        tensors_[id.index].value = {t.shape, t.dtype, decode(bytes, t.dtype)};
    }

    // A device rounds what it stores, and so does the reference: two roundings lie between them unless the value is exact.
    static void store(BoundedTensor& result, DType dtype) {
        if (dtype != DType::f32 && dtype != DType::f64)
            for (double& v : result.value.data) v = round_to(v, dtype);
        const Storage storage = storage_of(dtype);
        for (size_t i = 0; i < result.bound.size(); ++i) {
            double& bound = result.bound[i];
            const double size = std::fabs(result.value.data[i]);
            if (!std::isfinite(size)) bound = 0;
            if (bound > 0) bound += 2 * (storage.unit * (size + bound) + storage.step);
        }
    }

    const CaseData& data_;
    std::vector<BoundedTensor> tensors_;
    std::vector<ReferenceTensor> errors_;
};

std::string position_text(size_t position, const Shape& shape) {
    Shape index(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
        index[d] = static_cast<int64_t>(position) % shape[d];
        position /= static_cast<size_t>(shape[d]);
    }
    return to_string(index);
}

// The error as a part of its bound.
double ratio(double actual, double wanted, double bound, bool signs) {
    if (std::isnan(wanted) || std::isnan(actual)) return std::isnan(wanted) && std::isnan(actual) ? 0 : kInfinity;
    if (actual == wanted) return signs && std::signbit(actual) != std::signbit(wanted) ? kInfinity : 0;
    const double error = std::fabs(actual - wanted);
    if (!std::isfinite(error)) return kInfinity;
    return bound > 0 ? error / bound : kInfinity;
}

std::string describe(const std::string& name, const BoundedTensor& expected, std::span<const double> actual, size_t worst,
                     size_t wrong) {
    std::ostringstream text;
    text.precision(9);
    text << name << position_text(worst, expected.value.shape) << " is " << actual[worst] << ", should be "
         << round_to(expected.value.data[worst], expected.value.dtype);
    if (!expected.bound.empty() && expected.bound[worst] > 0) {
        text.precision(3);
        text << " +- " << expected.bound[worst];
    }
    text << "; " << wrong << " of " << actual.size() << " elements are wrong";
    return text.str();
}

bool keeps_zero_signs(Op op) { return op == Op::cast || op == Op::neg || op == Op::abs; }

}  // namespace

CaseData ConformanceCase::build() const {
    CaseBuilder builder(name);
    describe(builder);
    return builder.take();
}

const OpConformance& conformance_of(Op op) {
    switch (op) {
#define BP_CONFORMANCE_ROW(id, identifier, name) \
    case Op::identifier: return conformance::identifier::conformance_##identifier;
        BP_OPS(BP_CONFORMANCE_ROW)
#undef BP_CONFORMANCE_ROW
        case Op::unknown: break;
    }
    throw Error(Code::invalid, "there is no op with the id " + std::to_string(static_cast<uint32_t>(op)));
}

std::vector<ConformanceCase> conformance_cases(Op op) {
    CaseList list(op);
    conformance_of(op).cases(list);
    return list.take();
}

std::vector<BoundedTensor> expect(const CaseData& data) {
    Expectation expectation(data);
    for (const Node& node : data.graph.nodes()) expectation.node(node);
    return std::move(expectation).results();
}

Comparison compare(const CaseData& data, std::span<const BoundedTensor> expected, TensorId output,
                   std::span<const std::byte> bytes) {
    const TensorInfo& tensor = data.graph[output];
    const BoundedTensor& want = expected[output.index];
    const std::vector<double> actual = decode(bytes, tensor.dtype);
    if (actual.size() != want.value.data.size())
        throw Error(Code::invalid, "cannot compare " + std::to_string(actual.size()) + " elements with the " +
                                       std::to_string(want.value.data.size()) + " of " + tensor.name);
    const std::vector<Node>& nodes = data.graph.nodes();
    const auto all = [&](auto&& is) { return std::all_of(nodes.begin(), nodes.end(), is); };
    // What has a bound was rounded on its way, as numbers that go into blocks are.
    const bool moved = all([](const Node& n) { return conformance_of(n.op).moves_bytes; }) &&
                       std::ranges::all_of(want.bound, [](double bound) { return bound == 0; });
    const bool signs = all([](const Node& n) { return conformance_of(n.op).moves_bytes || keeps_zero_signs(n.op); });
    Comparison result;
    size_t worst = 0, wrong = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
        const double r =
            ratio(actual[i], round_to(want.value.data[i], tensor.dtype), want.bound.empty() ? 0 : want.bound[i], signs);
        if (r > 1) ++wrong;
        if (r > result.worst) {
            result.worst = r;
            worst = i;
        }
    }
    result.passed = wrong == 0;
    if (!result.passed) {
        result.text = describe(tensor.name, want, actual, worst, wrong);
    } else if (moved && !std::ranges::equal(bytes, encode(want.value.data, tensor.dtype))) {
        // Equal numbers in other bits: a NaN that lost its payload, a boolean that is neither 0 nor 1.
        result = {false, kInfinity, tensor.name + " has the right values, but not the very bytes of its source"};
    }
    return result;
}

}  // namespace backplane::graph
