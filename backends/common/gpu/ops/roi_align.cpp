// RoiAlign: places, and whether they count, in float64 as the reference has them; the rest in float32.
#include <bit>

#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::roi_align {

namespace {

void lower(Lowering& to, const Node& node) {
    const std::vector<int64_t>&x = to[node.inputs[0]].dim, &y = to[node.output].dim;
    const auto how = node.as<backplane::ops::RoiAlignAttributes>();
    const auto scale = std::bit_cast<uint64_t>(how.scale);
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    const ValueId batches = node.inputs[2];
    to.each(step_label(to, node), variant_for_type(kKernel_roi_align_f32, to[node.output].dtype), n,
            {to.reads(node.inputs[0]), to.reads(node.inputs[1]), to.reads(batches, 4), to.writes(node.output)},
            RoiAlignParameters{.batches = word(x[0]),
                               .channels = word(x[1]),
                               .rows = word(x[2]),
                               .columns = word(x[3]),
                               .rows_out = word(y[2]),
                               .columns_out = word(y[3]),
                               .ratio = word(how.sampling_ratio),
                               .largest = how.mode == backplane::ops::RoiMode::max ? 1U : 0U,
                               .asymmetric = how.coordinates == backplane::ops::RoiCoordinates::asymmetric ? 1U : 0U,
                               .scale_low = static_cast<uint32_t>(scale),
                               .scale_high = static_cast<uint32_t>(scale >> 32),
                               .index_words = words_of_index(to, batches)});
}

constexpr OpLowering table[] = {{.op = BP_OP_roi_align, .types = Types::numbers, .lower = lower, .doubles = true}};

}  // namespace

const OpFamily ops_roi_align = {table, std::size(table)};

}  // namespace backplane::gpu::ops::roi_align
