// CPUID and XGETBV: Intel Software Developer's Manual, volume 2A (CPUID) and volume 1, chapter 13 (XCR0).
#include "base/cpu_features.hpp"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace backplane::base {

namespace {

enum class Register { a, b, c, d };
enum Saved : uint64_t { nothing = 0, ymm = 0x6, zmm = 0xe6, tiles = 0x60000 };  // bits of XCR0

struct Feature {
    const char* name;
    uint32_t leaf, part;
    Register where;
    int bit;
    uint64_t state;
};

constexpr uint32_t kExtended = 0x80000001;
constexpr std::array kFeatures{
    Feature{"sse", 1, 0, Register::d, 25, nothing},
    Feature{"sse2", 1, 0, Register::d, 26, nothing},
    Feature{"pni", 1, 0, Register::c, 0, nothing},
    Feature{"pclmulqdq", 1, 0, Register::c, 1, nothing},
    Feature{"ssse3", 1, 0, Register::c, 9, nothing},
    Feature{"fma", 1, 0, Register::c, 12, ymm},
    Feature{"cx16", 1, 0, Register::c, 13, nothing},
    Feature{"sse4_1", 1, 0, Register::c, 19, nothing},
    Feature{"sse4_2", 1, 0, Register::c, 20, nothing},
    Feature{"movbe", 1, 0, Register::c, 22, nothing},
    Feature{"popcnt", 1, 0, Register::c, 23, nothing},
    Feature{"aes", 1, 0, Register::c, 25, nothing},
    Feature{"avx", 1, 0, Register::c, 28, ymm},
    Feature{"f16c", 1, 0, Register::c, 29, ymm},
    Feature{"rdrand", 1, 0, Register::c, 30, nothing},
    Feature{"bmi1", 7, 0, Register::b, 3, nothing},
    Feature{"avx2", 7, 0, Register::b, 5, ymm},
    Feature{"bmi2", 7, 0, Register::b, 8, nothing},
    Feature{"erms", 7, 0, Register::b, 9, nothing},
    Feature{"avx512f", 7, 0, Register::b, 16, zmm},
    Feature{"avx512dq", 7, 0, Register::b, 17, zmm},
    Feature{"adx", 7, 0, Register::b, 19, nothing},
    Feature{"avx512ifma", 7, 0, Register::b, 21, zmm},
    Feature{"avx512cd", 7, 0, Register::b, 28, zmm},
    Feature{"sha_ni", 7, 0, Register::b, 29, nothing},
    Feature{"avx512bw", 7, 0, Register::b, 30, zmm},
    Feature{"avx512vl", 7, 0, Register::b, 31, zmm},
    Feature{"avx512vbmi", 7, 0, Register::c, 1, zmm},
    Feature{"avx512_vbmi2", 7, 0, Register::c, 6, zmm},
    Feature{"gfni", 7, 0, Register::c, 8, nothing},
    Feature{"vaes", 7, 0, Register::c, 9, ymm},
    Feature{"vpclmulqdq", 7, 0, Register::c, 10, ymm},
    Feature{"avx512_vnni", 7, 0, Register::c, 11, zmm},
    Feature{"avx512_bitalg", 7, 0, Register::c, 12, zmm},
    Feature{"avx512_vpopcntdq", 7, 0, Register::c, 14, zmm},
    Feature{"amx_bf16", 7, 0, Register::d, 22, tiles},
    Feature{"avx512_fp16", 7, 0, Register::d, 23, zmm},
    Feature{"amx_tile", 7, 0, Register::d, 24, tiles},
    Feature{"amx_int8", 7, 0, Register::d, 25, tiles},
    Feature{"avx_vnni", 7, 1, Register::a, 4, ymm},
    Feature{"avx512_bf16", 7, 1, Register::a, 5, zmm},
    Feature{"amx_fp16", 7, 1, Register::a, 21, tiles},
    Feature{"avx_ifma", 7, 1, Register::a, 23, ymm},
    Feature{"abm", kExtended, 0, Register::c, 5, nothing},
    Feature{"lahf_lm", kExtended, 0, Register::c, 0, nothing},
};

std::array<uint32_t, 4> cpuid(uint32_t leaf, uint32_t part) {
    std::array<uint32_t, 4> r{};
    if (__get_cpuid_count(leaf, part, &r[0], &r[1], &r[2], &r[3]) == 0) return {};
    return r;
}

uint64_t saved_state() {
    constexpr uint32_t kOsxsave = 1u << 27;
    if ((cpuid(1, 0)[2] & kOsxsave) == 0) return 0;
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

// Cores may differ where the CPU says that it is a hybrid (leaf 7, EDX bit 15): a flag that the kernel lists for some cores and not for all
// is out. Elsewhere the list is not read: the kernel asks every core for its clock to write it, 20 us a core.
void keep_what_all_cores_have(CpuFeatures& features) {
    constexpr uint32_t kHybrid = 1u << 15;
    if ((cpuid(7, 0)[3] & kHybrid) == 0) return;
    std::ifstream file("/proc/cpuinfo");
    std::vector<std::string> different;  // lines of flags: mostly one
    for (std::string line; std::getline(file, line);)
        if (line.compare(0, 5, "flags") == 0 && std::find(different.rbegin(), different.rend(), line) == different.rend())
            different.push_back(line);
    if (different.size() < 2) return;
    std::set<std::string> any;
    std::set<std::string> all;
    for (const std::string& line : different) {
        std::istringstream words(line.substr(line.find(':') + 1));
        const std::set<std::string> here{std::istream_iterator<std::string>(words), {}};
        any.insert(here.begin(), here.end());
        if (&line == &different.front()) all = here;
        std::erase_if(all, [&](const std::string& f) { return !here.contains(f); });
    }
    std::erase_if(features, [&](const std::string& f) { return any.contains(f) && !all.contains(f); });
}

}  // namespace

CpuFeatures detect_cpu_features() {
    const uint64_t saved = saved_state();
    CpuFeatures features;
    std::map<std::pair<uint32_t, uint32_t>, std::array<uint32_t, 4>> leaves;  // asked once each: a virtual machine traps it
    for (const Feature& f : kFeatures) {
        auto leaf = leaves.find({f.leaf, f.part});
        if (leaf == leaves.end()) leaf = leaves.emplace(std::pair(f.leaf, f.part), cpuid(f.leaf, f.part)).first;
        const uint32_t bits = leaf->second[static_cast<size_t>(f.where)];
        if ((bits >> f.bit & 1u) != 0 && (saved & f.state) == f.state) features.insert(f.name);
    }
    keep_what_all_cores_have(features);
    return features;
}

}  // namespace backplane::base
