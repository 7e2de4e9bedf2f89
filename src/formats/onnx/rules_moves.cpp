// Operators that move elements, and those that make constants.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

void constant(OnnxCall& call) {
    if (const OnnxAttribute* value = call.attribute("value")) {
        if (!value->tensor) call.refuse("of a type that graphs do not have");
        return call.result(*value->tensor);
    }
    const std::vector<int64_t> whole = call.has("value_ints") ? call.list("value_ints") : call.list("value_int");
    if (!whole.empty())
        return call.result(
            onnx_integers(whole, call.has("value_int") ? Shape{} : Shape{static_cast<int64_t>(whole.size())}));
    const OnnxAttribute* numbers = call.has("value_float") ? call.attribute("value_float") : call.attribute("value_floats");
    if (numbers == nullptr) call.refuse("of a type that graphs do not have");
    const auto count = static_cast<int64_t>(numbers->numbers.size());
    call.result(onnx_tensor(DType::f32, call.has("value_float") ? Shape{} : Shape{count}, numbers->numbers));
}

void constant_of_shape(OnnxCall& call) {
    OnnxTensor one = onnx_tensor(DType::f32, {}, std::vector<double>{0});
    if (const OnnxAttribute* value = call.attribute("value")) {
        if (!value->tensor) call.refuse("of a type that graphs do not have");
        one = *value->tensor;
    }
    one.shape = {};
    call.result(call.add(Op::expand, {onnx_constant(call.graph, one)}, {{Attr::shape, call.integers(0)}}));
}

void shape(OnnxCall& call) {
    const int64_t rank = call.rank(0);
    const auto bound = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
    const int64_t start = bound(call.integer("start", 0));
    const int64_t end = std::max(start, bound(call.integer("end", rank)));
    const Shape& of = call.shape(0);
    call.result(onnx_integers({of.begin() + start, of.begin() + end}, {end - start}));
}

void size(OnnxCall& call) { call.result(onnx_integers({elements(call.shape(0))}, {})); }

void reshape(OnnxCall& call) {
    const Shape& from = call.shape(0);
    std::vector<int64_t> to = call.list_or_input("shape", 1);
    const bool zeros = call.integer("allowzero", 0) != 0;
    for (size_t d = 0; d < to.size(); ++d)
        if (to[d] == 0 && !zeros) to[d] = d < from.size() ? from[d] : 0;
    call.result(call.reshaped(call.in(0), to));
}

void flatten(OnnxCall& call) {
    const Shape& shape = call.shape(0);
    const int64_t written = call.integer("axis", 1);
    const int64_t axis = written == call.rank(0) ? written : call.axis(written, call.rank(0));
    const int64_t rows = elements({shape.begin(), shape.begin() + axis});
    call.result(call.reshaped(call.in(0), {rows, elements({shape.begin() + axis, shape.end()})}));
}

void squeeze(OnnxCall& call) {
    const Shape& from = call.shape(0);
    std::vector<int64_t> axes = call.list_or_input("axes", 1);
    for (int64_t& axis : axes) axis = call.axis(axis, call.rank(0));
    Shape to;
    for (size_t d = 0; d < from.size(); ++d) {
        const bool named = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
        if (axes.empty() ? from[d] != 1 : !named) to.push_back(from[d]);
    }
    call.result(call.reshaped(call.in(0), to));
}

void unsqueeze(OnnxCall& call) {
    std::vector<int64_t> axes = call.list_or_input("axes", 1);
    const auto rank = call.rank(0) + static_cast<int64_t>(axes.size());
    for (int64_t& axis : axes) axis = call.axis(axis, rank);
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) call.refuse("an axis twice");
    Shape to = call.shape(0);
    for (const int64_t axis : axes) to.insert(to.begin() + axis, 1);
    call.result(call.reshaped(call.in(0), to));
}

