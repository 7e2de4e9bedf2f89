#include "ops/table.hpp"

#include <array>
#include <unordered_map>

namespace backplane::cpu {

namespace {

std::unordered_map<uint32_t, const OpLowering*> all_lowerings() {
#define BP_CPU_OP_FAMILY(name) &ops::name::ops_##name,
    const OpFamily* const families[] = {BP_OP_FAMILIES(BP_CPU_OP_FAMILY)};
#undef BP_CPU_OP_FAMILY
    std::unordered_map<uint32_t, const OpLowering*> all;
    for (const OpFamily* family : families)
        for (size_t i = 0; i < family->count; ++i) all.emplace(family->first[i].op, &family->first[i]);
    return all;
}

}  // namespace

const OpLowering* find_lowering(uint32_t op) {
    static const std::unordered_map<uint32_t, const OpLowering*> all = all_lowerings();
    // Those of the op table by their number: each pass of a compile asks for each node.
    static const auto first = [] {
        std::array<const OpLowering*, 256> those{};
        for (const auto& [number, lowering] : all)
            if (number < those.size()) those[number] = lowering;
        return those;
    }();
    if (op < first.size()) return first[op];
    const auto found = all.find(op);
    return found != all.end() ? found->second : nullptr;
}

}  // namespace backplane::cpu
