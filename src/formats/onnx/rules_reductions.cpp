// Operators that bring many elements together: sums, norms, positions.
#include <algorithm>
#include <numeric>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

void reduce(OnnxCall& call) {
    const bool log_sum = call.node.op == "ReduceLogSum";
    std::vector<int64_t> axes = call.list_or_input("axes", 1);
    for (int64_t& axis : axes) axis = call.axis(axis, call.rank(0));
    std::sort(axes.begin(), axes.end());
    const bool nothing = call.integer("noop_with_empty_axes", 0) != 0 && axes.empty();
    const int64_t keep = call.integer("keepdims", 1);
    if (nothing) return call.result(call.reshaped(call.in(0), call.shape(0)));
    const Op op = log_sum ? Op::reduce_sum : op_from_name(call.node.op);
    TensorId result = call.add(op, {call.in(0)}, {{Attr::axes, axes}, {Attr::keepdims, keep}});
    if (log_sum) result = call.add(Op::log, {result});
    call.result(result);
}

// Before opset 13 the axes from `axis` on are one: a matrix of which they are the rows.
TensorId all_from_axis(OnnxCall& call) {
    const Shape& shape = call.shape(0);
    const int64_t axis = call.axis(call.integer("axis", 1), call.rank(0));
    const int64_t rows = elements({shape.begin(), shape.begin() + axis});
    return call.reshaped(call.in(0), {rows, elements({shape.begin() + axis, shape.end()})});
}

void softmax(OnnxCall& call) {
    const Op op = call.node.op == "Softmax" ? Op::softmax : Op::log_softmax;
    if (call.opset >= 13) return onnx_same(call);
    call.result(call.reshaped(call.add(op, {all_from_axis(call)}, {{Attr::axis, 1}}), call.shape(0)));
}

void hardmax(OnnxCall& call) {
    const bool flattens = call.opset < 13;
    const TensorId x = flattens ? all_from_axis(call) : call.in(0);
    const int64_t axis = flattens ? 1 : call.axis(call.integer("axis", -1), call.rank(0));
    const TensorId best = call.add(Op::arg_max, {x}, {{Attr::axis, axis}, {Attr::keepdims, 0}});
    const double off_on[] = {0, 1};
    const TensorId values = onnx_constant(call.graph, onnx_tensor(call.dtype(0), {2}, off_on));
    const TensorId y =
        call.add(Op::one_hot, {best, values}, {{Attr::depth, call.shape_of(x)[at(axis)]}, {Attr::axis, axis}});
    call.result(flattens ? call.reshaped(y, call.shape(0)) : y);
}

// Of x over axes, which stay with an extent of 1: the mean, what x is beside it, and the mean of the squares of that.
struct Moments {
    TensorId mean, centred, variance;
    Moments(OnnxCall& call, const std::vector<int64_t>& axes) {
        const std::vector<Attribute> over = {{Attr::axes, axes}, {Attr::keepdims, 1}};
        mean = call.add(Op::reduce_mean, {call.in(0)}, over);
        centred = call.add(Op::sub, {call.in(0), mean});
        variance = call.add(Op::reduce_mean, {call.add(Op::mul, {centred, centred})}, over);
    }
};

void layer_norm(OnnxCall& call) {
    const int64_t axis = call.axis(call.integer("axis", -1), call.rank(0));
    const double epsilon = call.number("epsilon", 1e-5);
    call.result(
        call.add(Op::layer_norm, {call.in(0), call.in(1), call.in(2)}, {{Attr::axis, axis}, {Attr::epsilon, epsilon}}));
    if (!call.wants(1) && !call.wants(2)) return;
    std::vector<int64_t> axes(static_cast<size_t>(call.rank(0) - axis));
    std::iota(axes.begin(), axes.end(), axis);
    const Moments of(call, axes);
    call.result(of.mean, 1);
    const TensorId deviation = call.add(Op::sqrt, {call.add(Op::add, {of.variance, call.scalar(epsilon, call.dtype(0))})});
    call.result(call.add(Op::reciprocal, {deviation}), 2);
}

void rms_norm(OnnxCall& call) {
    call.result(call.add(
        Op::rms_norm, {call.in(0), call.in(1)},
        {{Attr::axis, call.axis(call.integer("axis", -1), call.rank(0))}, {Attr::epsilon, call.number("epsilon", 1e-5)}}));
}