void expand(OnnxCall& call) {
    Shape to = call.integers(1);
    const Shape& from = call.shape(0);
    if (to.size() < from.size()) to.insert(to.begin(), from.size() - to.size(), 1);
    const size_t before = to.size() - from.size();  // an extent of 1 leaves that of x
    for (size_t d = 0; d < from.size(); ++d)
        if (to[before + d] == 1) to[before + d] = from[d];
    call.result(call.add(Op::expand, {call.in(0)}, {{Attr::shape, to}}));
}

void tile(OnnxCall& call) { call.result(call.add(Op::tile, {call.in(0)}, {{Attr::repeats, call.integers(1)}})); }

// The positions start, start + step, ... down to the one before end, clamped to the axis as ONNX has it for steps below 0: a start before it is its first
// element, where numpy has none.
std::vector<int64_t> backwards(int64_t start, int64_t end, int64_t step, int64_t size) {
    if (size == 0) return {};
    const auto from_front = [&](int64_t v, int64_t least) {
        return std::clamp<int64_t>(v < 0 ? std::max(v, -size - 1) + size : v, least, size - 1);
    };
    std::vector<int64_t> positions;
    step = std::max(step, -size);  // one position, whatever the step
    for (int64_t i = from_front(start, 0); i > from_front(end, -1); i += step) positions.push_back(i);
    return positions;
}

constexpr int64_t kMostPicked = 1 << 24;  // positions that are written down one by one

void slice(OnnxCall& call) {
    const Shape& shape = call.shape(0);
    const std::vector<int64_t> from = call.list_or_input("starts", 1), to = call.list_or_input("ends", 2);
    std::vector<int64_t> axes = call.list_or_input("axes", 3);
    const std::vector<int64_t> by = call.given(4) ? call.integers(4) : std::vector<int64_t>(from.size(), 1);
    if (axes.empty()) {
        axes.resize(from.size());
        std::iota(axes.begin(), axes.end(), 0);
    }
    if (to.size() != from.size() || axes.size() != from.size() || by.size() != from.size())
        call.refuse("lists of several lengths");
    std::vector<int64_t> starts(shape.size(), 0), ends = shape, steps(shape.size(), 1);
    TensorId result = call.in(0);
    for (size_t i = 0; i < axes.size(); ++i) {
        const int64_t axis = call.axis(axes[i], call.rank(0));
        const size_t d = at(axis);
        const auto bound = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + shape[d] : v, 0, shape[d]); };
        if (by[i] == 0) call.refuse("a step of 0");
        if (by[i] < 0 && shape[d] > kMostPicked) call.refuse("backwards along " + std::to_string(shape[d]) + " elements");
        if (by[i] < 0) {
            const std::vector<int64_t> positions = backwards(from[i], to[i], by[i], shape[d]);
            result = call.picked(result, positions, axis);
            ends[d] = static_cast<int64_t>(positions.size());
            continue;
        }
        starts[d] = bound(from[i]);
        ends[d] = std::max(starts[d], bound(to[i]));
        steps[d] = by[i];
    }
    call.result(call.add(Op::slice, {result}, {{Attr::starts, starts}, {Attr::ends, ends}, {Attr::steps, steps}}));
}

void split(OnnxCall& call) {
    const int64_t axis = call.axis(call.integer("axis", 0), call.rank(0));
    std::vector<int64_t> sizes = call.list_or_input("split", 1);
    const auto parts = static_cast<int64_t>(call.node.outputs.size());
    static_cast<void>(call.integer("num_outputs", parts));
    if (sizes.empty() && parts > 0) {
        const int64_t whole = call.shape(0)[at(axis)], part = (whole + parts - 1) / parts;
        for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(whole - i * part, 0, part));
    }
    const TensorId from[] = {call.in(0)};
    const std::vector<TensorId> made = call.graph.add_all(Op::split, from, {{Attr::axis, axis}, {Attr::sizes, sizes}});
    for (size_t i = 0; i < made.size(); ++i) call.result(made[i], i);
}

// Matrices and lists that are made here, element by element.
constexpr int64_t kMostMade = 1 << 24;
void check_made(const OnnxCall& call, int64_t rows, int64_t columns) {
    if (elements({rows, columns}) > kMostMade) call.refuse("of " + std::to_string(rows) + " x " + std::to_string(columns));
}

