// Lowering: how an op becomes dispatches. One file per op (or close family) in ops/; ../README.md shows how to add one.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "common/element_types.hpp"
#include "common/gpu/abilities.hpp"
#include "common/gpu/kernel_words.hpp"
#include "common/gpu/plan.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {

using backend::is_block;
using backend::is_half;
using backend::is_whole;
using backend::Types;

// Invocations of a workgroup where a kernel leaves the choice; every device here has 128.
inline constexpr uint32_t kLocal = 128;
// Those that share a matrix where matrices are a workgroup's.
inline constexpr uint32_t kWorkgroupOfMatrices = 128;

// How many pieces of `by` n takes.
constexpr int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

class Lowering {
public:
    Lowering(Plan& to, const Abilities& abilities) : plan(to), can(abilities), readers(to) {}

    Plan& plan;
    const Abilities& can;
    const backend::Readers readers;  // of the nodes, which lowering leaves as they are
    std::vector<Dispatch> first;     // that come before all others: they read nothing that another writes

    [[nodiscard]] const Value& operator[](ValueId id) const { return plan[id]; }
    // One invocation for each of n elements, kLocal to a workgroup. `constants` follow the size of the workgroup.
    void each(std::string label, uint32_t kernel, uint64_t n, std::vector<Operand> operands,
              std::vector<uint32_t> parameters, const std::vector<uint32_t>& constants = {}) {
        const auto groups = static_cast<uint64_t>(up(static_cast<int64_t>(n), kLocal));
        rows(std::move(label), kernel, groups, kLocal, std::move(operands), std::move(parameters), constants);
    }
    // The same with the record of a kernel that counts its `elements`: they are set here.
    template <class Record>
    void each(std::string label, uint32_t kernel, uint64_t n, std::vector<Operand> operands, Record record,
              const std::vector<uint32_t>& constants = {}) {
        record.elements = static_cast<uint32_t>(n);
        each(std::move(label), kernel, n, std::move(operands), words_of(record), constants);
    }
    // The same for each element of a node's result.
    template <class Record>
    void each(const Node& node, uint32_t kernel, const Record& record, const std::vector<uint32_t>& constants = {}) {
        const auto n = static_cast<uint64_t>(plan[node.output].elements());
        each(step_label(plan, node), kernel, n, operands_of(node), record, constants);
    }
    // One workgroup for each of n rows.
    void rows(std::string label, uint32_t kernel, uint64_t n, uint32_t local, std::vector<Operand> operands,
              std::vector<uint32_t> parameters, const std::vector<uint32_t>& constants = {});
    void add(Dispatch dispatch) { plan.dispatches.push_back(std::move(dispatch)); }
    // The slot of this weight has `bytes`, which pack() makes of the plain ones by `how` (its operands are set here).
    // Its kernel reads elements of two bytes and writes such of `element`.
    void pack(ValueId weight, uint64_t bytes, Dispatch how, uint32_t element);
    // n workgroups over x and y, as the kernels count them.
    void spread(uint64_t n, uint32_t groups[3]) const;

    [[nodiscard]] Operand reads(ValueId id, uint32_t element = 0) const;
    [[nodiscard]] Operand reads_or(ValueId id, ValueId otherwise, uint32_t element = 0) const;  // kNone: it is not given
    [[nodiscard]] Operand writes(ValueId id, uint32_t element = 0) const;
    // What a node reads, of which all is given, then what it writes.
    [[nodiscard]] std::vector<Operand> operands_of(const Node& node) const;
};

inline uint32_t word(float value) { return std::bit_cast<uint32_t>(value); }
inline uint32_t word(int64_t value) { return static_cast<uint32_t>(value); }

struct OpLowering {
    uint32_t op;
    backend::TypesOf types;
    uint32_t own_weights;                                  // bit k: operand k may be of another type than the rest
    Verdict (*check)(const Plan& plan, const Node& node);  // null: what the op's description takes is done
    void (*lower)(Lowering& to, const Node& node);
    uint32_t blocks = 0;   // bit k: operand k may be of a block type, too, and comes as it is
    bool doubles = false;  // its kernel computes places in float64

    [[nodiscard]] constexpr bool takes_blocks(size_t k) const { return backend::names_operand(blocks, k); }
    [[nodiscard]] constexpr bool owns(size_t k) const { return backend::names_operand(own_weights, k); }
};

// Has maps lie in bundles where all that make and read them take them so (Value::bundled).
void choose_bundles(Lowering& to);

// The lowering of an op; null: this backend does not do it. The rows are in ops/.
const OpLowering* find_lowering(uint32_t op);
// Casts where kernels, which compute in float32, have other types than a node: they read and write f32 or f16. The result of a judgement stays as it is.
void fit_types(Plan& plan);
// Everything that must hold before a node is lowered: an op we know, element types the device has, then the op's own check.
Verdict check_node(const Plan& plan, const Node& node, const Abilities& can);

}  // namespace backplane::gpu
