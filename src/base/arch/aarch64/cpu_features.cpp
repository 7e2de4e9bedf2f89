// AT_HWCAP and AT_HWCAP2 of the Linux kernel: Documentation/arch/arm64/elf_hwcaps.rst. The kernel states what all cores share.
#include <sys/auxv.h>

#include <array>

#include "base/cpu_features.hpp"

namespace backplane::base {

namespace {

constexpr std::array kHwcap{"fp",      "asimd", "evtstrm", "aes",   "pmull",    "sha1",   "sha2", "crc32",
                            "atomics", "fphp",  "asimdhp", "cpuid", "asimdrdm", "jscvt",  "fcma", "lrcpc",
                            "dcpop",   "sha3",  "sm3",     "sm4",   "asimddp",  "sha512", "sve",  "asimdfhm",
                            "dit",     "uscat", "ilrcpc",  "flagm", "ssbs",     "sb",     "paca", "pacg"};
constexpr std::array kHwcap2{"dcpodp", "sve2",  "sveaes",  "svepmull", "svebitperm", "svesha3", "svesm4",
                             "flagm2", "frint", "svei8mm", "svef32mm", "svef64mm",   "svebf16", "i8mm",
                             "bf16",   "dgh",   "rng",     "bti",      "mte"};

template <size_t n>
void add(CpuFeatures& features, const std::array<const char*, n>& names, unsigned long bits) {
    for (size_t i = 0; i < n; ++i)
        if ((bits >> i & 1u) != 0) features.insert(names[i]);
}

}  // namespace

CpuFeatures detect_cpu_features() {
    CpuFeatures features;
    add(features, kHwcap, getauxval(AT_HWCAP));
    add(features, kHwcap2, getauxval(AT_HWCAP2));
    return features;
}

}  // namespace backplane::base
