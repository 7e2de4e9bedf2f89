// Places every value: temporaries in one workspace, sharing bytes when they are never alive together.
#include <algorithm>

#include "memory.hpp"
#include "plan.hpp"

namespace backplane::cpu {

namespace {

// Base table of a run: 0 the workspace, 1 what the program keeps, then one per slot.
constexpr uint32_t kWorkspace = 0;
constexpr uint32_t kResident = 1;
constexpr uint32_t kFirstSlot = 2;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Life {
    ValueId value = kNone;
    size_t first = SIZE_MAX, last = 0;
    uint64_t bytes = 0, offset = 0;
};

std::vector<Life> lives(const Plan& plan) {
    std::vector<Life> out(plan.values.size());
    auto touch = [&](ValueId id, size_t step) {
        const ValueId storage = plan.storage_of(id);
        Life& life = out[storage];
        life.value = storage;
        life.first = std::min(life.first, step);
        life.last = std::max(life.last, step);
        life.bytes = std::max(life.bytes, aligned(plan[id].bytes));
    };
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        for (const ValueId id : plan.steps[i].reads) touch(id, i);
        for (const ValueId id : plan.steps[i].writes) touch(id, i);
        for (const ValueId id : plan.steps[i].scratch) touch(id, i);
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

void plan_memory(Plan& plan) {
    for (const Resident& resident : plan.residents) {
        plan[resident.value].base = kResident;
        plan[resident.value].offset = plan.resident_bytes;
        plan.resident_bytes += aligned(plan[resident.value].bytes);
    }
    std::vector<bool> placed(plan.values.size());
    for (const Resident& resident : plan.residents) placed[resident.value] = true;
    for (uint32_t i = 0; i < plan.slots.size(); ++i) {
        plan[plan.slots[i].value].base = kFirstSlot + i;
        placed[plan.slots[i].value] = true;
    }
    std::vector<Life> items;
    for (const Life& life : lives(plan))
        if (life.value != kNone && !placed[life.value]) items.push_back(life);
    plan.workspace_bytes = place(items);
    for (const Life& item : items) {
        plan[item.value].base = kWorkspace;
        plan[item.value].offset = item.offset;
    }
    for (ValueId id = 0; id < plan.values.size(); ++id) {
        const ValueId from = plan.storage_of(id);
        plan[id].base = plan[from].base;
        plan[id].offset = plan[from].offset;
    }
}

}  // namespace backplane::cpu