// What is before and behind some axes, as that of all of them.
std::vector<int64_t> of_all_axes(const OnnxCall& call, const std::vector<int64_t>& pads, const std::vector<int64_t>& axes) {
    if (pads.size() != 2 * axes.size()) call.refuse("lists of several lengths");
    std::vector<int64_t> all(at(2 * call.rank(0)), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
        const int64_t axis = call.axis(axes[i], call.rank(0));
        all[at(axis)] = pads[i];
        all[at(axis + call.rank(0))] = pads[axes.size() + i];
    }
    return all;
}

constexpr int64_t kMostPad = int64_t{1} << 40;

// What pads below 0 take off; they are 0 then.
TensorId cropped(OnnxCall& call, TensorId x, std::vector<int64_t>& pads) {
    const Shape& shape = call.shape(0);
    const bool crops = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; });
    if (pads.size() != 2 * shape.size() || !crops) return x;
    std::vector<int64_t> starts, ends;
    for (size_t d = 0; d < shape.size(); ++d) {
        int64_t &before = pads[d], &behind = pads[d + shape.size()];
        starts.push_back(-std::min<int64_t>(before, 0));
        ends.push_back(shape[d] + std::min<int64_t>(behind, 0));
        if (starts.back() > ends.back()) call.refuse("of " + std::to_string(shape[d]) + " elements less than it has");
        before = std::max<int64_t>(before, 0);
        behind = std::max<int64_t>(behind, 0);
    }
    return call.add(Op::slice, {x}, {{Attr::starts, starts}, {Attr::ends, ends}});
}

// Its elements over and over.
TensorId wrapped(OnnxCall& call, TensorId x, const std::vector<int64_t>& pads) {
    const Shape shape = call.shape_of(x);
    for (size_t d = 0; d < shape.size(); ++d) {
        const int64_t before = pads[d], behind = pads[d + shape.size()], extent = shape[d];
        if (before == 0 && behind == 0) continue;
        if (extent == 0) call.refuse("mode wrap of nothing");
        std::vector<int64_t> positions(at(before + extent + behind));
        for (size_t i = 0; i < positions.size(); ++i)
            positions[i] = ((static_cast<int64_t>(i) - before) % extent + extent) % extent;
        x = call.picked(x, positions, static_cast<int64_t>(d));
    }
    return x;
}

void pad(OnnxCall& call) {
    const std::string mode = call.text("mode", "constant");
    std::vector<int64_t> pads = call.list_or_input("pads", 1);
    if (call.given(3)) pads = of_all_axes(call, pads, call.integers(3));
    const double value = call.given(2) ? call.one_number(2) : call.number("value", 0);
    for (const int64_t one : pads)
        if (one < -kMostPad || one > kMostPad) call.refuse("pads of " + std::to_string(one));
    const TensorId x = cropped(call, call.in(0), pads);
    if (mode == "wrap" && pads.size() == 2 * call.shape(0).size()) {
        for (size_t d = 0; d < call.shape(0).size(); ++d) check_made(call, 1, pads[d] + pads[d + call.shape(0).size()]);
        const TensorId result = wrapped(call, x, pads);
        return call.result(result == call.in(0) ? call.reshaped(result, call.shape(0)) : result);
    }
    const int number = mode == "constant" ? BP_PAD_CONSTANT : mode == "edge" ? BP_PAD_EDGE : BP_PAD_REFLECT;
    if (number == BP_PAD_REFLECT && mode != "reflect") call.refuse("mode " + mode);
    call.result(call.add(Op::pad, {x}, {{Attr::pads, pads}, {Attr::mode, number}, {Attr::value, value}}));
}

void depth_to_space(OnnxCall& call) {
    const int mode = call.text("mode", "DCR") == "CRD" ? BP_DTS_CRD : BP_DTS_DCR;
    call.result(
        call.add(Op::depth_to_space, {call.in(0)}, {{Attr::blocksize, call.integer("blocksize", 0)}, {Attr::mode, mode}}));
}

