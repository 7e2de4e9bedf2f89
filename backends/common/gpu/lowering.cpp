#include "common/gpu/lowering.hpp"

#include <algorithm>

#include "common/gpu/ops/blocks.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/hash.hpp"
#include "common/op_rows.hpp"
#include "common/shape_rules.hpp"

namespace backplane::gpu {

void Lowering::spread(uint64_t n, uint32_t groups[3]) const {
    const uint64_t most = std::min<uint64_t>(can.most_groups[0], 65535);
    groups[0] = static_cast<uint32_t>(std::min(n, most));
    groups[1] = static_cast<uint32_t>((n + most - 1) / most);
    groups[2] = 1;
}

void Lowering::rows(std::string label, uint32_t kernel, uint64_t n, uint32_t local, std::vector<Operand> operands,
                    std::vector<uint32_t> parameters, const std::vector<uint32_t>& constants) {
    if (n == 0) return;
    Dispatch d;
    d.label = std::move(label);
    d.kernel = kernel;
    d.constants = {local};
    d.constants.insert(d.constants.end(), constants.begin(), constants.end());
    d.operands = std::move(operands);
    d.parameters = std::move(parameters);
    d.work = static_cast<double>(n) * local * 8;
    spread(n, d.groups);
    add(std::move(d));
}

void Lowering::pack(ValueId weight, uint64_t bytes, Dispatch how, uint32_t element) {
    const auto slot =
        std::ranges::lower_bound(plan.slots, weight, {}, &Slot::value);  // they are made in the order of values
    how.operands = {reads(weight, 2), writes(weight, element)};
    std::vector<uint32_t> told = how.parameters;
    told.push_back(how.kernel);
    slot->layout = backend::hash_of(told.data(), told.size() * sizeof(uint32_t)) | 1;
    slot->bytes = plan[weight].bytes = bytes;
    slot->pack = std::move(how);
}

namespace {

// Bytes of what a kernel calls an element; kernels that read blocks state theirs.
uint32_t element_of(const Value& value, uint32_t given) { return given != 0 ? given : sdk::dtype_info(value.dtype).bytes; }

// Can the device read and write this element type, or compute with it?
bool device_has(const Abilities& can, Types types, uint32_t dtype) {
    switch (sdk::dtype_info(dtype).bytes) {
        case 1: return can.bytes;
        case 2: return can.halves && (types == Types::moves || dtype != BP_BF16 || can.bytes);
        case 8: return types == Types::moves || can.longs;
        default: return !is_block(dtype) || can.bytes;
    }
}

// Kernels count elements in 32 bits, and a descriptor covers a whole tensor.
bool within_limits(const Node& node, const Value& value, const Abilities& can) {
    const uint64_t bytes = node.op == BP_OP_matmul && is_block(value.dtype) ? bytes_of_planes(value) : value.bytes;
    return value.elements() < INT32_MAX && bytes + can.storage_alignment <= can.most_range;
}

// Whole numbers and truths beside operands that are computed with.
bool is_told(const Value& value) { return is_whole(value.dtype) || value.dtype == BP_BOOL; }

}  // namespace

Operand Lowering::reads(ValueId id, uint32_t element) const { return {id, element_of(plan[id], element), false}; }
Operand Lowering::reads_or(ValueId id, ValueId otherwise, uint32_t element) const {
    Operand operand = reads(id != kNone ? id : otherwise, element);
    operand.given = id != kNone;
    return operand;
}
Operand Lowering::writes(ValueId id, uint32_t element) const { return {id, element_of(plan[id], element), true}; }
std::vector<Operand> Lowering::operands_of(const Node& node) const {
    std::vector<Operand> all;
    for (const ValueId in : node.inputs) all.push_back(reads(in));
    all.push_back(writes(node.output));
    return all;
}

const OpLowering* find_lowering(uint32_t op) {
    static const backend::OpRows<OpLowering> all({BP_OP_FAMILIES});
    return all.find(op);
}

Verdict check_node(const Plan& plan, const Node& node, const Abilities& can) {
    const OpLowering* lowering = find_lowering(node.op);
    if (lowering == nullptr) return {BP_WHY_OP, node.text() + " is not an op of this backend"};
    if (Verdict verdict = backend::check_shapes(plan, node); verdict.reason != BP_WHY_NONE) return verdict;
    if (lowering->doubles && !can.doubles)
        return {BP_WHY_DRIVER,
                node.text() + ": the driver gives kernels no arithmetic in float64, in which places are found"};
    return backend::check_row(plan, node, *lowering, [&](Types types, const Value& value) -> Verdict {
        if (!device_has(can, types, value.dtype))
            return {BP_WHY_DRIVER, node.text() + ": the driver gives kernels no access to elements of " + value.text()};
        if (!within_limits(node, value, can))
            return {BP_WHY_LIMIT, node.text() + ": " + value.text() + " is larger than this device takes (" +
                                      std::to_string(can.most_range) + " bytes); use smaller tiles"};
        return {};
    });
}

void fit_types(Plan& plan) {
    const auto type_of = [&](const Node& node) -> uint32_t {
        const OpLowering* lowering = find_lowering(node.op);
        const Types types = lowering != nullptr ? lowering->types(node) : Types::moves;
        const bool judges = types == Types::judges;
        const Value& result = plan[node.output];
        if (types == Types::moves || is_told(judges ? plan[node.inputs[0]] : result)) return BP_DTYPE_UNKNOWN;
        const auto is_half_or_told = [&](ValueId in) {
            return in == kNone || plan[in].dtype == BP_F16 || is_told(plan[in]);
        };
        const bool all_half =
            (judges || result.dtype == BP_F16) && std::all_of(node.inputs.begin(), node.inputs.end(), is_half_or_told);
        return all_half ? BP_F16 : BP_F32;
    };
    backend::cast_to_fit(plan, type_of, [&](const Node& node, size_t k) {
        const OpLowering& lowering = *find_lowering(node.op);
        if (k == node.inputs.size()) return lowering.types(node) == Types::judges;
        const Value& given = plan[node.inputs[k]];
        return is_told(given) || (lowering.owns(k) && (given.dtype == BP_F16 || is_block(given.dtype))) ||
               (lowering.takes_blocks(k) && is_block(given.dtype));
    });
}

}  // namespace backplane::gpu
