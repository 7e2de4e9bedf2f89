// ReduceLogSumExp: of nothing -infinity. e^(x - m) costs units of x - m, the sum its own.
#include <cmath>

#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_log_sum_exp {

namespace {

// What the sum of e^(x - m) loses of itself, an absolute error of its logarithm.
std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    const double sum = bounds::units_of_sum(terms_of(call)) + 4 * (bounds::spread_of(*call.inputs[0]) + 2);
    std::vector<double> result(call.output.data.size());
    for (size_t i = 0; i < result.size(); ++i)
        result[i] = (sum + 4 * (std::fabs(call.output.data[i]) + bounds::most_of(*call.inputs[0]))) * call.unit;
    return result;
}

void cases(CaseList& list) {
    reduce_cases(list, {.empties = true, .special = true, .integers = false, .floats = {-4, 4}, .wide = false});
    const auto add = [&](const std::string& name, const Shape& shape, int64_t axis, const Values& values) {
        list.add(name, [=](CaseBuilder& b) {
            b.result(b.add(Op::reduce_log_sum_exp, {b.input(DType::f32, shape, values)},
                           {{Attr::axes, std::vector<int64_t>{axis}}}));
        });
    };
    add("large-logits", {3, 37}, 1, {900, 1000});
    add("small-logits", {37, 3}, 0, {-1000, -900});
    add("minus-infinity", {2, 19}, 1, {-1, 1, {-kInfinity, 0, -kInfinity, 1, -kInfinity}});
    add("minus-infinity-throughout", {2, 19}, 1, {-1, 1, std::vector<double>(19, -kInfinity)});
    add("infinity", {2, 19}, 1, {-1, 1, {0, kInfinity, -kInfinity}});
    add("long-row", {2, 5003}, 1, {-4, 4});
}

}  // namespace

constinit const OpConformance conformance_reduce_log_sum_exp{cases, bound};

}  // namespace backplane::graph::conformance::reduce_log_sum_exp
