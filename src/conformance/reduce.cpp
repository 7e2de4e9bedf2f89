#include "conformance/reduce.hpp"

#include <algorithm>
#include <cmath>

namespace backplane::graph {

namespace {

using Axes = std::vector<int64_t>;

struct ReduceCase {
    Shape x;
    Axes axes;
    int keepdims = 1;
    DType dtype = DType::f32;
    Source source = Source::input;
    Values values = usual_values(dtype);
};

std::string name_of(const ReduceCase& c) {
    std::string name = text_of(c.x) + (c.axes.empty() ? "-all" : "-axes-");
    for (const int64_t axis : c.axes) name += std::to_string(axis);
    if (c.keepdims == 0) name += "-dropped";
    return name + "-" + backplane::name_of(c.dtype);
}

void add(CaseList& list, const std::string& name, const ReduceCase& c) {
    list.add(name, [c, op = list.op()](CaseBuilder& b) {
        b.result(
            b.add(op, {b.operand(c.source, c.dtype, c.x, c.values)}, {{Attr::axes, c.axes}, {Attr::keepdims, c.keepdims}}));
    });
}

void add(CaseList& list, const ReduceCase& c) { add(list, name_of(c), c); }

// The values that the plan has for floats.
ReduceCase with(const ReducePlan& plan, ReduceCase c) {
    if (is_float(c.dtype)) c.values = plan.floats;
    return c;
}

// Every set of axes of a tensor of rank 4, kept and dropped.
void every_axis_set(CaseList& list, const ReducePlan& plan) {
    for (int set = 0; set < 16; ++set) {
        Axes axes;
        for (int axis = 0; axis < 4; ++axis)
            if ((set >> axis & 1) != 0) axes.push_back(axis);
        for (const int keepdims : {1, 0}) add(list, with(plan, {{2, 3, 5, 7}, axes, keepdims}));
    }
}

void special(CaseList& list) {
    for (const DType dtype : kFloatsAndDoubles) {
        const Values values{-1, 1, {0.0, -0.0, kInfinity, 1.0, -kInfinity, 0.0, kNaN, 1.0, 2.0, kInfinity, -kInfinity, 3.0}};
        add(list, std::string("special-rows-") + backplane::name_of(dtype), {{9, 2}, {1}, 1, dtype, Source::input, values});
        add(list, std::string("special-columns-") + backplane::name_of(dtype),
            {{2, 67}, {0}, 1, dtype, Source::input, values});
    }
}

}  // namespace

void reduce_cases(CaseList& list, const ReducePlan& plan) {
    every_axis_set(list, plan);
    for (const auto& [shape, axes] : std::vector<std::pair<Shape, Axes>>{{{}, {}},
                                                                         {{1}, {0}},
                                                                         {{17}, {0}},
                                                                         {{4099}, {0}},
                                                                         {{3, 1009}, {1}},
                                                                         {{1009, 3}, {0}},
                                                                         {{1, 17, 9, 11}, {2, 3}},
                                                                         {{2, 16, 5, 3}, {1}},
                                                                         {{0, 3}, {1}},
                                                                         {{1, 2, 3, 1, 2, 3, 1, 5}, {1, 4, 7}}}) {
        add(list, with(plan, {shape, axes, 0}));
        for (const DType dtype : {DType::f16, DType::bf16, DType::i32, DType::i64})
            if (plan.integers || is_float(dtype)) add(list, with(plan, {shape, axes, 1, dtype}));
    }
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64})
        if (plan.integers || is_float(dtype)) add(list, with(plan, {{3, 5, 7}, {1}, 0, dtype}));
    for (const Axes& axes : {Axes{}, Axes{0}, Axes{1, 3}, Axes{0, 2}, Axes{2, 3}})
        add(list, with(plan, {{2, 3, 5, 7}, axes, 1, DType::f64}));
    add(list, with(plan, {{}, {}, 0, DType::f64}));
    add(list, "transposed-f64", with(plan, {{3, 5, 7}, {0, 2}, 0, DType::f64, Source::transposed}));
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        for (const Axes& axes : {Axes{0}, Axes{2}, Axes{0, 2}})
            add(list, std::string(graph::name_of(source)) + "-" + name_of({{3, 5, 7}, axes}),
                with(plan, {{3, 5, 7}, axes, 1, DType::f32, source}));
    if (plan.wide) {
        add(list, "one-sign", {{3, 257}, {1}, 1, DType::f32, Source::input, {1, 2}});
        add(list, "cancels", {{3, 256}, {1}, 1, DType::f32, Source::input, {-1000, 1000}});
    }
    if (plan.empties)
        for (const auto& [shape, axes] : std::vector<std::pair<Shape, Axes>>{{{0}, {0}}, {{3, 0}, {1}}, {{0, 3}, {}}})
            for (const DType dtype : {DType::f32, DType::f64}) add(list, {shape, axes, 0, dtype});
    if (plan.special) special(list);
}

double terms_of(const BoundCall& call) {
    const size_t terms = call.inputs[0]->data.size() / std::max<size_t>(1, call.output.data.size());
    return static_cast<double>(terms);
}

std::vector<double> reduced_sum(const BoundCall& call) { return bounds::sum(call, terms_of(call)); }

std::vector<double> reduced_relative(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    if (!is_float(call.output.dtype)) return {};
    std::vector<double> bound = call.output.data;
    for (double& b : bound) b = std::fabs(b) * bounds::units_of_sum(terms_of(call)) * call.unit;
    return bound;
}

}  // namespace backplane::graph