void one_hot(OnnxCall& call) {
    TensorId indices = call.in(0);
    if (is_float(call.dtype(0))) indices = call.as(indices, DType::i64);
    // ONNX lets the depth be of any type.
    const double depth = call.one_number(1);
    if (!(depth >= 0 && depth < 0x1p53)) call.refuse("a depth of " + std::to_string(depth));
    call.result(call.add(Op::one_hot, {indices, call.in(2)},
                         {{Attr::depth, static_cast<int64_t>(depth)}, {Attr::axis, call.integer("axis", -1)}}));
}

void range(OnnxCall& call) {
    const double start = call.one_number(0), limit = call.one_number(1), delta = call.one_number(2);
    const double count = std::ceil((limit - start) / delta);
    if (!(count < 1e9)) call.refuse("of no length");
    call.result(call.add(Op::range, {call.in(0), call.in(2)}, {{Attr::count, static_cast<int64_t>(std::max(count, 0.0))}}));
}

void dropout(OnnxCall& call) {
    static_cast<void>(call.number("ratio", 0));
    static_cast<void>(call.integer("seed", 0));
    const bool trains = call.opset >= 12 && call.given(2) && call.one_number(2) != 0;
    if (trains && (!call.given(1) || call.one_number(1) != 0)) call.refuse("training_mode 1");
    call.result(call.reshaped(call.in(0), call.shape(0)));
    if (call.wants(1))
        call.result(call.add(Op::expand, {call.scalar(1, DType::boolean)}, {{Attr::shape, call.shape(0)}}), 1);
}

// What is kept of a matrix, row by row: in column i + k or right of it, or in i + k or left of it.
OnnxTensor triangle(int64_t rows, int64_t columns, bool upper, int64_t k) {
    std::vector<double> keep;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) keep.push_back((upper ? j - i >= k : j - i <= k) ? 1 : 0);
    return onnx_tensor(DType::boolean, {rows, columns}, keep);
}

void trilu(OnnxCall& call) {
    const Shape& shape = call.shape(0);
    if (shape.size() < 2) call.refuse("of fewer than two axes");
    const int64_t k = call.given(1) ? call.one_integer(1) : 0;
    check_made(call, shape[shape.size() - 2], shape.back());
    const OnnxTensor keep = triangle(shape[shape.size() - 2], shape.back(), call.integer("upper", 1) != 0, k);
    call.result(call.add(Op::where, {onnx_constant(call.graph, keep), call.in(0), call.scalar(0, call.dtype(0))}));
}

void eye_like(OnnxCall& call) {
    const Shape& shape = call.shape(0);
    if (shape.size() != 2) call.refuse("of another number of axes than two");
    const DType dtype = call.has("dtype") ? dtype_of_onnx(call.integer("dtype", 0)) : call.dtype(0);
    if (dtype == DType::unknown) call.refuse("of a type that graphs do not have");
    const int64_t k = call.integer("k", 0);
    check_made(call, shape[0], shape[1]);
    std::vector<double> values;
    for (int64_t i = 0; i < shape[0]; ++i)
        for (int64_t j = 0; j < shape[1]; ++j) values.push_back(j - i == k ? 1 : 0);
    call.result(onnx_tensor(dtype, shape, values));
}

constexpr OnnxRuleRow kMovesRules[] = {
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"Shape", shape},
    {"Size", size},
    {"Reshape", reshape},
    {"Flatten", flatten},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
    {"Expand", expand},
    {"Tile", tile},
    {"Slice", slice},
    {"Split", split},
    {"Pad", pad},
    {"DepthToSpace", depth_to_space},
    {"SpaceToDepth", onnx_same},
    {"OneHot", one_hot},
    {"Range", range},
    {"Dropout", dropout},
    {"Trilu", trilu},
    {"EyeLike", eye_like},
    {"Concat", onnx_same},
    {"Transpose", onnx_same},
    {"Gather", onnx_same},
    {"GatherElements", onnx_same},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_moves() { return kMovesRules; }

}  // namespace backplane::formats
