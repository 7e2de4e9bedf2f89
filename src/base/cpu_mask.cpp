#include <algorithm>

#include "base/cpu_features.hpp"

namespace backplane::base {

namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// Features whose registers or base instructions come with another one.
bool needs(std::string_view feature, std::string_view base) {
    if (base == "avx512f") return starts_with(feature, "avx512");
    if (base == "avx2") return starts_with(feature, "avx512") || feature == "avx_vnni";
    if (base == "avx") return starts_with(feature, "avx") || feature == "fma" || feature == "f16c";
    if (base == "amx_tile") return starts_with(feature, "amx");
    if (base == "sve") return starts_with(feature, "sve");
    if (base == "sse4_2") return starts_with(feature, "avx") || feature == "fma" || feature == "f16c";
    if (base == "asimd") return starts_with(feature, "asimd") || starts_with(feature, "sve");
    return false;
}

}  // namespace

std::vector<std::string> known_cpu_features() {
    return {// arch/x86_64
            "sse", "sse2", "pni", "pclmulqdq", "ssse3", "fma", "cx16", "sse4_1", "sse4_2", "movbe", "popcnt", "aes", "avx",
            "f16c", "rdrand", "bmi1", "avx2", "bmi2", "erms", "avx512f", "avx512dq", "adx", "avx512ifma", "avx512cd",
            "sha_ni", "avx512bw", "avx512vl", "avx512vbmi", "avx512_vbmi2", "gfni", "vaes", "vpclmulqdq", "avx512_vnni",
            "avx512_bitalg", "avx512_vpopcntdq", "amx_bf16", "avx512_fp16", "amx_tile", "amx_int8", "avx_vnni",
            "avx512_bf16", "amx_fp16", "avx_ifma", "abm", "lahf_lm",
            // arch/aarch64
            "fp", "asimd", "evtstrm", "pmull", "sha1", "sha2", "crc32", "atomics", "fphp", "asimdhp", "cpuid", "asimdrdm",
            "jscvt", "fcma", "lrcpc", "dcpop", "sha3", "sm3", "sm4", "asimddp", "sha512", "sve", "asimdfhm", "dit", "uscat",
            "ilrcpc", "flagm", "ssbs", "sb", "paca", "pacg", "dcpodp", "sve2", "sveaes", "svepmull", "svebitperm", "svesha3",
            "svesm4", "flagm2", "frint", "svei8mm", "svef32mm", "svef64mm", "svebf16", "i8mm", "bf16", "dgh", "rng", "bti",
            "mte"};
}

CpuFeatures without(CpuFeatures features, std::string_view mask) {
    for (size_t at = 0; at < mask.size();) {
        const size_t end = std::min(mask.find_first_of(", ", at), mask.size());
        const std::string_view masked = mask.substr(at, end - at);
        std::erase_if(features, [&](const std::string& f) { return f == masked || needs(f, masked); });
        at = end + 1;
    }
    return features;
}

}  // namespace backplane::base
