// The features of processors that are known here, by the names that Linux gives them, and where each is found. Data alone: a module may include
// this without linking anything.
#pragma once

#include <array>
#include <cstdint>

namespace backplane::base {

// CPUID and XGETBV: Intel Software Developer's Manual, volume 2A (CPUID) and volume 1, chapter 13 (XCR0).
enum class CpuidRegister { a, b, c, d };
// Bits of XCR0: what the operating system must save.
enum SavedState : uint64_t { nothing = 0, ymm = 0x6, zmm = 0xe6, tiles = 0x60000 };

struct X86Feature {
    const char* name;
    uint32_t leaf, part;
    CpuidRegister where;
    int bit;
    uint64_t state;
};

inline constexpr uint32_t kExtended = 0x80000001;
inline constexpr std::array kX86Features{
    X86Feature{"sse", 1, 0, CpuidRegister::d, 25, nothing},
    X86Feature{"sse2", 1, 0, CpuidRegister::d, 26, nothing},
    X86Feature{"pni", 1, 0, CpuidRegister::c, 0, nothing},
    X86Feature{"pclmulqdq", 1, 0, CpuidRegister::c, 1, nothing},
    X86Feature{"ssse3", 1, 0, CpuidRegister::c, 9, nothing},
    X86Feature{"fma", 1, 0, CpuidRegister::c, 12, ymm},
    X86Feature{"cx16", 1, 0, CpuidRegister::c, 13, nothing},
    X86Feature{"sse4_1", 1, 0, CpuidRegister::c, 19, nothing},
    X86Feature{"sse4_2", 1, 0, CpuidRegister::c, 20, nothing},
    X86Feature{"movbe", 1, 0, CpuidRegister::c, 22, nothing},
    X86Feature{"popcnt", 1, 0, CpuidRegister::c, 23, nothing},
    X86Feature{"aes", 1, 0, CpuidRegister::c, 25, nothing},
    X86Feature{"avx", 1, 0, CpuidRegister::c, 28, ymm},
    X86Feature{"f16c", 1, 0, CpuidRegister::c, 29, ymm},
    X86Feature{"rdrand", 1, 0, CpuidRegister::c, 30, nothing},
    X86Feature{"bmi1", 7, 0, CpuidRegister::b, 3, nothing},
    X86Feature{"avx2", 7, 0, CpuidRegister::b, 5, ymm},
    X86Feature{"bmi2", 7, 0, CpuidRegister::b, 8, nothing},
    X86Feature{"erms", 7, 0, CpuidRegister::b, 9, nothing},
    X86Feature{"avx512f", 7, 0, CpuidRegister::b, 16, zmm},
    X86Feature{"avx512dq", 7, 0, CpuidRegister::b, 17, zmm},
    X86Feature{"adx", 7, 0, CpuidRegister::b, 19, nothing},
    X86Feature{"avx512ifma", 7, 0, CpuidRegister::b, 21, zmm},
    X86Feature{"avx512cd", 7, 0, CpuidRegister::b, 28, zmm},
    X86Feature{"sha_ni", 7, 0, CpuidRegister::b, 29, nothing},
    X86Feature{"avx512bw", 7, 0, CpuidRegister::b, 30, zmm},
    X86Feature{"avx512vl", 7, 0, CpuidRegister::b, 31, zmm},
    X86Feature{"avx512vbmi", 7, 0, CpuidRegister::c, 1, zmm},
    X86Feature{"avx512_vbmi2", 7, 0, CpuidRegister::c, 6, zmm},
    X86Feature{"gfni", 7, 0, CpuidRegister::c, 8, nothing},
    X86Feature{"vaes", 7, 0, CpuidRegister::c, 9, ymm},
    X86Feature{"vpclmulqdq", 7, 0, CpuidRegister::c, 10, ymm},
    X86Feature{"avx512_vnni", 7, 0, CpuidRegister::c, 11, zmm},
    X86Feature{"avx512_bitalg", 7, 0, CpuidRegister::c, 12, zmm},
    X86Feature{"avx512_vpopcntdq", 7, 0, CpuidRegister::c, 14, zmm},
    X86Feature{"amx_bf16", 7, 0, CpuidRegister::d, 22, tiles},
    X86Feature{"avx512_fp16", 7, 0, CpuidRegister::d, 23, zmm},
    X86Feature{"amx_tile", 7, 0, CpuidRegister::d, 24, tiles},
    X86Feature{"amx_int8", 7, 0, CpuidRegister::d, 25, tiles},
    X86Feature{"avx_vnni", 7, 1, CpuidRegister::a, 4, ymm},
    X86Feature{"avx512_bf16", 7, 1, CpuidRegister::a, 5, zmm},
    X86Feature{"amx_fp16", 7, 1, CpuidRegister::a, 21, tiles},
    X86Feature{"avx_ifma", 7, 1, CpuidRegister::a, 23, ymm},
    X86Feature{"abm", kExtended, 0, CpuidRegister::c, 5, nothing},
    X86Feature{"lahf_lm", kExtended, 0, CpuidRegister::c, 0, nothing},
};

// AT_HWCAP and AT_HWCAP2 of the Linux kernel, bit by bit: Documentation/arch/arm64/elf_hwcaps.rst. The kernel states what all cores share.
inline constexpr std::array kHwcap{"fp",      "asimd", "evtstrm", "aes",   "pmull",    "sha1",   "sha2", "crc32",
                                   "atomics", "fphp",  "asimdhp", "cpuid", "asimdrdm", "jscvt",  "fcma", "lrcpc",
                                   "dcpop",   "sha3",  "sm3",     "sm4",   "asimddp",  "sha512", "sve",  "asimdfhm",
                                   "dit",     "uscat", "ilrcpc",  "flagm", "ssbs",     "sb",     "paca", "pacg"};
inline constexpr std::array kHwcap2{"dcpodp", "sve2",  "sveaes",  "svepmull", "svebitperm", "svesha3", "svesm4",
                                    "flagm2", "frint", "svei8mm", "svef32mm", "svef64mm",   "svebf16", "i8mm",
                                    "bf16",   "dgh",   "rng",     "bti",      "mte"};

}  // namespace backplane::base
