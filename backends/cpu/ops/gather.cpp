// Gather: slices along one axis, picked by integers.
#include <cstring>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::gather {

namespace {

// Positions along the axis, negative ones counted from the end. Throws Failure(BP_INVALID): an index read at run time cannot be
// judged earlier, and must not become a read outside the operand.
template <typename T>
void resolve(const T* indices, int64_t count, int64_t extent, int64_t* positions) {
    for (int64_t i = 0; i < count; ++i) {
        const int64_t index = indices[i];
        if (index < -extent || index >= extent)
            throw sdk::Failure(BP_INVALID, "run: Gather got the index " + std::to_string(index) + " on an axis of " +
                                               std::to_string(extent));
        positions[i] = index < 0 ? index + extent : index;
    }
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId indices = node.inputs[1];
    const ValueId out = node.output;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherAttributes>().axis);
    const std::vector<int64_t>& dim = to[in].dim;
    int64_t outer = 1;
    int64_t inner = 1;
    for (size_t d = 0; d < axis; ++d) outer *= dim[d];
    for (size_t d = axis + 1; d < dim.size(); ++d) inner *= dim[d];
    const int64_t extent = dim[axis];
    const int64_t count = to[indices].elements();
    if (outer * inner * count == 0) return;
    const int64_t size = element_bytes(to[in]);
    const bool wide = to[indices].dtype == BP_I64;
    const ValueId scratch = to.scratch(static_cast<uint64_t>(count) * sizeof(int64_t));
    Step& added = to.step(step_label(to, node), {in, indices}, {out}, [=, kernels = to.kernels.move](const Run& run) {
        auto* positions = run.at<int64_t>(scratch);
        if (wide) {
            resolve(run.at<int64_t>(indices), count, extent, positions);
        } else {
            resolve(run.at<int32_t>(indices), count, extent, positions);
        }
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

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const uint32_t type = plan[node.inputs[1]].dtype;
    if (x.dtype != plan[node.output].dtype || sdk::dtype_info(x.dtype).block != 1)
        return {BP_WHY_DTYPE, node.text() + " copies plain elements, not " + x.text() + " to " + plan[node.output].text()};
    if (type != BP_I32 && type != BP_I64) return {BP_WHY_DTYPE, node.text() + " takes indices of i32 or i64"};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_gather, Types::moves, Wants::row_major, 0, check, lower}};

}  // namespace

const OpFamily ops_gather = {table, std::size(table)};

}  // namespace backplane::cpu::ops::gather