// In training mean and variance are those of the batch; what is kept of them moves there by 1 - momentum.
void batch_norm(OnnxCall& call) {
    if (call.opset < 9 && call.integer("spatial", 1) != 1) call.refuse("spatial 0");
    const double momentum = call.number("momentum", 0.9);
    TensorId mean = call.in(3), variance = call.in(4);
    if (call.integer("training_mode", 0) != 0) {
        if (call.rank(0) < 2) call.refuse("of fewer than two axes");
        std::vector<int64_t> axes(static_cast<size_t>(call.rank(0) - 1));
        std::iota(axes.begin() + 1, axes.end(), 2);
        const Moments batch(call, axes);
        // The batch's own as `kept`, which goes on as result i.
        const auto renewed = [&](TensorId& kept, TensorId seen, size_t i) {
            const DType dtype = call.graph[kept].dtype;
            const TensorId own = call.as(call.reshaped(seen, call.shape_of(kept)), dtype);
            const TensorId most = call.add(Op::mul, {kept, call.scalar(momentum, dtype)});
            call.result(call.add(Op::add, {most, call.add(Op::mul, {own, call.scalar(1 - momentum, dtype)})}), i);
            kept = own;
        };
        renewed(mean, batch.mean, 1);
        renewed(variance, batch.variance, 2);
    }
    call.result(call.add(Op::batch_norm, {call.in(0), call.in(1), call.in(2), mean, variance},
                         {{Attr::epsilon, call.number("epsilon", 1e-5)}}));
}

void instance_norm(OnnxCall& call) {
    call.result(
        call.add(Op::instance_norm, {call.in(0), call.in(1), call.in(2)}, {{Attr::epsilon, call.number("epsilon", 1e-5)}}));
}

// Before opset 21 a scale and a bias are of a group, not of a channel.
void group_norm(OnnxCall& call) {
    if (call.rank(0) < 2) call.refuse("of fewer than two axes");
    const int64_t groups = call.integer("num_groups", 1), channels = call.shape(0)[1];
    if (groups < 1 || channels % groups != 0)
        call.refuse(std::to_string(channels) + " channels in " + std::to_string(groups) + " groups");
    const auto of_channels = [&](size_t i) {
        if (call.opset >= 21) return call.in(i);
        const TensorId column = call.reshaped(call.in(i), {groups, 1});
        const TensorId spread = call.add(Op::expand, {column}, {{Attr::shape, Shape{groups, channels / groups}}});
        return call.reshaped(spread, {channels});
    };
    call.result(call.add(Op::group_norm, {call.in(0), of_channels(1), of_channels(2)},
                         {{Attr::groups, groups}, {Attr::epsilon, call.number("epsilon", 1e-5)}}));
}

// (x - mean) / (sqrt(mean of squares - mean^2) + 1e-9), the last constant of ONNX's own definition.
void mean_variance(OnnxCall& call) {
    std::vector<int64_t> axes = call.list("axes", {0, 2, 3});
    for (int64_t& axis : axes) axis = call.axis(axis, call.rank(0));
    const Moments of(call, axes);
    const TensorId deviation = call.add(Op::add, {call.add(Op::sqrt, {of.variance}), call.scalar(1e-9, call.dtype(0))});
    call.result(call.add(Op::div, {of.centred, deviation}));
}

void cum_sum(OnnxCall& call) {
    call.result(call.add(Op::cum_sum, {call.in(0)},
                         {{Attr::axis, call.axis(call.one_integer(1), call.rank(0))},
                          {Attr::exclusive, call.integer("exclusive", 0)},
                          {Attr::reverse, call.integer("reverse", 0)}}));
}

void top_k(OnnxCall& call) {
    const int64_t k = call.opset >= 10 ? call.one_integer(1) : call.integer("k", 0);
    const TensorId from[] = {call.in(0)};
    const std::vector<TensorId> both = call.graph.add_all(Op::top_k, from,
                                                          {{Attr::k, k},
                                                           {Attr::axis, call.integer("axis", -1)},
                                                           {Attr::largest, call.integer("largest", 1)},
                                                           {Attr::sorted, call.integer("sorted", 1)}});
    call.result(both.at(0), 0);
    call.result(both.at(1), 1);
}

constexpr OnnxRuleRow kReductionsRules[] = {
    {"ReduceSum", reduce},
    {"ReduceMean", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
    {"ReduceProd", reduce},
    {"ReduceL1", reduce},
    {"ReduceL2", reduce},
    {"ReduceSumSquare", reduce},
    {"ReduceLogSumExp", reduce},
    {"ReduceLogSum", reduce},
    {"Softmax", softmax},
    {"LogSoftmax", softmax},
    {"Hardmax", hardmax},
    {"LayerNormalization", layer_norm},
    {"RMSNormalization", rms_norm},
    {"BatchNormalization", batch_norm},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm},
    {"MeanVarianceNormalization", mean_variance},
    {"CumSum", cum_sum},
    {"ArgMax", onnx_same},
    {"ArgMin", onnx_same},
    {"TopK", top_k},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_reductions() { return kReductionsRules; }

}  // namespace backplane::formats
