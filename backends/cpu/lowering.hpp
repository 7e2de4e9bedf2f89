// Lowering: how an op becomes steps. One file per op (or close family) in ops/; README.md shows how to add one.
#pragma once

#include <string>
#include <vector>

#include "common/element_types.hpp"
#include "kernels/kernels.h"
#include "plan.hpp"
#include "thread_pool.hpp"

namespace backplane::cpu {

using backend::is_block;
using backend::is_half;
using backend::Types;

// What a step sees while it runs.
class Run {
public:
    Run(const Plan& plan, const std::vector<std::byte*>& bases, ThreadPool& pool)
        : plan_(plan), bases_(bases), pool_(pool) {}

    template <typename T>
    [[nodiscard]] T* at(ValueId id) const {
        const Value& v = plan_[id];
        return reinterpret_cast<T*>(bases_[v.base] + v.offset);
    }
    // body(chunk, scratch) for chunk in [0, chunks) on all threads; scratch: Plan::lane_scratch bytes.
    template <typename Body>
    void parallel(int64_t chunks, Body&& body) const {
        pool_.run(static_cast<uint32_t>(chunks), body);
    }
    // body(begin, end) over [0, n) in ranges of at least `grain`.
    template <typename Body>
    void ranges(int64_t n, int64_t grain, Body&& body) const {
        if (n <= 0) return;
        // Four chunks a thread even out what each costs; the limits depend on n alone where it matters: not the result.
        const int64_t most = int64_t{4} * pool_.threads();
        const int64_t size = std::max(grain, (n + most - 1) / most);
        const int64_t chunks = (n + size - 1) / size;
        pool_.run(static_cast<uint32_t>(chunks),
                  [&](uint32_t chunk, std::byte*) { body(chunk * size, std::min(n, (chunk + 1) * size)); });
    }
    [[nodiscard]] ThreadPool& pool() const { return pool_; }

private:
    const Plan& plan_;
    const std::vector<std::byte*>& bases_;
    ThreadPool& pool_;
};

class Lowering {
public:
    Lowering(Plan& to, const Kernels& with);

    Plan& plan;
    const Kernels& kernels;

    [[nodiscard]] const Value& operator[](ValueId id) const { return plan[id]; }
    // The node that makes a value; null: none does.
    [[nodiscard]] const Node* maker(ValueId id) const {
        const uint32_t at = readers_.maker(id);
        return at == kNone ? nullptr : &plan.nodes[at];
    }
    Step& step(std::string label, std::vector<ValueId> reads, std::vector<ValueId> writes,
               std::function<void(const Run&)> run);
    // Memory of the workspace for the step added next only.
    ValueId scratch(uint64_t bytes);
    // Each thread needs this much in a step of this program.
    void lane_scratch(uint64_t bytes) { plan.lane_scratch = std::max(plan.lane_scratch, bytes); }
    // A weight in the form a kernel wants, made once for all nodes that want the same. Where all that read a WEIGHT do, its slot gets
    // `layout` (not 0), and the host packs it through pack(); a CONSTANT is packed at compile; anything else by a step of every run.
    ValueId packed(ValueId weight, uint64_t layout, uint64_t bytes, PackFunction pack);
    // When all nodes are lowered, and known is who reads what as what.
    void place_packed();

private:
    struct Packing {
        ValueId weight, made;
        uint64_t layout, bytes;
        PackFunction pack;
        uint32_t readers;
        size_t before;  // the step that reads it first
        uint32_t next;  // of the same weight; kNone: none
    };

    backend::Readers readers_;       // of the nodes, which lowering leaves as they are
    std::vector<uint32_t> slot_of_;  // by value; kNone: none
    std::vector<ValueId> pending_scratch_;
    std::vector<Packing> packings_;      // but of constants
    std::vector<uint32_t> packings_of_;  // by value: the last of it; kNone: none
};

// Whole numbers, i32 or i64, that a step reads when it runs.
struct WholeNumbers {
    struct Read {
        const void* first;
        bool wide;
        int64_t operator[](int64_t i) const {
            return wide ? static_cast<const int64_t*>(first)[i] : static_cast<const int32_t*>(first)[i];
        }
    };

    ValueId from = kNone;  // of an optional operand
    bool wide = false;

    WholeNumbers() = default;  // none
    WholeNumbers(const Lowering& to, ValueId numbers)
        : from(numbers), wide(numbers != kNone && to[numbers].dtype == BP_I64) {}
    [[nodiscard]] bool given() const { return from != kNone; }
    [[nodiscard]] Read in(const Run& run) const { return {run.at<void>(from), wide}; }
};

enum class Wants : uint8_t {
    row_major,      // all operands and the result
    channels_last,  // operands and result that are maps
    either          // the lowering goes by the strides of each value
};

struct OpLowering {
    uint32_t op;
    backend::TypesOf types;
    Wants wants;
    uint32_t own_weights;  // bit k: operand k is packed by the lowering, any element type is welcome
    Verdict (*check)(const Plan& plan, const Node& node);  // null: what the op's description takes is done
    void (*lower)(Lowering& to, const Node& node);
    uint32_t blocks = 0;  // bit k: operand k may be of a block type, too, and comes as it is
    // Of an op that wants channels last: whether it does this node as well where all its maps are row-major. Null: no node.
    bool (*rows_too)(const Plan& plan, const Node& node) = nullptr;

    [[nodiscard]] constexpr bool takes_blocks(size_t k) const { return backend::names_operand(blocks, k); }
    [[nodiscard]] constexpr bool owns(size_t k) const { return backend::names_operand(own_weights, k); }
};

// The lowering of an op on f64. It is a row of its own, so that neither kernels of float32 nor fusions and layouts, which are theirs, ever meet
// one: mark_doubles() gives the node this number, and `lower` sees the op's again.
constexpr OpLowering in_doubles(uint32_t op, void (*lower)(Lowering& to, const Node& node)) {
    return {op | kInDoubles, Types::computes, Wants::row_major, 0, nullptr, lower};
}

// The lowering of an op; null: this backend does not do it. The table is in ops/table.cpp.
const OpLowering* find_lowering(uint32_t op);
// Everything that must hold before a node is lowered: an op we know, element types, then the op's own check.
Verdict check_node(const Plan& plan, const Node& node);
// Of a plan whose nodes have all been checked: those that compute with f64.
void mark_doubles(Plan& plan);

// A 64-bit name for a packed layout, never 0: equal text, equal layout.
uint64_t layout_id(const std::string& text);

}  // namespace backplane::cpu
