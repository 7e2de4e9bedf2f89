#include "cpu_features.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/arch/x86_64/cpuid.hpp"
#include "processors.hpp"

namespace backplane::cpu {

std::vector<std::string> detected_features(const std::vector<std::string>& among) {
    base::Cpuid cpuid;
    const std::vector<const char*> names = base::features_of_this_core(cpuid, among);
    std::vector<std::string> out{names.begin(), names.end()};
    const auto has = [](const std::vector<std::string>& list, const char* name) {
        return std::ranges::find(list, name) != list.end();
    };
    if (has(among, "amx_tile") && has(out, "amx_tile") && !may_use_tiles())
        std::erase_if(out, [](const std::string& name) { return name.starts_with("amx_"); });
    return out;
}

std::vector<std::string> features_of_level(const std::string& level) {
    std::vector<std::string> out;
    if (level == "baseline") return out;
    out = {"pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "aes", "pclmulqdq"};
    if (level == "sse4") return out;
    out.insert(out.end(), {"avx", "fma", "f16c", "avx2", "bmi1", "bmi2", "abm", "movbe"});
    if (level == "avx2") return out;
    if (level == "avxvnni") {
        out.emplace_back("avx_vnni");
        return out;
    }
    out.insert(out.end(), {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"});
    if (level == "avx512") return out;
    out.emplace_back("avx512_vnni");
    if (level == "avx512vnni") return out;
    out.emplace_back("avx512_bf16");
    if (level == "avx512bf16") return out;
    out.insert(out.end(), {"amx_tile", "amx_bf16"});
    return out;
}

std::string processor_name() {
    base::Cpuid cpuid;
    if (cpuid.leaf(0x80000000u)[0] < 0x80000004u) return "x86-64 CPU";
    std::array<char, 49> text{};
    for (uint32_t i = 0; i < 3; ++i) {
        const std::array<uint32_t, 4>& r = cpuid.leaf(0x80000002u + i);
        std::memcpy(text.data() + i * 16, r.data(), 16);
    }
    std::string name(text.data());
    while (!name.empty() && name.back() == ' ') name.pop_back();
    const size_t first = name.find_first_not_of(' ');
    return first == std::string::npos ? "x86-64 CPU" : name.substr(first);
}

void relax() { __builtin_ia32_pause(); }

}  // namespace backplane::cpu
