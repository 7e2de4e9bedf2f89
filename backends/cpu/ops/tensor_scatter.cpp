// TensorScatter: rows of an update put into a cache, where it stands when the cache is a state.
#include <cstring>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::tensor_scatter {

namespace {

void lower(Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::TensorScatterAttributes>();
    const ValueId cache = node.inputs[0];
    const ValueId update = node.inputs[1];
    const ValueId out = node.output;
    const std::vector<int64_t>& dim = to[cache].dim;
    const auto axis = static_cast<size_t>(a.axis);
    if (to[cache].elements() == 0) return;
    // The rest of the cache: nothing to do where it is a state that this op updates in place.
    if (Step* rest = add_copy(to, step_label(to, node), {to[cache].elements()}, {cache, 0, {1}}, {out, 0, {1}}))
        rest->copies = true;
    if (to[update].elements() == 0) return;
    int64_t outer = 1;
    int64_t inner = 1;
    for (size_t d = 0; d < axis; ++d) outer *= dim[d];
    for (size_t d = axis + 1; d < dim.size(); ++d) inner *= dim[d];
    const int64_t samples = dim[0];
    const int64_t extent = dim[axis];
    const int64_t rows = to[update].dim[axis];
    const int64_t bytes = inner * element_bytes(to[cache]);
    const bool circular = a.mode == backplane::ops::ScatterMode::circular;
    const ValueId at = node.input(2);
    const WholeNumbers positions(to, at);
    const auto scatter = [=](const Run& run) {
        const auto* from = run.at<std::byte>(update);
        auto* into = run.at<std::byte>(out);
        run.ranges(outer * rows, std::max<int64_t>(1, kGrainBytes / bytes), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t block = i / rows;
                const int64_t position = positions.given() ? positions.in(run)[block / (outer / samples)] : 0;
                // Sizes are far below 2^62, positions are anything.
                if (!circular && (position < -rows || position >= extent)) continue;
                const int64_t row = circular ? (position % extent + extent + i % rows) % extent : position + i % rows;
                if (row < 0 || row >= extent) continue;
                std::memcpy(into + (block * extent + row) * bytes, from + i * bytes, static_cast<size_t>(bytes));
            }
        });
    };
    to.step(step_label(to, node) + " rows", {update, at}, {out}, scatter).moved = to[update].bytes;
}

constexpr OpLowering table[] = {{BP_OP_tensor_scatter, Types::moves, Wants::row_major, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_tensor_scatter = {table, std::size(table)};

}  // namespace backplane::cpu::ops::tensor_scatter
