#include "conformance/recurrent.hpp"

#include <cmath>

#include "conformance/bounds.hpp"
#include "graph/ops/support/recurrent.hpp"

namespace backplane::graph {

namespace {

// A number and the variance of its error. `unit`: what one operation adds, of the size of its result.
struct Uncertain {
    double value = 0, variance = 0;
    double unit = 0;

    Uncertain() = default;
    explicit Uncertain(double exact) : value(exact) {}
    Uncertain(double v, double error, double u) : value(v), variance(error * error), unit(u) {}
};

double squared(double x) { return x * x; }

Uncertain made(double value, double variance, double unit, double operations = 1) {
    return {value, std::sqrt(variance + squared(operations * unit * value)), unit};
}

Uncertain operator+(const Uncertain& a, const Uncertain& b) {
    return made(a.value + b.value, a.variance + b.variance, std::max(a.unit, b.unit));
}
Uncertain operator*(const Uncertain& a, const Uncertain& b) {
    return made(a.value * b.value, a.variance * squared(b.value) + b.variance * squared(a.value), std::max(a.unit, b.unit));
}
Uncertain one_less(const Uncertain& x) { return made(1 - x.value, x.variance, x.unit); }
Uncertain clipped(const Uncertain& x, double most) { return {graph::clipped(x.value, most), std::sqrt(x.variance), x.unit}; }

// As docs/conformance.md has the functions: 8 units of the result, for inputs 4 units off.
Uncertain activate(uint32_t op, const Uncertain& x) {
    const double y = graph::activate(op, x.value);
    if (op == BP_OP_relu) return {y, std::sqrt(x.variance), x.unit};
    const double slope = op == BP_OP_tanh ? 1 - y * y : y * (1 - y);
    return made(y, squared(slope) * (x.variance + squared(4 * x.unit * x.value)), x.unit, 8);
}

}  // namespace

namespace recurrent {

std::vector<double> bound(const BoundCall& call) {
    constexpr double kDeviations = 8;
    Recurrence<Uncertain> node(call.definition.op(), call.inputs, AttributeView(call.attributes), [&](size_t k) {
        std::vector<Uncertain> numbers;
        if (call.inputs[k] == nullptr) return numbers;
        const ReferenceTensor* errors = call.errors[k];
        for (size_t i = 0; i < call.inputs[k]->data.size(); ++i)
            numbers.emplace_back(call.inputs[k]->data[i], errors != nullptr ? errors->data[i] : 0.0, call.unit);
        return numbers;
    });
    std::vector<double> result;
    const std::vector<std::vector<Uncertain>> results = node.run();
    for (const Uncertain& each : results[call.which]) result.push_back(kDeviations * std::sqrt(each.variance));
    return result;
}

std::vector<TensorId> add_node(CaseBuilder& b, Op op, const Recurrent& r) {
    const int64_t directions = backplane::ops::directions_of(r.direction);
    const int64_t rows = (has_cells(op) ? 4 : 3) * r.hidden;
    const DType weights = r.weights != DType::unknown ? r.weights : r.dtype;
    const Shape state = r.layout == 0 ? Shape{directions, r.batch, r.hidden} : Shape{r.batch, directions, r.hidden};
    // Sums of about 1, so that gates are neither open nor shut.
    const auto of_sums = [](int64_t terms) {
        const double most = 2 / std::sqrt(static_cast<double>(std::max<int64_t>(1, terms)));
        return Values{-most, most};
    };
    const auto optional = [&](bool given, const Shape& shape) { return given ? b.input(r.dtype, shape) : no_tensor; };
    std::vector<TensorId> operands{
        b.input(r.dtype, r.layout == 0 ? Shape{r.steps, r.batch, r.inputs} : Shape{r.batch, r.steps, r.inputs}),
        b.operand(r.source, weights, {directions, rows, r.inputs}, of_sums(r.inputs)),
        b.operand(r.source, weights, {directions, rows, r.hidden}, of_sums(r.hidden)),
        optional(r.bias, {directions, 2 * rows}),
        r.lengths.empty() ? no_tensor : b.input(r.lengths_dtype, {r.batch}, {0, static_cast<double>(r.steps), r.lengths}),
        optional(r.states, state)};
    if (has_cells(op)) {
        operands.push_back(optional(r.states, state));
        operands.push_back(optional(r.peepholes, {directions, 3 * r.hidden}));
    }
    while (!operands.back().valid()) operands.pop_back();
    std::vector<Attribute> attributes = r.attributes;
    attributes.insert(attributes.end(), {{Attr::direction, r.direction}, {Attr::layout, r.layout}});
    return b.add_all(op, operands, attributes);
}

void add(CaseList& list, const std::string& name, const Recurrent& r) {
    list.add(name, [op = list.op(), r](CaseBuilder& b) {
        for (const TensorId result : add_node(b, op, r)) b.result(result);
    });
}

void add_common(CaseList& list) {
    add(list, "one", {1, 1, 1, 1});
    add(list, "no-steps", {0, 2, 3, 5});
    add(list, "no-steps-no-states", {0, 2, 3, 5, BP_DIRECTION_BIDIRECTIONAL, 0, true, false});
    add(list, "no-batch", {3, 0, 3, 5});
    add(list, "no-inputs", {3, 2, 0, 5});
    add(list, "no-units", {3, 2, 3, 0});
    add(list, "bare", {3, 2, 3, 5, BP_DIRECTION_FORWARD, 0, false, false});
    add(list, "one-step", {1, 3, 7, 17});
    add(list, "one-unit", {9, 2, 3, 1});
    for (const int64_t hidden : {4, 16, 31, 33, 64}) add(list, "units-" + std::to_string(hidden), {5, 3, 4, hidden});
    for (const int64_t batch : {1, 2, 4, 7, 29}) add(list, "batch-" + std::to_string(batch), {4, batch, 6, 19});
    for (const auto& [direction, word] : {Named{BP_DIRECTION_FORWARD, "forward"}, Named{BP_DIRECTION_REVERSE, "reverse"},
                                          Named{BP_DIRECTION_BIDIRECTIONAL, "bidirectional"}})
        for (const int64_t layout : {0, 1}) {
            const std::string name = std::string(word) + (layout == 0 ? "" : "-layout-1");
            Recurrent r{5, 4, 3, 11, direction, layout};
            add(list, name, r);
            r.lengths = {0, 5, 1, 3};
            add(list, name + "-lengths", r);
            r.states = false;
            r.lengths_dtype = DType::i64;
            add(list, name + "-lengths-no-states", r);
        }
    add(list, "all-lengths-zero", {3, 2, 3, 5, BP_DIRECTION_BIDIRECTIONAL, 0, true, true, false, {0, 0}});
    add(list, "clip", {4, 2, 3, 6, BP_DIRECTION_FORWARD, 0, true, true, false, {}, {{Attr::clip, 0.5}}});
    add(list, "hidden-size", {4, 2, 3, 6, BP_DIRECTION_FORWARD, 0, true, true, false, {}, {{Attr::hidden_size, 6}}});
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
        Recurrent r{4, 3, 5, 18, BP_DIRECTION_BIDIRECTIONAL};
        r.dtype = dtype;
        add(list, name_of(dtype), r);
        r.lengths = {2, 0, 4};
        r.layout = 1;
        add(list, std::string(name_of(dtype)) + "-lengths-layout-1", r);
    }
    for (const DType weights : {DType::f16, DType::bf16})
        for (const int64_t batch : {1, 5}) {
            Recurrent r{4, batch, 5, 18};
            r.weights = weights;
            add(list, std::string("f32-by-") + name_of(weights) + "-batch-" + std::to_string(batch), r);
        }
    for (const Source source : {Source::input, Source::constant, Source::transposed, Source::strided}) {
        Recurrent r{3, 2, 4, 9};
        r.source = source;
        add(list, graph::name_of(source), r);
    }
    add(list, "640-units", {3, 1, 33, 640});
    add(list, "long", {97, 2, 8, 24, BP_DIRECTION_BIDIRECTIONAL});
    // One result alone, and one that is read on.
    list.add("state-alone", [op = list.op()](CaseBuilder& b) { b.result(add_node(b, op, {})[1]); });
    list.add("sequence-alone", [op = list.op()](CaseBuilder& b) { b.result(add_node(b, op, {})[0]); });
    list.add("read-on", [op = list.op()](CaseBuilder& b) {
        const std::vector<TensorId> all = add_node(b, op, {});
        b.result(b.add(Op::relu, {all[0]}));
        b.result(b.add(Op::neg, {all[1]}));
    });
}

}  // namespace recurrent

}  // namespace backplane::graph
