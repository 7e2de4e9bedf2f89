#include "cpu_features.hpp"

#include <cpuid.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace backplane::cpu {

namespace {

struct Registers {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
    Registers r;
    if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
    return r;
}

// What the operating system saves on a context switch; zero without XGETBV.
uint64_t enabled_state(const Registers& one) {
    if ((one.ecx >> 27 & 1) == 0) return 0;
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

}  // namespace

std::vector<std::string> detected_features() {
    const Registers one = cpuid(1);
    const Registers seven = cpuid(7);
    const Registers extended = cpuid(0x80000001u);
    const uint64_t state = enabled_state(one);
    const bool ymm = (state & 0x6) == 0x6;
    const bool zmm = (state & 0xe6) == 0xe6;
    std::vector<std::string> out;
    auto add = [&out](const char* name, uint32_t word, int bit, bool enabled = true) {
        if (enabled && (word >> bit & 1) != 0) out.emplace_back(name);
    };
    add("pni", one.ecx, 0);
    add("ssse3", one.ecx, 9);
    add("sse4_1", one.ecx, 19);
    add("sse4_2", one.ecx, 20);
    add("popcnt", one.ecx, 23);
    add("aes", one.ecx, 25);
    add("pclmulqdq", one.ecx, 1);
    add("movbe", one.ecx, 22);
    add("abm", extended.ecx, 5);
    add("avx", one.ecx, 28, ymm);
    add("fma", one.ecx, 12, ymm);
    add("f16c", one.ecx, 29, ymm);
    add("avx2", seven.ebx, 5, ymm);
    add("bmi1", seven.ebx, 3);
    add("bmi2", seven.ebx, 8);
    add("avx512f", seven.ebx, 16, zmm);
    add("avx512dq", seven.ebx, 17, zmm);
    add("avx512cd", seven.ebx, 28, zmm);
    add("avx512bw", seven.ebx, 30, zmm);
    add("avx512vl", seven.ebx, 31, zmm);
    add("adx", seven.ebx, 19);
    add("clflushopt", seven.ebx, 23);
    add("clwb", seven.ebx, 24);
    return out;
}

std::vector<std::string> features_of_level(const std::string& level) {
    std::vector<std::string> out;
    if (level == "baseline") return out;
    out = {"pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "aes", "pclmulqdq"};
    if (level == "sse4") return out;
    out.insert(out.end(), {"avx", "fma", "f16c", "avx2", "bmi1", "bmi2", "abm", "movbe"});
    if (level == "avx2") return out;
    out.insert(out.end(), {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"});
    return out;
}

std::string processor_name() {
    if (cpuid(0x80000000u).eax < 0x80000004u) return "x86-64 CPU";
    std::array<char, 49> text{};
    for (uint32_t i = 0; i < 3; ++i) {
        const Registers r = cpuid(0x80000002u + i);
        std::memcpy(text.data() + i * 16, &r, 16);
    }
    std::string name(text.data());
    while (!name.empty() && name.back() == ' ') name.pop_back();
    const size_t first = name.find_first_not_of(' ');
    return first == std::string::npos ? "x86-64 CPU" : name.substr(first);
}

void relax() { __builtin_ia32_pause(); }

}  // namespace backplane::cpu
