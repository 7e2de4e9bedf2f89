// Operators whose results are as large as the values of their operands make them. Sizes in a graph do not depend on values: these are taken where the values
// that decide are known when the graph is made, constants and what follows from sizes and from inputs whose content is known.
#include <algorithm>
#include <cmath>
#include <map>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

std::vector<double> deciding(const OnnxCall& call, size_t i) {
    if (!call.is_known(i)) call.refuse(std::string(why_no_op(call.node.op)));
    return call.numbers(i);
}

void non_zero(OnnxCall& call) {
    const std::vector<double> values = deciding(call, 0);
    const Shape& shape = call.shape(0);
    std::vector<int64_t> found;
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i] != 0) found.push_back(static_cast<int64_t>(i));
    const auto count = static_cast<int64_t>(found.size());
    std::vector<int64_t> positions;  // of each axis in turn
    int64_t step = elements(shape);
    for (const int64_t extent : shape) {
        step /= std::max<int64_t>(extent, 1);
        for (const int64_t flat : found) positions.push_back(flat / step % extent);
    }
    call.result(onnx_integers(positions, {call.rank(0), count}));
}

void compress(OnnxCall& call) {
    const std::vector<double> condition = deciding(call, 1);
    const bool flat = !call.has("axis");
    const int64_t axis = flat ? 0 : call.axis(call.integer("axis", 0), call.rank(0));
    const TensorId from = flat ? call.reshaped(call.in(0), {elements(call.shape(0))}) : call.in(0);
    const int64_t extent = call.shape_of(from)[at(axis)];
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < std::min<int64_t>(extent, static_cast<int64_t>(condition.size())); ++i)
        if (condition[at(i)] != 0) positions.push_back(i);
    call.result(call.picked(from, positions, axis));
}

// What is told apart: elements, or slices along an axis, each in the order of memory.
using Items = std::vector<std::vector<double>>;

Items items_of(const std::vector<double>& values, const Shape& shape, int64_t axis) {
    const int64_t before = elements({shape.begin(), shape.begin() + axis});
    const int64_t after = elements({shape.begin() + axis + 1, shape.end()});
    Items items(at(shape[at(axis)]));
    for (size_t i = 0; i < items.size(); ++i)
        for (int64_t b = 0; b < before; ++b) {
            const auto first = values.begin() + (b * shape[at(axis)] + static_cast<int64_t>(i)) * after;
            items[i].insert(items[i].end(), first, first + after);
        }
    return items;
}

void unique(OnnxCall& call) {
    const std::vector<double> values = deciding(call, 0);
    if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
        call.refuse("of numbers that are none, which no order has a place for");
    const bool flat = !call.has("axis");
    const int64_t axis = flat ? 0 : call.axis(call.integer("axis", 0), call.rank(0));
    const Shape shape = flat ? Shape{elements(call.shape(0))} : call.shape(0);
    const Items items = items_of(values, shape, axis);
    std::map<std::vector<double>, int64_t> found;  // and where each was first
    for (size_t i = 0; i < items.size(); ++i) found.emplace(items[i], static_cast<int64_t>(i));
    std::vector<int64_t> first;
    for (const auto& [item, where] : found) first.push_back(where);
    if (call.integer("sorted", 1) == 0) std::sort(first.begin(), first.end());
    std::map<int64_t, int64_t> place;
    for (size_t k = 0; k < first.size(); ++k) place[first[k]] = static_cast<int64_t>(k);
    std::vector<int64_t> inverse, counts(first.size());
    for (const std::vector<double>& item : items) {
        inverse.push_back(place.at(found.at(item)));
        ++counts[at(inverse.back())];
    }
    const auto count = static_cast<int64_t>(first.size());
    call.result(call.picked(flat ? call.reshaped(call.in(0), shape) : call.in(0), first, axis));
    call.result(onnx_integers(first, {count}), 1);
    call.result(onnx_integers(inverse, {static_cast<int64_t>(inverse.size())}), 2);
    call.result(onnx_integers(counts, {count}), 3);
}

constexpr OnnxRuleRow kSizesRules[] = {{"NonZero", non_zero}, {"Compress", compress}, {"Unique", unique}};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_sizes() { return kSizesRules; }

}  // namespace backplane::formats
