#include "conformance/bounds.hpp"

#include <algorithm>
#include <limits>

#include "graph/evaluate.hpp"

namespace backplane::graph::bounds {

namespace {

using Inputs = std::vector<const ReferenceTensor*>;

std::vector<double> evaluated(const BoundCall& call, const Inputs& inputs, std::span<const Attribute> attributes) {
    return std::move(evaluate_node(call.definition, inputs, attributes, call.outputs)[call.which].data);
}

bool has_error(const BoundCall& call) {
    return std::any_of(call.errors.begin(), call.errors.end(), [](const ReferenceTensor* e) { return e != nullptr; });
}

ReferenceTensor magnitudes(const ReferenceTensor& x) {
    ReferenceTensor result = x;
    for (double& v : result.data) v = std::fabs(v);
    return result;
}

void add_to(std::vector<double>& sum, const std::vector<double>& more) {
    if (sum.empty()) sum.resize(more.size());
    for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

// The bound of each element of a [N, O, H, W] becomes the largest of its map: a transform spreads the rounding of a whole tile.
void spread_over_maps(std::vector<double>& bound, const Shape& shape) {
    const auto map = static_cast<size_t>(elements({shape.begin() + 2, shape.end()}));
    for (size_t first = 0; map != 0 && first < bound.size(); first += map) {
        const auto begin = bound.begin() + static_cast<ptrdiff_t>(first);
        const auto end = begin + static_cast<ptrdiff_t>(map);
        std::fill(begin, end, *std::max_element(begin, end));
    }
}

// What the errors of input k become: their sum, weighted as the op does, or thrice the root of the sum of squares where that is less,
// for the errors of different elements have nothing to do with each other.
std::vector<double> summed_errors(const BoundCall& call, Inputs inputs, size_t k) {
    inputs[k] = call.errors[k];
    if (call.definition.op() == Op::conv && inputs.size() > 2 && k != 2) inputs[2] = nullptr;
    std::vector<double> total = evaluated(call, inputs, call.attributes);
    std::vector<ReferenceTensor> squares;
    squares.reserve(inputs.size());
    for (const ReferenceTensor*& x : inputs) {
        if (x == nullptr) continue;
        squares.push_back(*x);
        for (double& v : squares.back().data) v *= v;
        x = &squares.back();
    }
    const std::vector<double> square = evaluated(call, inputs, call.attributes);
    // A mean divides by the count once where it should twice: too wide, never too narrow.
    for (size_t i = 0; i < total.size(); ++i) total[i] = std::min(total[i], 3 * std::sqrt(square[i]));
    return total;
}

}  // namespace

double units_of_sum(double terms) { return 8 + 2 * std::sqrt(terms); }

std::vector<double> moved(const BoundCall& call, int backward) {
    std::vector<double> total;
    Inputs inputs(call.inputs.begin(), call.inputs.end());
    for (size_t k = 0; k < inputs.size(); ++k) {
        const ReferenceTensor* x = call.inputs[k];
        if (x == nullptr || !is_float(x->dtype) || (call.errors[k] == nullptr && backward == 0)) continue;
        std::vector<double> most(call.output.data.size());
        for (const double sign : {1.0, -1.0}) {
            ReferenceTensor shifted = *x;
            for (size_t i = 0; i < shifted.data.size(); ++i) {
                const double error = call.errors[k] != nullptr ? call.errors[k]->data[i] : 0.0;
                shifted.data[i] += sign * (error + backward * call.unit * std::fabs(x->data[i]));
            }
            inputs[k] = &shifted;
            const std::vector<double> y = evaluated(call, inputs, call.attributes);
            for (size_t i = 0; i < y.size(); ++i) {
                const double far = std::fabs(y[i] - call.output.data[i]);
                if (std::isfinite(far)) most[i] = std::max(most[i], far);
            }
        }
        inputs[k] = x;
        add_to(total, most);
    }
    return total;
}

std::vector<double> moves(const BoundCall& call) {
    if (!has_error(call)) return {};
    Inputs inputs;
    std::vector<ReferenceTensor> none;
    none.reserve(call.inputs.size());
    for (size_t k = 0; k < call.inputs.size(); ++k) {
        const ReferenceTensor* x = call.inputs[k];
        if (call.errors[k] != nullptr) {
            x = call.errors[k];
        } else if (x != nullptr && is_float(x->dtype)) {
            none.push_back({x->shape, x->dtype, std::vector<double>(x->data.size())});
            x = &none.back();
        }
        inputs.push_back(x);
    }
    std::vector<Attribute> attributes = call.attributes;
    for (Attribute& a : attributes)
        if (a.id == Attr::value) a.value = 0.0;
    return evaluated(call, inputs, attributes);
}

std::vector<double> each(const BoundCall& call, int forward, int backward, Scale scale) {
    if (!is_float(call.output.dtype)) {
        if (has_error(call)) require_exact_inputs(call);
        return {};
    }
    std::vector<double> bound = moved(call, backward);
    if (forward == 0) return bound;
    bound.resize(call.output.data.size());
    for (size_t i = 0; i < bound.size(); ++i) {
        double size = std::fabs(call.output.data[i]);
        if (scale == Scale::one) size = std::max(size, 1.0);
        if (scale == Scale::input) size = std::max(size, std::fabs(call.inputs[0]->data[i]));
        if (!std::isfinite(size)) size = std::fabs(call.output.data[i]);
        bound[i] += forward * call.unit * size;
    }
    return bound;
}

std::vector<double> nearest(const BoundCall& call) {
    const DType dtype = call.output.dtype;
    const bool is_exact = !has_error(call) && (dtype == DType::f32 || dtype == DType::f64);
    return is_exact ? std::vector<double>{} : rounded<2>(call);
}

std::vector<double> sum(const BoundCall& call, double terms) {
    if (!is_float(call.output.dtype)) return {};
    std::vector<ReferenceTensor> sizes;
    sizes.reserve(call.inputs.size());
    Inputs inputs;
    for (const ReferenceTensor* x : call.inputs) {
        if (x != nullptr) sizes.push_back(magnitudes(*x));
        inputs.push_back(x != nullptr ? &sizes.back() : nullptr);
    }
    std::vector<double> bound = evaluated(call, inputs, call.attributes);
    for (double& b : bound) b *= units_of_sum(terms) * call.unit;
    if (call.definition.op() == Op::conv && !call.strict) spread_over_maps(bound, call.output.shape);
    for (size_t k = 0; k < inputs.size(); ++k)
        if (call.errors[k] != nullptr) add_to(bound, summed_errors(call, inputs, k));
    return bound;
}

double spread_of(const ReferenceTensor& x) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const double v : x.data) {
        if (!std::isfinite(v)) continue;
        least = std::min(least, v);
        most = std::max(most, v);
    }
    return most > least ? most - least : 0;
}

double most_of(const ReferenceTensor& x) {
    double most = 0;
    for (const double v : x.data)
        if (std::isfinite(v)) most = std::max(most, std::fabs(v));
    return most;
}

std::vector<double> normalised_maps(const BoundCall& call, size_t groups) {
    const Shape& x = call.inputs[0]->shape;
    const auto channels = static_cast<size_t>(x[1]);
    const auto map = static_cast<size_t>(elements(Shape(x.begin() + 2, x.end())));
    return normalised(call, channels / groups * map, AttributeView(call.attributes).number(Attr::epsilon),
                      [=](size_t i) { return i / map % channels; });
}

void require_exact_inputs(const BoundCall& call) {
    if (has_error(call))
        throw Error(Code::internal, std::string("the conformance table feeds ") + call.definition.name() +
                                        " what is not exact, and its bound rule does not take that");
}

}  // namespace backplane::graph::bounds
