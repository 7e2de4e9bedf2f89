// Gather, GatherElements and OneHot: what integers pick.
#include <cstring>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::gather {

namespace {

// The indices of a node and, in memory of its step, the positions along the axis that they say.
struct Picks {
    uint32_t op = 0;
    WholeNumbers indices;
    ValueId scratch = kNone;
    int64_t count = 0, extent = 0;

    Picks(Lowering& to, const Node& node, int64_t along)
        : op(node.op), indices(to, node.inputs[1]), count(to[indices.from].elements()), extent(along) {
        scratch = to.scratch(static_cast<uint64_t>(count) * sizeof(int64_t));
    }
    [[nodiscard]] const int64_t* positions(const Run& run) const {
        auto* made = run.at<int64_t>(scratch);
        const WholeNumbers::Read index = indices.in(run);
        for (int64_t i = 0; i < count; ++i) made[i] = position_of(op, index[i], extent);
        return made;
    }
};

// Single elements along the last axis.
template <typename T>
void add_picked(Lowering& to, const Node& node, int64_t rows, int64_t extent) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const Picks picks(to, node, extent);
    const int64_t count = picks.count;
    Step& added = to.step(step_label(to, node), {in, node.inputs[1]}, {out}, [=](const Run& run) {
        const int64_t* positions = picks.positions(run);
        const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
        run.ranges(rows, std::max<int64_t>(1, kGrainBytes / bytes), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const T* x = run.at<T>(in) + row * extent;
                T* y = run.at<T>(out) + row * count;
                for (int64_t i = 0; i < count; ++i) y[i] = x[positions[i]];
            }
        });
    });
    added.moved = to[out].bytes;
}

void lower_gather(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId indices = node.inputs[1];
    const ValueId out = node.output;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherAttributes>().axis);
    const std::vector<int64_t>& dim = to[in].dim;
    int64_t outer = 1;
    int64_t inner = 1;
    for (size_t d = 0; d < axis; ++d) outer *= dim[d];
    for (size_t d = axis + 1; d < dim.size(); ++d) inner *= dim[d];
    const sdk::DTypeInfo type = sdk::dtype_info(to[in].dtype);
    const bool blocks = type.block != 1;  // they move as bytes
    if (blocks) inner = inner / type.block * type.bytes;
    const int64_t extent = dim[axis];
    const int64_t count = to[indices].elements();
    if (outer * inner * count == 0) return;
    const int64_t size = blocks ? 1 : type.bytes;
    if (inner == 1 && !blocks && size <= 8)
        return for_size(size, [&](auto element) { add_picked<decltype(element)>(to, node, outer, extent); });
    const Picks picks(to, node, extent);
    Step& added = to.step(step_label(to, node), {in, indices}, {out}, [=, kernels = to.kernels.move](const Run& run) {
        const int64_t* positions = picks.positions(run);
        const auto* from = run.at<std::byte>(in);
        auto* into = run.at<std::byte>(out);
        run.ranges(outer * count, std::max<int64_t>(1, kGrainBytes / (inner * size)), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                CopyTask task;
                task.from = from + (i / count * extent + positions[i % count]) * inner * size;
                task.into = into + i * inner * size;
                task.from_inner = task.into_inner = task.outer = 1;
                task.inner = inner;
                task.size = size;
                kernels.copy(task);
            }
        });
    });
    added.moved = to[out].bytes;
}

template <typename T>
void add_elements(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherElementsAttributes>().axis);
    std::vector<int64_t> strides = strides_of(to[in]);
    const int64_t along = std::exchange(strides[axis], 0);
    // The indices lie as the result does.
    const auto nest = simplify<2>(to[out].dim, {strides_of(to[out]), strides});
    const int64_t x_step = nest.stride[1].back();
    const Picks picks(to, node, to[in].dim[axis]);
    Step& added = to.step(step_label(to, node), node.inputs, {out}, [=](const Run& run) {
        const int64_t* positions = picks.positions(run);
        for_each_stretch(run, nest, [&](const auto& at, int64_t n) {
            const int64_t* position = positions + at[0];
            const T* x = run.at<T>(in) + at[1];
            T* y = run.at<T>(out) + at[0];
            for (int64_t i = 0; i < n; ++i) y[i] = x[i * x_step + position[i] * along];
        });
    });
    added.moved = to[out].bytes;
}

void lower_elements(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    for_size(element_bytes(to[node.output]), [&](auto element) { add_elements<decltype(element)>(to, node); });
}

template <typename T>
void add_one_hot(Lowering& to, const Node& node) {
    const ValueId indices = node.inputs[0];
    const ValueId values = node.inputs[1];
    const ValueId out = node.output;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::OneHotAttributes>().axis);
    const int64_t inner = strides_of(to[out])[axis];
    const int64_t depth = to[out].dim[axis];
    const WholeNumbers picked(to, indices);
    const int64_t rows = to[out].elements() / inner;
    Step& added = to.step(step_label(to, node), {indices, values}, {out}, [=](const Run& run) {
        const T off = run.at<T>(values)[0];
        const T on = run.at<T>(values)[1];
        const WholeNumbers::Read index = picked.in(run);
        run.ranges(rows, std::max<int64_t>(1, kGrainElements / inner), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
                const int64_t d = r % depth;
                T* y = run.at<T>(out) + r * inner;
                for (int64_t i = 0; i < inner; ++i) {
                    const int64_t k = index[r / depth * inner + i];
                    y[i] = k == d || k == d - depth ? on : off;
                }
            }
        });
    });
    added.moved = to[out].bytes;
}

void lower_one_hot(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    for_size(element_bytes(to[node.output]), [&](auto element) { add_one_hot<decltype(element)>(to, node); });
}

constexpr OpLowering table[] = {{BP_OP_gather, Types::moves, Wants::row_major, 0, nullptr, lower_gather},
                                {BP_OP_gather_elements, Types::moves, Wants::row_major, 0, nullptr, lower_elements},
                                {BP_OP_one_hot, Types::moves, Wants::row_major, 0, nullptr, lower_one_hot}};

}  // namespace

const OpFamily ops_gather = {table, std::size(table)};

}  // namespace backplane::cpu::ops::gather
