// What the core that asks says of itself. A header alone: a module may include it without linking anything.
#pragma once

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_feature_table.hpp"

namespace backplane::base {

// Its answers. None is asked for twice: a virtual machine traps each question, which takes as long as a system call or ten.
class Cpuid {
public:
    // Registers a, b, c, d; zeros where there is no such leaf.
    const std::array<uint32_t, 4>& leaf(uint32_t number, uint32_t part = 0) {
        constexpr uint32_t kExtendedRange = 0x80000000;
        const uint32_t first = number & kExtendedRange;
        if (number == first) return asked(first, 0);
        static constexpr std::array<uint32_t, 4> kNone{};
        return number <= asked(first, 0)[0] ? asked(number, part) : kNone;
    }

private:
    const std::array<uint32_t, 4>& asked(uint32_t number, uint32_t part) {
        const auto [leaf, is_new] = leaves_.try_emplace({number, part});
        std::array<uint32_t, 4>& r = leaf->second;
        if (is_new) __cpuid_count(number, part, r[0], r[1], r[2], r[3]);
        return r;
    }

    std::map<std::pair<uint32_t, uint32_t>, std::array<uint32_t, 4>> leaves_;
};

// XCR0: what the operating system saves on a context switch; zero without XGETBV.
inline uint64_t saved_state(Cpuid& cpuid) {
    constexpr uint32_t kOsxsave = 1u << 27;
    if ((cpuid.leaf(1)[2] & kOsxsave) == 0) return 0;
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

// Names of the features that it has and whose registers the operating system saves; `among` these; of none, all that are known.
inline std::vector<const char*> features_of_this_core(Cpuid& cpuid, std::span<const std::string> among = {}) {
    const uint64_t saved = saved_state(cpuid);
    std::vector<const char*> names;
    for (const X86Feature& f : kX86Features) {
        if (!among.empty() && std::find(among.begin(), among.end(), f.name) == among.end()) continue;
        const uint32_t bits = cpuid.leaf(f.leaf, f.part)[static_cast<size_t>(f.where)];
        if ((bits >> f.bit & 1u) != 0 && (saved & f.state) == f.state) names.push_back(f.name);
    }
    return names;
}

}  // namespace backplane::base
