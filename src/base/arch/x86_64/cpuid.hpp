// What the core that asks says of itself. A header alone: a module may include it without linking anything.
#pragma once

#include <cpuid.h>

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/cpu_feature_table.hpp"

namespace backplane::base {

// Registers a, b, c, d; zeros where there is no such leaf.
inline std::array<uint32_t, 4> cpuid(uint32_t leaf, uint32_t part) {
    std::array<uint32_t, 4> r{};
    if (__get_cpuid_count(leaf, part, &r[0], &r[1], &r[2], &r[3]) == 0) return {};
    return r;
}

// XCR0: what the operating system saves on a context switch; zero without XGETBV.
inline uint64_t saved_state() {
    constexpr uint32_t kOsxsave = 1u << 27;
    if ((cpuid(1, 0)[2] & kOsxsave) == 0) return 0;
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

// Names of the features that it has and whose registers the operating system saves.
inline std::vector<const char*> features_of_this_core() {
    const uint64_t saved = saved_state();
    std::vector<const char*> names;
    std::map<std::pair<uint32_t, uint32_t>, std::array<uint32_t, 4>> leaves;  // asked once each: a virtual machine traps it
    for (const X86Feature& f : kX86Features) {
        auto leaf = leaves.find({f.leaf, f.part});
        if (leaf == leaves.end()) leaf = leaves.emplace(std::pair(f.leaf, f.part), cpuid(f.leaf, f.part)).first;
        const uint32_t bits = leaf->second[static_cast<size_t>(f.where)];
        if ((bits >> f.bit & 1u) != 0 && (saved & f.state) == f.state) names.push_back(f.name);
    }
    return names;
}

}  // namespace backplane::base
