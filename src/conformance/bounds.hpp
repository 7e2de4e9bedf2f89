// Rules for error bounds that ops share. `unit` is the rounding unit of the arithmetic (BoundCall). Reasons: docs/conformance.md.
#pragma once

#include <cmath>
#include <vector>

#include "conformance/conformance.hpp"

namespace backplane::graph::bounds {

// Units a chain of n additions in any order may lose, of the sum of magnitudes. Errors of a sum grow as the root of its length;
// the first part covers transforms such as Winograd's, and sums of few terms.
double units_of_sum(double terms);

// How far the result moves when the inputs move by their errors and by `backward` units of themselves. Empty: not at all.
std::vector<double> moved(const BoundCall& call, int backward);

// The largest of |result|, |first input| or 1, as a rule wants its scale.
enum class Scale { result, input, one };

// The elements go where the op sends them, and their errors with them.
std::vector<double> moves(const BoundCall& call);

// Each result is `forward` units of its scale away from what inputs `backward` units away give. No units: exact.
std::vector<double> each(const BoundCall& call, int forward, int backward, Scale scale);

template <int forward, int backward = 0, Scale scale = Scale::result>
std::vector<double> rounded(const BoundCall& call) {
    return each(call, forward, backward, scale);
}
constexpr BoundRule exact = rounded<0>;

// Of f32 and f64 the number nearest to the result, of two the even one; of the other floats, and where inputs are off, 2 units.
std::vector<double> nearest(const BoundCall& call);

// Of an op that is a sum of `terms` products or inputs: units_of_sum of the sum of magnitudes. The op is evaluated on magnitudes.
std::vector<double> sum(const BoundCall& call, double terms);

// How far the finite elements lie apart, and the largest of their magnitudes.
double spread_of(const ReferenceTensor& x);
double most_of(const ReferenceTensor& x);

// Throws Error(internal): for rules that take exact inputs only, which the cases of their op keep to.
void require_exact_inputs(const BoundCall& call);

// (x - mean) * factor * scale[p] + bias[p], mean and factor over runs of n elements, p = parameter(position).
template <typename Parameter>
std::vector<double> normalised(const BoundCall& call, size_t n, double epsilon, Parameter&& parameter) {
    require_exact_inputs(call);
    const std::vector<double>& x = call.inputs[0]->data;
    std::vector<double> bound(x.size());
    const auto size_at = [&](size_t input, size_t at, double otherwise) {
        return call.inputs[input] != nullptr ? std::fabs(call.inputs[input]->data[at]) : otherwise;
    };
    for (size_t first = 0; first < x.size(); first += n) {
        double mean = 0, size = 0, variance = 0;
        for (size_t i = first; i < first + n; ++i) mean += x[i];
        mean /= static_cast<double>(n);
        for (size_t i = first; i < first + n; ++i) {
            variance += (x[i] - mean) * (x[i] - mean);
            size += std::fabs(x[i]);
        }
        const double factor = 1.0 / std::sqrt(variance / static_cast<double>(n) + epsilon);
        for (size_t i = first; i < first + n; ++i)
            bound[i] = units_of_sum(static_cast<double>(n)) * call.unit *
                       ((std::fabs(x[i]) + size / static_cast<double>(n)) * factor * size_at(1, parameter(i), 1.0) +
                        size_at(2, parameter(i), 0.0));
    }
    return bound;
}

// (x - mean) * factor * scale[c] + bias[c] of maps x[N, C, ...], mean and factor over groups of channels.
std::vector<double> normalised_maps(const BoundCall& call, size_t groups);

}  // namespace backplane::graph::bounds
