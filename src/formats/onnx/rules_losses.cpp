// How far scores are from labels: evaluation takes them, too.
#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

// Of log-probabilities x[N, C, ...] and labels[N, ...]: -weight[label] * x[n, label, ...], of labels that are ignored 0; then what `reduction` says.
TensorId likelihood_loss(OnnxCall& call, TensorId x, size_t labels, size_t weights) {
    if (call.rank(0) < 2) call.refuse("of fewer than two axes");
    const Shape of_labels = call.shape(labels);
    const DType dtype = call.dtype(0);
    TensorId label = call.as(call.in(labels), DType::i64);
    TensorId counts = no_tensor;  // which labels do
    if (call.has("ignore_index")) {
        const TensorId ignored = call.scalar(static_cast<double>(call.integer("ignore_index", 0)), DType::i64);
        counts = call.add(Op::logical_not, {call.add(Op::equal, {label, ignored})});
        label = call.add(Op::where, {counts, label, call.scalar(0, DType::i64)});
    }
    Shape with_class = of_labels;
    with_class.insert(with_class.begin() + 1, 1);
    const TensorId picked = call.add(Op::gather_elements, {x, call.reshaped(label, with_class)}, {{Attr::axis, 1}});
    TensorId weight = no_tensor;
    if (call.given(weights)) weight = call.add(Op::gather, {call.in(weights), label}, {{Attr::axis, 0}});
    if (counts.valid())
        weight = call.add(Op::where, {counts, weight.valid() ? weight : call.scalar(1, dtype), call.scalar(0, dtype)});
    TensorId loss = call.add(Op::neg, {call.reshaped(picked, of_labels)});
    if (weight.valid()) loss = call.add(Op::mul, {loss, weight});
    const std::string reduction = call.text("reduction", "mean");
    if (reduction == "none") return loss;
    if (reduction != "sum" && reduction != "mean") call.refuse("reduction " + reduction);
    std::vector<int64_t> axes;
    for (size_t d = 0; d < of_labels.size(); ++d) axes.push_back(static_cast<int64_t>(d));
    const std::vector<Attribute> over = {{Attr::axes, axes}, {Attr::keepdims, 0}};
    if (reduction == "sum") return call.add(Op::reduce_sum, {loss}, over);
    if (!weight.valid()) return call.add(Op::reduce_mean, {loss}, over);
    return call.add(Op::div, {call.add(Op::reduce_sum, {loss}, over), call.add(Op::reduce_sum, {weight}, over)});
}

void negative_log_likelihood(OnnxCall& call) { call.result(likelihood_loss(call, call.in(0), 1, 2)); }

void softmax_cross_entropy(OnnxCall& call) {
    const TensorId logarithms = call.add(Op::log_softmax, {call.in(0)}, {{Attr::axis, 1}});
    call.result(likelihood_loss(call, logarithms, 1, 2));
    call.result(logarithms, 1);
}

constexpr OnnxRuleRow kLossesRules[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_losses() { return kLossesRules; }

}  // namespace backplane::formats
