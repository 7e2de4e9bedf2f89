#include "common/gpu/ops/blocks.hpp"

namespace backplane::gpu {

namespace {

// Bits of a digit, words of the parts of a span's scales, and f16 of two spans (kernels/planes.h).
struct Layout {
    int64_t digits, parts, factors;
};
constexpr Layout layout_of(uint32_t dtype) {
    switch (dtype) {
        case BP_Q8_0: return {8, 0, 8};
        case BP_Q4_1: return {4, 0, 16};
        case BP_Q5_0: return {5, 0, 8};
        case BP_Q5_1: return {5, 0, 16};
        case BP_Q2_K: return {2, 2, 2};
        case BP_Q3_K: return {3, 2, 1};
        case BP_Q4_K: return {4, 2, 2};
        case BP_Q5_K: return {5, 2, 2};
        case BP_Q6_K: return {6, 2, 1};
        case BP_IQ4_XS: return {4, 1, 1};
        case BP_Q8_K: return {8, 1, 0};
        default: return {4, 0, 8};
    }
}

// What one of these has made of it already.
ValueId made_of(const std::vector<Dispatch>& dispatches, ValueId id) {
    for (const Dispatch& d : dispatches)
        if (d.kernel == kKernel_split_blocks && d.operands[0].value == id) return d.operands[1].value;
    return kNone;
}

}  // namespace

int64_t spans_of(const Value& blocks) {
    return blocks.dim.back() == 0 ? 0 : blocks.elements() / blocks.dim.back() * up(blocks.dim.back(), kSpan);
}

uint64_t bytes_of_planes(const Value& blocks) {
    const Layout layout = layout_of(blocks.dtype);
    const int64_t spans = spans_of(blocks);
    // Halves come in eights.
    const int64_t words = spans * (4 * layout.digits + layout.parts) + up(spans * layout.factors, 16) * 4;
    return static_cast<uint64_t>(words) * sizeof(uint32_t);
}

bool is_read_as_planes(const Plan& plan, const backend::Readers& readers, ValueId id) {
    if (!is_block(plan[id].dtype) || plan[id].role != BP_ROLE_WEIGHT || plan[id].inside != kNone) return false;
    uint32_t products = 0, gathers = 0;
    for (const Node& node : plan.nodes) {
        if (node.op == BP_OP_matmul && node.inputs[1] == id && node.inputs[0] != id) ++products;
        if (node.op == BP_OP_gather && node.inputs[0] == id && plan[node.output].dtype == BP_F32) ++gathers;
    }
    return products > 0 && products + gathers == readers.times(id);
}

ValueId planes_of(Lowering& to, ValueId id) {
    const Value b = to[id];
    if (b.elements() == 0) return id;  // nothing of it is read
    const bool packed = is_read_as_planes(to.plan, to.readers, id);
    std::vector<Dispatch>& where = b.role == BP_ROLE_CONSTANT ? to.plan.once : to.plan.dispatches;
    if (const ValueId made = made_of(where, id); !packed && made != kNone) return made;
    const uint64_t bytes = bytes_of_planes(b);
    const auto words = static_cast<int64_t>(bytes / sizeof(uint32_t));
    Dispatch d;
    d.label = "MatMul blocks " + b.text();
    d.kernel = kKernel_split_blocks;
    d.constants = {kLocal};
    d.parameters = words_of(SplitBlocksParameters{.elements = static_cast<uint32_t>(words),
                                                  .type = b.dtype,
                                                  .depth = word(b.dim.back()),
                                                  .spans_of_column = word(up(b.dim.back(), kSpan)),
                                                  .scales = word(spans_of(b))});
    d.work = static_cast<double>(words) * 64;
    d.moved = bytes;
    to.spread(static_cast<uint64_t>(up(words, kLocal)), d.groups);
    if (packed) {
        to.pack(id, bytes, std::move(d), 4);
        return id;
    }
    const ValueId made = to.plan.temporary(BP_I32, {words});
    if (b.role == BP_ROLE_CONSTANT) to.plan[made].role = BP_ROLE_CONSTANT;
    d.operands = {to.reads(id, 2), to.writes(made)};
    where.push_back(std::move(d));
    return made;
}

}  // namespace backplane::gpu
