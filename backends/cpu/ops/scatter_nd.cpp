// ScatterND: slices put into a tensor where indices say.
#include <cstring>

#include "common/reduction.hpp"
#include "ops/doubles.hpp"
#include "ops/integers.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::scatter_nd {

namespace {

struct Task {
    WholeNumbers indices;
    ValueId updates = kNone, out = kNone;
    std::vector<int64_t> extents, strides;  // of the axes that an index names
    int64_t slices = 0, bytes = 0;          // of a slice
    int64_t size = 0;                       // of an element

    // Where slice i begins, in elements.
    [[nodiscard]] int64_t place_of(const Run& run, int64_t i) const {
        int64_t place = 0;
        const auto width = static_cast<int64_t>(extents.size());
        for (int64_t d = 0; d < width; ++d) {
            const int64_t index = indices.in(run)[i * width + d];
            place += position_of(BP_OP_scatter_nd, index, extents[static_cast<size_t>(d)]) * strides[static_cast<size_t>(d)];
        }
        return place;
    }
};

// z[i] = what is there and an update, which may be one of floats or of whole numbers. A reduction goes on in z.
template <typename Binary>
void add_reduction(Lowering& to, const Node& node, const Task& t, Binary binary) {
    const int64_t inner = t.bytes / t.size;
    to.step(step_label(to, node) + " slices", {t.indices.from, t.updates}, {t.out}, [=](const Run& run) {
        // Parts of all slices side by side, each with one update after the other: results do not depend on the threads.
        run.ranges(inner, kGrainElements, [&](int64_t begin, int64_t end) {
            for (int64_t i = 0; i < t.slices; ++i) {
                std::byte* z = run.at<std::byte>(t.out) + (t.place_of(run, i) + begin) * t.size;
                binary(z, run.at<std::byte>(t.updates) + (i * inner + begin) * t.size, end - begin);
            }
        });
    });
}

void reduce(Lowering& to, const Node& node, const Task& t, uint32_t op) {
    Node joined = node;
    joined.op = op;
    if (const IntegerBinary integers = find_integer_binary(joined, to[t.out].dtype); integers != nullptr)
        return add_reduction(to, node, t,
                             [integers](std::byte* z, const std::byte* x, int64_t n) { integers(z, 1, x, 1, z, n); });
    if (to[t.out].dtype == BP_F64)
        return add_reduction(to, node, t, [doubles = find_double_binary(op)](std::byte* z, const std::byte* x, int64_t n) {
            auto* into = reinterpret_cast<double*>(z);
            doubles(into, 1, reinterpret_cast<const double*>(x), 1, into, n);
        });
    const BinaryKernel kernel = to.kernels.elementwise.binary[op];
    add_reduction(to, node, t, [kernel](std::byte* z, const std::byte* x, int64_t n) {
        auto* floats = reinterpret_cast<float*>(z);
        kernel(floats, 1, reinterpret_cast<const float*>(x), 1, floats, n);
    });
}

void lower(Lowering& to, const Node& node) {
    const ValueId data = node.inputs[0];
    if (to[data].elements() == 0) return;
    Task t{{to, node.inputs[1]}, node.inputs[2], node.output, {}, {}};
    if (Step* rest = add_copy(to, step_label(to, node), {to[data].elements()}, {data, 0, {1}}, {t.out, 0, {1}}))
        rest->copies = true;
    if (to[t.updates].elements() == 0) return;
    const std::vector<int64_t> strides = strides_of(to[data]);
    const auto width = static_cast<size_t>(to[t.indices.from].dim.back());
    t.extents.assign(to[data].dim.begin(), to[data].dim.begin() + static_cast<std::ptrdiff_t>(width));
    t.strides.assign(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(width));
    int64_t inner = 1;
    for (size_t d = width; d < strides.size(); ++d) inner *= to[data].dim[d];
    t.size = element_bytes(to[data]);
    t.bytes = inner * t.size;
    t.slices = to[t.updates].elements() / inner;
    if (const uint32_t op = backend::reduction_of(node); op != BP_OP_unknown) return reduce(to, node, t, op);
    // One after the other: two slices may have the same place.
    const auto put = [t](const Run& run) {
        for (int64_t i = 0; i < t.slices; ++i)
            std::memcpy(run.at<std::byte>(t.out) + t.place_of(run, i) * t.size, run.at<std::byte>(t.updates) + i * t.bytes,
                        static_cast<size_t>(t.bytes));
    };
    to.step(step_label(to, node) + " slices", {t.indices.from, t.updates}, {t.out}, put).moved = to[t.updates].bytes;
}

constexpr OpLowering table[] = {{BP_OP_scatter_nd, backend::types_of_scatter, Wants::row_major, 0, nullptr, lower},
                                in_doubles(BP_OP_scatter_nd, lower)};

}  // namespace

const OpFamily ops_scatter_nd = {table, std::size(table)};

}  // namespace backplane::cpu::ops::scatter_nd
