// Operators that read and write at places which other tensors say, over Gather, GatherElements and ScatterND.
#include <algorithm>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

// 0 to n - 1 along an axis of a shape that has extents of 1 elsewhere.
TensorId counted(OnnxCall& call, int64_t n, size_t axis, size_t rank) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(i);
    Shape shape(rank, 1);
    shape[axis] = n;
    return onnx_constant(call.graph, onnx_integers(values, shape));
}

int64_t reduction_of(const OnnxCall& call) {
    constexpr std::string_view kReductions[] = {"none", "add", "mul", "max", "min"};  // in the order of BP_REDUCTION_*
    const std::string name = call.text("reduction", "none");
    const auto* found = std::find(std::begin(kReductions), std::end(kReductions), name);
    if (found == std::end(kReductions)) call.refuse("reduction " + name);
    return found - std::begin(kReductions);
}

void scatter_nd(OnnxCall& call) {
    call.result(call.add(Op::scatter_nd, {call.in(0), call.in(1), call.in(2)}, {{Attr::reduction, reduction_of(call)}}));
}

// Each element of updates goes where its own index says along the axis, and where it stands itself along all others.
void scatter_elements(OnnxCall& call) {
    const int64_t rank = call.rank(0);
    const int64_t axis = call.axis(call.integer("axis", 0), rank);
    const Shape shape = call.shape(1);
    if (shape.size() != at(rank) || shape != call.shape(2)) call.refuse("indices and updates of several shapes");
    Shape places = shape;
    places.push_back(1);
    std::vector<TensorId> components;
    for (int64_t d = 0; d < rank; ++d)
        components.push_back(
            d == axis ? call.reshaped(call.as(call.in(1), DType::i64), places)
                      : call.add(Op::expand, {counted(call, shape[at(d)], at(d), at(rank) + 1)}, {{Attr::shape, places}}));
    const TensorId all = call.graph.add(Op::concat, components, {{Attr::axis, rank}});
    call.result(call.add(Op::scatter_nd, {call.in(0), all, call.in(2)}, {{Attr::reduction, reduction_of(call)}}));
}

// Places of the data that several axes number become one number, by which rows are gathered.
void gather_nd(OnnxCall& call) {
    const Shape data = call.shape(0), indices = call.shape(1);
    const int64_t batch = call.integer("batch_dims", 0);
    if (indices.empty() || batch < 0 || batch >= static_cast<int64_t>(indices.size())) call.refuse("of such axes");
    const int64_t depth = indices.back();
    if (depth < 1 || batch + depth > static_cast<int64_t>(data.size())) call.refuse("of more axes than the data has");
    const auto extent = [&](int64_t from, int64_t to) { return elements({data.begin() + from, data.begin() + to}); };
    const TensorId all = call.as(call.in(1), DType::i64);
    const Shape result(indices.begin(), indices.end() - 1);
    TensorId place = no_tensor;
    for (int64_t d = 0; d < depth; ++d) {
        const int64_t size = data[at(batch + d)], stride = extent(batch + d + 1, batch + depth);
        TensorId one = call.reshaped(call.picked(all, {d}, static_cast<int64_t>(indices.size()) - 1), result);
        one = call.add(Op::mod, {one, call.scalar(static_cast<double>(size), DType::i64)});  // from the end below 0
        one = call.add(Op::mul, {one, call.scalar(static_cast<double>(stride), DType::i64)});
        place = place.valid() ? call.add(Op::add, {place, one}) : one;
    }
    const int64_t places = extent(batch, batch + depth);
    if (batch > 0) {
        Shape batches(result.begin(), result.begin() + batch);
        const int64_t count = elements(batches);
        batches.resize(result.size(), 1);
        const TensorId first = call.reshaped(counted(call, count, 0, 1), batches);
        place = call.add(Op::add, {place, call.add(Op::mul, {first, call.scalar(static_cast<double>(places), DType::i64)})});
    }
    Shape rows{extent(0, batch) * places};
    rows.insert(rows.end(), data.begin() + batch + depth, data.end());
    call.result(call.add(Op::gather, {call.reshaped(call.in(0), rows), place}, {{Attr::axis, 0}}));
}

