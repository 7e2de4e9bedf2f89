// Places every value: temporaries in one workspace, sharing bytes when they are never alive together.
#include <algorithm>

#include "common/gpu/plan.hpp"
#include "common/gpu/program_bases.hpp"

namespace backplane::gpu {

namespace {

uint64_t aligned(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

struct Life {
    ValueId value = kNone;
    size_t first = SIZE_MAX, last = 0;
    uint64_t bytes = 0, offset = 0;
};

std::vector<Life> lives(const Plan& plan, uint64_t alignment) {
    std::vector<Life> out(plan.values.size());
    for (size_t i = 0; i < plan.dispatches.size(); ++i)
        for (const Operand& operand : plan.dispatches[i].operands) {
            const ValueId storage = plan.storage_of(operand.value);
            Life& life = out[storage];
            life.value = storage;
            life.first = std::min(life.first, i);
            life.last = std::max(life.last, i);
            life.bytes = aligned(plan[storage].bytes, alignment);
        }
    return out;
}

// Largest first, each at the lowest offset that is free during its whole life.
uint64_t place(std::vector<Life>& items) {
    std::sort(items.begin(), items.end(),
              [](const Life& a, const Life& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first; });
    uint64_t total = 0;
    std::vector<const Life*> beside;
    for (size_t i = 0; i < items.size(); ++i) {
        Life& item = items[i];
        beside.clear();
        for (size_t j = 0; j < i; ++j)
            if (items[j].first <= item.last && item.first <= items[j].last) beside.push_back(&items[j]);
        std::sort(beside.begin(), beside.end(), [](const Life* a, const Life* b) { return a->offset < b->offset; });
        for (const Life* other : beside) {
            if (item.offset + item.bytes <= other->offset) break;
            item.offset = std::max(item.offset, other->offset + other->bytes);
        }
        total = std::max(total, item.offset + item.bytes);
    }
    return total;
}

}  // namespace

void plan_memory(Plan& plan, uint64_t alignment) {
    std::vector<bool> placed(plan.values.size());
    for (const ValueId id : plan.residents) {
        plan[id].base = kResident;
        plan[id].offset = plan.resident_bytes;
        plan.resident_bytes += aligned(plan[id].bytes, alignment);
        placed[id] = true;
    }
    for (uint32_t i = 0; i < plan.slots.size(); ++i) {
        plan[plan.slots[i].value].base = kFirstSlot + i;
        placed[plan.slots[i].value] = true;
    }
    std::vector<Life> items;
    for (const Life& life : lives(plan, alignment))
        if (life.value != kNone && !placed[life.value]) items.push_back(life);
    plan.workspace_bytes = place(items);
    for (const Life& item : items) {
        plan[item.value].base = kWorkspace;
        plan[item.value].offset = item.offset;
    }
    for (ValueId id = 0; id < plan.values.size(); ++id) {
        uint64_t at = 0;
        const ValueId from = plan.storage_of(id, &at);
        plan[id].base = plan[from].base;
        if (from != id) plan[id].offset = plan[from].offset + at;
    }
}

}  // namespace backplane::gpu
