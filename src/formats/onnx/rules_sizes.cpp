// Operators whose results are as large as the values of their operands make them. Sizes in a graph do not depend on values: these are taken where the values
// that decide are known when the graph is made, constants and what follows from sizes and from inputs whose content is known.
#include <algorithm>
#include <cmath>
#include <limits>
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

// The sides of a box, from the least corner on.
struct Box {
    float top, left, bottom, right;

    // Two opposite corners, y first, or the centre, x first, and width and height.
    Box(const double* from, bool centre) {
        const auto v = [&](int i) { return static_cast<float>(from[i]); };
        const float y[] = {centre ? v(1) - v(3) / 2 : v(0), centre ? v(1) + v(3) / 2 : v(2)};
        const float x[] = {centre ? v(0) - v(2) / 2 : v(1), centre ? v(0) + v(2) / 2 : v(3)};
        top = std::min(y[0], y[1]), bottom = std::max(y[0], y[1]), left = std::min(x[0], x[1]), right = std::max(x[0], x[1]);
    }
    [[nodiscard]] float area() const { return (bottom - top) * (right - left); }
    // By more than a part of what the two cover together. In float32, as the models that chose the limit have it.
    [[nodiscard]] bool overlaps(const Box& other, float limit) const {
        const float height = std::min(bottom, other.bottom) - std::max(top, other.top);
        const float width = std::min(right, other.right) - std::max(left, other.left);
        if (!(height > 0 && width > 0)) return false;
        const float both = height * width, together = area() + other.area() - both;
        return together > 0 && both / together > limit;
    }
};

// The best box of a class, and so on, of those that overlap no better one too much.
std::vector<int64_t> suppressed(const std::vector<Box>& boxes, const double* scores, int64_t most, double limit,
                                double least) {
    std::vector<int64_t> order, kept;
    for (size_t i = 0; i < boxes.size(); ++i)
        if (scores[i] > least) order.push_back(static_cast<int64_t>(i));
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
    for (const int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
            return boxes[at(k)].overlaps(boxes[at(i)], static_cast<float>(limit));
        });
        if (!covered) kept.push_back(i);
    }
    return kept;
}

void non_max_suppression(OnnxCall& call) {
    const std::vector<double> boxes = deciding(call, 0), scores = deciding(call, 1);
    const Shape of = call.shape(0), by = call.shape(1);
    if (of.size() != 3 || by.size() != 3 || of[2] != 4 || of[0] != by[0] || of[1] != by[2])
        call.refuse("boxes and scores of shapes that do not fit: [N, B, 4] and [N, classes, B]");
    const int64_t most = call.given(2) ? call.one_integer(2) : 0;
    const double limit = call.given(3) ? call.one_number(3) : 0;
    const double least = call.given(4) ? call.one_number(4) : -std::numeric_limits<double>::infinity();
    const bool centre = call.integer("center_point_box", 0) != 0;
    std::vector<int64_t> chosen;
    for (int64_t n = 0; n < of[0]; ++n) {
        std::vector<Box> of_batch;
        for (int64_t i = 0; i < of[1]; ++i) of_batch.emplace_back(boxes.data() + (n * of[1] + i) * 4, centre);
        for (int64_t c = 0; c < by[1]; ++c)
            for (const int64_t i : suppressed(of_batch, scores.data() + (n * by[1] + c) * of[1], most, limit, least))
                chosen.insert(chosen.end(), {n, c, i});
    }
    call.result(onnx_integers(chosen, {static_cast<int64_t>(chosen.size()) / 3, 3}));
}

constexpr OnnxRuleRow kSizesRules[] = {
    {"NonZero", non_zero}, {"Compress", compress}, {"Unique", unique}, {"NonMaxSuppression", non_max_suppression}};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_sizes() { return kSizesRules; }

}  // namespace backplane::formats