// The first `length` elements of each sequence come in the opposite order.
void reverse_sequence(OnnxCall& call) {
    const Shape shape = call.shape(0);
    const int64_t time = call.axis(call.integer("time_axis", 0), call.rank(0)),
                  batch = call.axis(call.integer("batch_axis", 1), call.rank(0));
    Shape of_lengths(shape.size(), 1);
    of_lengths[at(batch)] = shape[at(batch)];
    const TensorId length = call.reshaped(call.as(call.in(1), DType::i64), of_lengths);
    const TensorId own = counted(call, shape[at(time)], at(time), shape.size());
    const TensorId last = call.add(Op::sub, {length, call.scalar(1, DType::i64)});
    const TensorId from = call.add(Op::where, {call.add(Op::less, {own, length}), call.add(Op::sub, {last, own}), own});
    call.result(call.add(Op::gather_elements, {call.in(0), call.add(Op::expand, {from}, {{Attr::shape, shape}})},
                         {{Attr::axis, time}}));
}

// Elements go back to where a MaxPool found them; places count through a map of the size that the windows come to.
void max_unpool(OnnxCall& call) {
    Shape shape = call.shape(0);
    if (shape.size() < 3) call.refuse("of fewer than three axes");
    const std::vector<int64_t> kernel = call.list("kernel_shape");
    const std::vector<int64_t> strides = call.list("strides", std::vector<int64_t>(kernel.size(), 1));
    const std::vector<int64_t> pads = call.list("pads", std::vector<int64_t>(2 * kernel.size(), 0));
    if (kernel.size() + 2 != shape.size() || strides.size() != kernel.size() || pads.size() != 2 * kernel.size())
        call.refuse("lists that are not of the spatial axes");
    for (size_t d = 0; d < kernel.size(); ++d)
        shape[2 + d] = (shape[2 + d] - 1) * strides[d] + kernel[d] - pads[d] - pads[kernel.size() + d];
    const int64_t count = elements(call.shape(0));
    const TensorId zeros = call.add(Op::expand, {call.scalar(0, call.dtype(0))}, {{Attr::shape, Shape{elements(shape)}}});
    const TensorId flat =
        call.add(Op::scatter_nd, {zeros, call.reshaped(call.in(1), {count, 1}), call.reshaped(call.in(0), {count})});
    TensorId y = call.reshaped(flat, shape);
    if (call.given(2)) {
        const std::vector<int64_t> wanted = call.integers(2);
        if (wanted.size() != shape.size()) call.refuse("an output_shape of another number of axes");
        std::vector<int64_t> fill(2 * shape.size(), 0);
        for (size_t d = 0; d < shape.size(); ++d) fill[shape.size() + d] = wanted[d] - shape[d];
        if (std::any_of(fill.begin(), fill.end(), [](int64_t n) { return n < 0; }))
            call.refuse("an output_shape that is too small");
        y = call.add(Op::pad, {y}, {{Attr::pads, fill}});
    }
    call.result(y);
}

// Rows of a cache, which ONNX has from opset 24 on.
void tensor_scatter(OnnxCall& call) {
    const std::string mode = call.text("mode", "linear");
    if (mode != "linear" && mode != "circular") call.refuse("mode " + mode);
    call.result(call.add(
        Op::tensor_scatter, {call.in(0), call.in(1), call.in(2)},
        {{Attr::axis, call.integer("axis", -2)}, {Attr::mode, mode == "linear" ? BP_SCATTER_LINEAR : BP_SCATTER_CIRCULAR}}));
}

constexpr OnnxRuleRow kPlacesRules[] = {
    {"ScatterND", scatter_nd},         {"ScatterElements", scatter_elements}, {"Scatter", scatter_elements},
    {"GatherND", gather_nd},           {"ReverseSequence", reverse_sequence}, {"MaxUnpool", max_unpool},
    {"TensorScatter", tensor_scatter},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_places() { return kPlacesRules; }

}  // namespace backplane::formats
